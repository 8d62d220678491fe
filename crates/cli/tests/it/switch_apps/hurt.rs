//! Switches that fail: after each, the application works as before.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::runner::Finished;
use rustix::process::Signal;

use super::{expect_on, looptax, php, programs, switch};
use crate::application::{Application, Group, PATIENCE, Place, Way};
use crate::fixture::{Server, is_root};

/// Checks that the switch has ended, the file is unchanged, and the application works as before.
#[track_caller]
fn expect_as_before(app: &Application, run: &Finished, before: &[u8], words: &str) {
    run.expect_code(1);
    expect_back(app, run, before, words);
}

#[track_caller]
fn expect_back(app: &Application, run: &Finished, before: &[u8], words: &str) {
    let said = run.words();
    if !said.contains(words) {
        run.fail(&format!("`{words}` was expected on stdout"));
    }
    if app.bytes() != before {
        run.fail("the old file is not back");
    }
    expect_on(app, Way::Tcp);
}

/// Returns the service in Ruby, on TCP; `None` if something for it is not installed.
fn ruby() -> Option<Application> {
    let app = programs::ruby("", None)?;
    expect_on(&app, Way::Tcp);
    Some(app)
}

#[test]
fn a_reload_that_fails_leaves_the_application_as_it_was() {
    let Some(app) = ruby().map(|app| app.reloaded_by("echo no such unit; exit 7")) else {
        return;
    };
    let before = app.bytes();
    let run = app.while_visited(|| switch(&app, &[]).run());
    expect_as_before(&app, &run, &before, "no such unit");
}

#[test]
fn an_application_that_does_not_start_with_the_socket_has_its_old_file_back() {
    let refuses = "abort 'no sockets here' if config.key?('socket')";
    let Some(app) = programs::ruby(refuses, None) else {
        return;
    };
    // The restart command does not wait, and the second time there may be no process to end.
    let restart = format!("{} || true", app.reload.clone().unwrap_or_default());
    let app = app.reloaded_by(restart);
    expect_on(&app, Way::Tcp);
    let before = app.bytes();
    let run = app.while_visited(|| switch(&app, &[]).run());
    expect_as_before(&app, &run, &before, "is as it was before");
}

#[test]
fn an_application_that_goes_on_over_tcp_has_its_old_file_back() {
    let knows_better = "config = config.except('socket').merge('host' => '127.0.0.1')";
    let Some(app) = programs::ruby(knows_better, None) else {
        return;
    };
    expect_on(&app, Way::Tcp);
    let before = app.bytes();
    let run = app.while_visited(|| switch(&app, &["--within", "8s"]).run());
    expect_as_before(&app, &run, &before, "over TCP");
}

#[test]
fn whoever_interrupts_the_proof_has_the_old_file_back() {
    let Some(app) = ruby() else {
        return;
    };
    let before = app.bytes();
    // The service is not restarted, so the proof sees no new connection.
    let words = ["switch", "--yes", "--within", "10m", "--no-times"];
    let mut running = looptax(&app).args(words).args([&app.file]).spawn();
    running.wait_for("the new file", || (app.bytes() != before).then_some(()));
    running.signal(Signal::INT);
    let run = running.wait();
    run.expect_code(130);
    expect_back(&app, &run, &before, "connected over TCP as before: ");
}

#[test]
fn r44_a_page_that_falls_silent_in_the_proof_keeps_nobody_from_ending() {
    let Some(app) = ruby() else {
        return;
    };
    let page = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", page.local_addr().unwrap());
    let (asked, proof) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut held = Vec::new();
        for (idx, mut stream) in page.incoming().flatten().enumerate() {
            let _ = stream.read(&mut [0; 4096]);
            // The page answers until the proof begins.
            if idx < 2 {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            } else {
                held.push(stream);
                let _ = asked.send(());
            }
        }
    });
    let before = app.bytes();
    let words = ["switch", "--yes", "--within", "10m", "--url", &url, "--no-times"];
    let mut running = looptax(&app).args(words).args([&app.file]).spawn();
    running.wait_for("the page in the proof", || proof.try_recv().ok());
    running.signal(Signal::TERM);
    let run = running.wait();
    run.expect_code(130);
    // The signal ended the wait for the page, not the time limit of the request.
    if run.stdout.contains("no answer within 15s") {
        run.fail("it waited for the page");
    }
    expect_back(&app, &run, &before, "stopped before the change was proved");
}

#[test]
fn who_was_not_restarted_is_named_and_nobody_else_proves_it() {
    let Some(app) = ruby() else {
        return;
    };
    let before = app.bytes();
    let words = ["switch", "--yes", "--within", "8s", "--no-times"];
    let mut running = looptax(&app).args(words).args([&app.file]).spawn();
    running.wait_for("the new file", || (app.bytes() != before).then_some(()));
    // Another client uses the account over the socket, and stays long enough to be seen.
    let mut stranger = app.server.talk();
    stranger.query("SELECT SLEEP(4)").expect("the server answers");
    let run = running.wait();
    drop(stranger);
    run.expect_code(1);
    let said = run.words();
    if !said.contains("still has its earlier connection over TCP") {
        run.fail("who holds its connection is not named");
    }
    assert_eq!(app.bytes(), before);
    // The application still works: it was not restarted.
    expect_on(&app, Way::Tcp);
}

#[test]
fn an_account_that_cannot_reach_the_socket_stays_on_tcp() {
    // Without root, PHP and the server run as the same account.
    if !is_root() {
        return;
    }
    let Some(app) = php::symfony(false) else {
        return;
    };
    expect_on(&app, Way::Tcp);
    let before = app.bytes();
    // No process of the application runs while the plan is made, so looptax cannot know its user.
    let run = switch(&app, &[]).run();
    expect_as_before(&app, &run, &before, "status 500 instead of 200");
    // If the user is named, looptax knows before the switch that it cannot work.
    let run = switch(&app, &["--user", "www-data"]).run();
    run.expect_code(1);
    if !run.stdout.contains("nothing was changed") {
        run.fail("it was tried all the same");
    }
    assert!(app.bytes() == before);
}

#[test]
fn a_server_that_dies_during_the_proof_takes_no_file_with_it() {
    let Some(app) = ruby() else {
        return;
    };
    let server = Restartable::look_at(&app.server);
    // The application may end with its server, before it is reloaded.
    let deadly = format!("kill -9 {}; ({}) || true", app.server.it.pid, app.reload.clone().unwrap_or_default());
    let app = app.reloaded_by(deadly);
    let before = app.bytes();
    // The server stays down until the switch has ended.
    let run = switch(&app, &["--within", "6s"]).run();
    run.expect_code(1);
    let _server = server.start(&app.place);
    expect_as_before(&app, &run, &before, "the server does not answer any more");
}

#[test]
fn what_somebody_wrote_between_plan_and_writing_is_not_written_over() {
    let Some(app) = ruby() else {
        return;
    };
    let front = Meddler::at(&app.file);
    let mut before = app.bytes();
    let args = ["--url", &front.url];
    let words = ["switch", "--yes", "--within", "30s", "--no-times"];
    let run = looptax(&app).args(words).args(args).args([&app.file]).run();
    run.expect_error(2, &["was changed after looptax read it"]);
    before.extend(MEDDLED.as_bytes());
    assert!(app.bytes() == before, "{}", run.stderr);
    expect_on(&app, Way::Tcp);
}

#[test]
fn what_somebody_wrote_after_a_switch_stays_when_it_is_put_back() {
    let Some(app) = ruby() else {
        return;
    };
    let mut before = app.bytes();
    before.extend(MEDDLED.as_bytes());
    let meddle = format!("echo '{}' >> {}", MEDDLED.trim(), app.file.display());
    // The change is made only once, because the command runs again after the old lines are back.
    let meddle = format!("test -e meddled || {{ {meddle}; touch meddled; exit 1; }}");
    let app = app.reloaded_by(meddle);
    let run = app.while_visited(|| switch(&app, &[]).run());
    expect_as_before(&app, &run, &before, "later changes by others stay");
}

#[test]
fn what_somebody_wrote_in_the_switchs_own_lines_stays_and_the_old_file_is_named() {
    let Some(app) = ruby() else {
        return;
    };
    let before = app.bytes();
    let edit = format!("sed -i s/socket:/socket:' '/ {}; exit 1", app.file.display());
    let app = app.reloaded_by(edit);
    let run = app.while_visited(|| switch(&app, &[]).run());
    run.expect_error(2, &["were changed later"]);
    if !run.words().contains("the old files are in") {
        run.fail("it does not say where the old file is");
    }
    assert!(app.bytes() != before);
    // The application was not restarted.
    expect_on(&app, Way::Tcp);
}

#[test]
fn who_has_an_old_file_again_is_named_by_find() {
    let Some(app) = ruby() else {
        return;
    };
    let before = app.bytes();
    app.while_visited(|| switch(&app, &[]).run()).expect_code(0);
    let find = || {
        let run = looptax(&app).args(["find", "--json"]).run();
        run.expect_code(0);
        run.stdout
    };
    assert!(!find().contains("fell-back"), "it is on the socket");
    // A deployment puts the old file back without looptax.
    fs::write(&app.file, &before).expect("the scratch folder can be written");
    let reload = app.reload.clone().unwrap_or_default();
    let reloaded = Command::new("/bin/sh").args(["-c", &reload]).status();
    assert!(reloaded.is_ok_and(|it| it.success()));
    expect_on(&app, Way::Tcp);
    let found = find();
    assert!(found.contains("fell-back"), "{found}");
}

#[test]
fn a_url_that_cannot_be_moved_is_told_and_left_alone() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let place = Place::beside(&server);
    let file = "config/application.properties";
    place.write(&[(file, include_str!("files/java/application.properties"))]);
    let never = |_| Err("no Java runs here".to_owned());
    let app = Application::asked_by(place, server, file, Vec::new(), Box::new(never));
    let before = app.bytes();
    let run = switch(&app, &[]).run();
    run.expect_code(1);
    for words in ["junixsocket", "write these lines yourself"] {
        if !run.stdout.contains(words) {
            run.fail(words);
        }
    }
    assert!(app.bytes() == before);
}

const MEDDLED: &str = "# by somebody else\n";

/// A page whose server changes a file at the first request.
struct Meddler {
    url: String,
}

impl Meddler {
    fn at(file: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound");
        let file = file.to_owned();
        // This thread ends with the test program.
        thread::spawn(move || {
            let mut words = Some(MEDDLED);
            for mut visitor in listener.incoming().flatten() {
                if let Some(words) = words.take() {
                    let mut file = fs::File::options().append(true).open(&file)?;
                    file.write_all(words.as_bytes())?;
                }
                let _asked = visitor.read(&mut [0; 4096])?;
                visitor.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            }
            Ok::<(), std::io::Error>(())
        });
        Self { url: format!("http://{address}/") }
    }
}

/// How a private server was started, so that it can be started again with its data.
struct Restartable {
    words: Vec<String>,
    uid: u32,
    gid: u32,
    socket: PathBuf,
}

impl Restartable {
    fn look_at(server: &Server) -> Self {
        let proc = PathBuf::from(format!("/proc/{}", server.it.pid));
        let words = fs::read_to_string(proc.join("cmdline")).expect("the server runs");
        let whose = fs::metadata(&server.it.socket).expect("the server listens");
        Self {
            words: words.split_terminator('\0').map(str::to_owned).collect(),
            uid: whose.uid(),
            gid: whose.gid(),
            socket: server.it.socket.clone(),
        }
    }

    /// Starts the server again and again until it listens, because another process may have its port for a moment.
    fn start(&self, place: &Place) -> Group {
        // The configuration names a file that was needed only at the first start.
        let spent = self.socket.with_file_name("init.sql");
        fs::write(&spent, "").expect("our own server's folder");
        let mut group = self.start_once(place);
        patience::wait_for("the server", PATIENCE, || {
            if group.has_ended() {
                group = self.start_once(place);
            }
            UnixStream::connect(&self.socket).ok()
        });
        group
    }

    fn start_once(&self, place: &Place) -> Group {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(self.uid).gid(self.gid);
        }
        place.start_logged(&mut command)
    }
}
