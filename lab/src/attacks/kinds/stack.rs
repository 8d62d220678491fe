//! A web server of root with a program of the attacker behind it. looptax has to test the right program's files, and as
//! the right user.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};

use super::super::ground::{Ground, PATH, clear, write};
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::version::comes;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const GUNICORN: Kind = Kind {
    name: "gunicorn",
    about: "root switches nginx and the attacker's Gunicorn, whose file is Python and whose environment preloads a library",
    share: 4,
    prepare: |ground| prepare(ground, Behind::Gunicorn),
};

pub(super) const TITLE: Kind = Kind {
    name: "title",
    about: "the same, but a setuid program of root, which every user may start, has Gunicorn's command line and port",
    share: 6,
    prepare: |ground| prepare(ground, Behind::Setuid),
};

pub(super) const MODULES: Kind = Kind {
    name: "modules",
    about: "the same with the attacker's PHP-FPM and nginx, whose files load the attacker's modules",
    share: 6,
    prepare: |ground| prepare(ground, Behind::Fpm),
};

/// The program behind the web server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Gunicorn,
    Setuid,
    Fpm,
}

struct Stack<'a> {
    ground: &'a Ground,
    behind: Behind,
    site: PathBuf,
    own: PathBuf,
    texts: [String; 2],
    http: u16,
    port: u16,
    nginx: Option<Ours>,
    hers: Vec<Ours>,
    program: PathBuf,
}

/// The WSGI application that Gunicorn runs: it answers every request with `ok`.
const APP: &str =
    "def application(environ, start):\n    start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";

fn prepare(ground: &Ground, behind: Behind) -> Result<Readiness<'_>> {
    let wanted = match behind {
        Behind::Gunicorn => "gunicorn",
        Behind::Setuid => "su",
        Behind::Fpm => "php-fpm",
    };
    let [Some(nginx), Some(program)] = ["nginx", wanted].map(program) else {
        return Ok(Readiness::Skipped(format!("nginx or {wanted} is not installed")));
    };
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let folder = ground.folder_of_hers("web")?;
    for name in ["run", "path", "pool.d"] {
        ground.folder_of_hers(&format!("web/{name}"))?;
    }
    let site = ground.at("nginx").join("sites/shop");
    let own = match behind {
        Behind::Fpm => folder.join("pool.d/www.conf"),
        _ => folder.join("gunicorn.conf.py"),
    };
    let http = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let texts = [site_text(behind, http, port), own_text(ground, behind, port)];
    let mut stack = Stack { ground, behind, site, own, texts, http, port, nginx: None, hers: Vec::new(), program };
    clear(&ground.at("nginx"))?;
    fs::create_dir_all(ground.at("nginx/sites"))?;
    stack.lay_out()?;
    stack.nginx = Some(start_nginx(ground, &nginx, &ground.at("nginx"), None)?);
    stack.hers = stack.start(&stack.program)?;
    if behind == Behind::Fpm {
        // A web server of the attacker with the same pages.
        let own_nginx = ground.folder_of_hers("web/nginx")?;
        fs::create_dir(own_nginx.join("sites"))?;
        let http = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let site = site_text(behind, http, port);
        write(&own_nginx.join("sites/shop"), site.as_bytes(), 0o644)?;
        let library = ground.program("libmarker.so");
        let front = start_nginx(ground, &nginx, &own_nginx, Some(&library))?;
        stack.hers.push(front);
    }
    if !is_open(port) || !is_open(http) {
        return Ok(Readiness::Skipped(format!("{wanted} of hers does not listen")));
    }
    Readiness::ready(stack)
}

impl Stack<'_> {
    fn lay_out(&self) -> Result<()> {
        let [site, own] = &self.texts;
        clear(&self.site)?;
        write(&self.site, site.as_bytes(), 0o644)?;
        self.ground.file_of_hers(&self.own, own.as_bytes(), 0o644)?;
        // SIGHUP makes the running processes read their files again. Root's setuid program, which only asks for a
        // password, would end, so it gets no signal.
        let told = self.hers.iter().filter(|_| self.behind != Behind::Setuid);
        for process in self.nginx.iter().chain(told) {
            let pid = i32::try_from(process.0.id()).ok().and_then(Pid::from_raw);
            pid.map_or(Ok(()), |pid| kill_process(pid, Signal::HUP))?;
        }
        Ok(())
    }

    fn start(&self, program: &Path) -> Result<Vec<Ours>> {
        let (ground, folder) = (self.ground, self.ground.hers().join("web"));
        ground.file_of_hers(&folder.join("app.py"), APP.as_bytes(), 0o644)?;
        let library = ground.program("libmarker.so").display().to_string();
        let loads = format!("import ctypes\nctypes.CDLL({library:?})\n");
        for name in ["sitecustomize.py", "usercustomize.py", "path/sitecustomize.py"] {
            ground.file_of_hers(&folder.join(name), loads.as_bytes(), 0o644)?;
        }
        let script = folder.join("gunicorn");
        ground.marking_script(&script)?;
        ground.marking_script(&folder.join("path/python3"))?;
        ground.marking_script(&folder.join("path/sh"))?;
        let own = self.own.display().to_string();
        let mut command = match self.behind {
            Behind::Gunicorn => {
                let mut command = ground.her(program);
                command.args(["-c", &own, "app:application"]);
                command
                    .env("PYTHONPATH", folder.join("path"))
                    .env("LD_PRELOAD", &library)
                    .env("PATH", format!("{}:{PATH}", folder.join("path").display()));
                command
            }
            Behind::Setuid => {
                // The program waits forever for a password, with root's rights and the attacker's arguments.
                let mut command = ground.part(&["holding", &self.port.to_string(), "--"]);
                let evil = folder.join("evil");
                ground.marking_script(&evil)?;
                command.arg(program).arg(evil).args(["root", "-s"]);
                command.arg(&script).args(["-c", &own]);
                command.stdin(Stdio::piped());
                command
            }
            Behind::Fpm => {
                let main = folder.join("fpm.conf");
                let text = format!(
                    "[global]\ndaemonize = no\nerror_log = {0}/log\ninclude = {0}/pool.d/*.conf\n",
                    folder.display()
                );
                ground.file_of_hers(&main, text.as_bytes(), 0o644)?;
                let settings = format!("extension={library}\n");
                ground.file_of_hers(&folder.join("php.ini"), settings.as_bytes(), 0o644)?;
                let mut command = ground.her(program);
                command.arg("-F").arg("-y").arg(main).arg("-c").arg(folder.join("php.ini"));
                command.env("PHPRC", &folder).env("PHP_INI_SCAN_DIR", &folder);
                command
            }
        };
        command.current_dir(&folder);
        Ok(vec![Ours::start(&mut command)?])
    }
}

impl Attack for Stack<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        self.lay_out()?;
        if self.behind == Behind::Setuid {
            // A reload ends the setuid program, so each round starts it again.
            self.hers.clear();
            self.ground.end_hers();
            self.hers = self.start(&self.program)?;
            is_open(self.port);
        }
        let ground = self.ground;
        let site = match self.behind {
            Behind::Fpm if coin.flip() => ground.hers().join("web/nginx/sites/shop"),
            _ => self.site.clone(),
        };
        let socket = ground.hers().join("web/run/app.sock");
        let shown = [&site, &self.own, &socket].map(|it| it.display().to_string());
        let [site, own, socket] = &shown;
        let dry = any(coin, &["--dry-run", "--yes", "--yes"]);
        let url = format!("http://127.0.0.1:{}/", self.http);
        let words = ["switch", site, own, "--socket", socket, "--within", "1s", "--url", &url, dry];
        let ran = ground.looptax(words).end()?;
        clear(Path::new(socket))?;
        Ok(ran)
    }
}

fn site_text(behind: Behind, http: u16, port: u16) -> String {
    let pass = match behind {
        Behind::Fpm => {
            format!("fastcgi_pass 127.0.0.1:{port};\n        fastcgi_param REQUEST_METHOD GET;")
        }
        _ => format!("proxy_pass http://127.0.0.1:{port};"),
    };
    format!(
        "server {{\n    listen 127.0.0.1:{http};\n    location /plain {{
        return 200 plain;
    }}
    location / {{\n        {pass}\n    }}\n}}\n"
    )
}

fn own_text(ground: &Ground, behind: Behind, port: u16) -> String {
    let library = ground.program("libmarker.so").display().to_string();
    match behind {
        Behind::Fpm => format!(
            "[www]\nlisten = 127.0.0.1:{port}\npm = static\npm.max_children = 1\nphp_admin_value[extension] = {library}\n"
        ),
        _ => format!("import ctypes\nctypes.CDLL({library:?})\nbind = \"127.0.0.1:{port}\"\nworkers = 1\n"),
    }
}

/// Starts nginx with the files in a folder: as root, or, with a module, as the attacker.
fn start_nginx(ground: &Ground, program: &Path, folder: &Path, module: Option<&Path>) -> Result<Ours> {
    fs::create_dir_all(folder.join("sites"))?;
    let at = folder.display();
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let head = match module {
        None => "user nobody nogroup;\n".to_owned(),
        Some(_) => String::new(),
    };
    let text = format!(
        "daemon off;\n{head}worker_processes 1;\npid {at}/nginx.pid;\nerror_log {at}/log;\nevents {{ }}\nhttp {{\n    access_log off;\n    client_body_temp_path {at}/t1;\n    proxy_temp_path {at}/t2;\n    fastcgi_temp_path {at}/t3;\n    uwsgi_temp_path {at}/t4;\n    scgi_temp_path {at}/t5;\n    include {at}/sites/*;\n}}\n"
    );
    let site = format!("server {{\n    listen 127.0.0.1:{port};\n}}\n");
    write(&folder.join("nginx.conf"), text.as_bytes(), 0o644)?;
    write(&folder.join("sites/other"), site.as_bytes(), 0o644)?;
    let mut command = if module.is_some() {
        ground.give_all(folder)?;
        ground.her(program)
    } else {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    command.args(["-e", &format!("{at}/log"), "-c", &format!("{at}/nginx.conf")]);
    let nginx = Ours::start(&mut command)?;
    comes(&folder.join("nginx.pid"));
    if let Some(module) = module {
        // The server runs without the module; a process that tests the files loads it.
        let with = format!("load_module {};\n{text}", module.display());
        ground.file_of_hers(&folder.join("nginx.conf"), with.as_bytes(), 0o644)?;
    }
    Ok(nginx)
}

/// Returns the path of a program; for PHP-FPM, that of one of its versions.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let folders = PATH.split(':').map(Path::new);
    let is_it = |found: &str| found == name || name == "php-fpm" && found.starts_with(name);
    folders
        .filter_map(|it| fs::read_dir(it).ok())
        .flat_map(Iterator::flatten)
        .find(|it| it.file_name().to_str().is_some_and(is_it))
        .map(|it| it.path())
}

/// Waits a few seconds until a process listens at the port; returns whether one does.
fn is_open(port: u16) -> bool {
    const LOOKS: u32 = 500;
    (0..LOOKS).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    })
}
