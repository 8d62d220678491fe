//! The servers' own files: after the change that looptax advises, the server listens on the socket, and not on the
//! port.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::backends::WSGI;
use super::http::{ask_port, ask_socket};
use super::place::{Place, Running, expect_closed, free_port, installed, is_root, moved};

/// Asks a server at its port with the old file, and at the socket with the changed file. Returns the mode of the
/// socket, and the answer over the socket.
#[track_caller]
fn follow(place: &Place, path: &str, text: &str, port: u16, start: impl Fn(&str) -> Running) -> (u32, String) {
    let socket = place.file("own.sock");
    let running = start(text);
    let answer = place.answer(path, || ask_port(port, "/x"));
    assert!(answer.contains("200 OK"), "{answer}");
    drop(running);
    expect_closed(port);
    let new = moved(path, text, port, &socket);
    let _running = start(&new);
    let answer = place.answer(&new, || ask_socket(&socket, "/x"));
    assert!(answer.contains("200 OK"), "{answer}\n{new}");
    expect_closed(port);
    let mode = fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
    fs::remove_file(&socket).unwrap();
    (mode, answer)
}

/// The words of a command in a unit or a Procfile, without the program.
fn words(text: &str) -> Vec<String> {
    let line = text.replace("\\\n", " ");
    let command = line.lines().find_map(|it| it.strip_prefix("ExecStart=").or_else(|| it.strip_prefix("web: ")));
    let words = command.unwrap().split_whitespace().skip(1);
    words.map(str::to_owned).collect()
}

#[track_caller]
fn follow_command(place: &Place, path: &str, text: &str, port: u16, program: &Path) -> (u32, String) {
    follow(place, path, text, port, |text| {
        let words = words(text);
        let words: Vec<&str> = words.iter().map(|it| &**it).collect();
        place.start(program, &words)
    })
}

#[test]
fn gunicorn_listens_on_the_socket_by_its_file() {
    let Some(program) = installed("gunicorn") else {
        return;
    };
    let (place, port) = (Place::new(), free_port());
    place.write("app.py", WSGI);
    let text = format!("bind = \"127.0.0.1:{port}\"\nworkers = 1\n");
    let path = "/srv/app/gunicorn.conf.py";
    let (mode, _) = follow(&place, path, &text, port, |text| {
        let file = place.write("gunicorn.conf.py", text);
        place.start(&program, &["-c", file.to_str().unwrap(), "app:application"])
    });
    assert_eq!(mode, 0o777, "its own umask is 0");
}

#[test]
fn gunicorn_listens_on_the_socket_by_its_unit() {
    let Some(program) = installed("gunicorn") else {
        return;
    };
    let (place, port) = (Place::new(), free_port());
    place.write("app.py", WSGI);
    let text =
        format!("[Service]\nExecStart=/usr/bin/gunicorn --workers 1 \\\n  --bind 127.0.0.1:{port} app:application\n");
    follow_command(&place, "/etc/systemd/system/a.service", &text, port, &program);
}

pub(super) const ASGI: &str = "async def app(scope, receive, send):\n    \
    if scope['type'] != 'http':\n        return\n    \
    body = str((scope.get('client') or ['nobody'])[0]).encode()\n    \
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
    await send({'type': 'http.response.body', 'body': body})\n";

#[test]
fn uvicorn_listens_on_the_socket_and_believes_nobody_there_about_the_client() {
    let Some(program) = installed("uvicorn") else {
        return;
    };
    let place = Place::new();
    place.write("asgi.py", ASGI);
    let unit = "/etc/systemd/system/a.service";
    let head = "[Service]\nExecStart=/usr/bin/uvicorn asgi:app";
    for (path, head, more, client) in [
        (unit, head, "--host 127.0.0.1 --port PORT --log-level warning", "nobody"),
        (unit, head, "--port=PORT", "nobody"),
        (unit, head, "--port PORT --forwarded-allow-ips=*", "203.0.113.9"),
        ("/srv/Procfile", "web: uvicorn asgi:app", "--host 127.0.0.1 --port PORT", "nobody"),
    ] {
        let port = free_port();
        let text = format!("{head} {more}\n").replace("PORT", &port.to_string());
        let (mode, answer) = follow_command(&place, path, &text, port, &program);
        assert!(answer.contains(client), "{text}{answer}");
        assert_eq!(mode, 0o666, "whatever its umask");
    }
}

#[test]
fn puma_listens_on_the_socket_by_its_file_and_by_its_unit() {
    let Some(program) = installed("puma") else {
        return;
    };
    let (place, port) = (Place::new(), free_port());
    let app = "threads 1, 1\napp do |env|\n  [200, {}, ['x']]\nend\n";
    let text = format!("{app}bind \"tcp://127.0.0.1:{port}\"\n");
    let path = "/srv/app/config/puma.rb";
    let (mode, _) = follow(&place, path, &text, port, |text| {
        let file = place.write("puma.rb", text);
        place.start(&program, &["-C", file.to_str().unwrap()])
    });
    assert_eq!(mode, 0o777, "whatever its umask");
    let (port, path) = (free_port(), "/etc/systemd/system/a.service");
    place.write("puma.rb", app);
    let text = format!("[Service]\nExecStart=/usr/bin/puma -C puma.rb -b tcp://127.0.0.1:{port}\n");
    follow_command(&place, path, &text, port, &program);
}

#[test]
fn uwsgi_listens_on_the_socket_by_its_file_over_http_and_in_its_own_words() {
    let Some(program) = installed("uwsgi") else {
        return;
    };
    let (place, port) = (Place::new(), free_port());
    place.write("app.py", WSGI);
    let path = "/etc/uwsgi/apps-enabled/app.ini";
    let start = |text: &str| {
        let file = place.write("uwsgi.ini", text);
        place.start(&program, &["--ini", file.to_str().unwrap()])
    };
    let head = "[uwsgi]\nplugins = python3\nwsgi-file = app.py\n";
    let text = format!("{head}http-socket = 127.0.0.1:{port}\n");
    let (mode, _) = follow(&place, path, &text, port, start);
    assert_eq!(mode, 0o755, "what the umask leaves");
    let socket = place.file("own.sock");
    let text = format!("{head}socket = 127.0.0.1:{port}\n");
    let new = moved(path, &text, port, &socket) + "chmod-socket = 660\n";
    let _running = start(&new);
    let mode = place.answer("uwsgi", || {
        std::os::unix::net::UnixStream::connect(&socket).ok()?;
        let mode = fs::metadata(&socket).ok()?.permissions().mode();
        Some(format!("{:o}", mode & 0o777))
    });
    assert_eq!(mode, "660");
    expect_closed(port);
}

#[test]
fn node_listens_on_the_socket_that_its_port_names() {
    let Some(program) = installed("node") else {
        return;
    };
    let (place, port) = (Place::new(), free_port());
    let server = "require('http').createServer((q, r) => r.end('x')).listen(process.env.PORT);\n";
    place.write("server.js", server);
    let text = format!("PORT={port}\n");
    let (mode, _) = follow(&place, "/srv/app/.env", &text, port, |text| {
        let words = [text.trim(), program.to_str().unwrap(), "server.js"];
        place.start(Path::new("env"), &words)
    });
    assert_eq!(mode, 0o755, "what the umask leaves");
}

#[test]
fn pgbouncer_listens_on_the_socket_beside_its_port() {
    let Some(program) = installed("pgbouncer") else {
        return;
    };
    let (place, port) = (Place::new(), free_port());
    let here = place.scratch.work();
    let text = format!(
        "[databases]\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
    );
    let socket = here.join(format!(".s.PGSQL.{port}"));
    let new = moved("/etc/pgbouncer/pgbouncer.ini", &text, port, &socket);
    let file = place.write("pgbouncer.ini", &new);
    let mut words = vec![file.to_str().unwrap()];
    if is_root() {
        place.scratch.give_to(65_534);
        words.splice(0..0, ["-u", "nobody"]);
    }
    let _running = place.start(&program, &words);
    let answer = place.answer("pgbouncer", || {
        use std::io::{Read, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).ok()?;
        // A request for TLS; the answer is one letter.
        stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).ok()?;
        let mut letter = [0];
        stream.read_exact(&mut letter).ok()?;
        Some(char::from(letter[0]).to_string())
    });
    assert_eq!(answer, "N");
}
