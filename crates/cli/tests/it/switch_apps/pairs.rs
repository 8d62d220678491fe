//! Other web servers and what is behind them moved together, with the programs themselves: moved, proved, undone, and
//! refused before anything is changed.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use looptax_testkit::patience;
use looptax_testkit::runner::{Finished, Looptax};

use crate::application::php::program;
use crate::application::{Group, PATIENCE, Place, get, skip_without};
use crate::fixture::{exe, free_address, is_root, is_there};

/// Nobody's number, who may do nothing here.
const NOBODY: u32 = 65_534;

/// A web server: its main file, the site's, and how it is started.
struct Front {
    program: &'static str,
    main: (&'static str, &'static str),
    site: (&'static str, &'static str),
    words: &'static [&'static str],
}

const NGINX_MAIN: &str = "\
daemon off;
«user_line»worker_processes 1;
pid «folder»/nginx.pid;
error_log «folder»/log;
events { }
http {
    access_log off;
    client_body_temp_path «folder»/t1;
    proxy_temp_path «folder»/t2;
    fastcgi_temp_path «folder»/t3;
    uwsgi_temp_path «folder»/t4;
    scgi_temp_path «folder»/t5;
    include «folder»/sites/*;
}
";
const NGINX_WORDS: &[&str] = &["-e", "«folder»/log", "-c", "«folder»/nginx.conf"];

const NGINX_PROXY: Front = Front {
    program: "nginx",
    main: ("nginx.conf", NGINX_MAIN),
    site: (
        "sites/shop",
        "server {\n    listen «http»;\n    location / {\n        proxy_pass http://«behind»; # the shop\n        proxy_set_header Host $host;\n    }\n}\n",
    ),
    words: NGINX_WORDS,
};
const NGINX_UPSTREAM: Front = Front {
    site: (
        "sites/shop",
        "upstream app {\n    server «behind» fail_timeout=0; # the shop\n}\nserver {\n    listen «http»;\n    location / {\n        proxy_pass http://app;\n    }\n}\n",
    ),
    ..NGINX_PROXY
};
const NGINX_UWSGI: Front = Front {
    site: (
        "sites/shop",
        "server {\n    listen «http»;\n    location / {\n        uwsgi_pass «behind»; # the shop\n        uwsgi_param REQUEST_METHOD $request_method;\n        uwsgi_param PATH_INFO $uri;\n    }\n}\n",
    ),
    ..NGINX_PROXY
};
const APACHE: Front = Front {
    program: "apache2",
    main: (
        "apache.conf",
        "ServerRoot «folder»\nServerName localhost\n«modules»«user_and_group»PidFile «folder»/apache.pid\nDefaultRuntimeDir «folder»\nErrorLog «folder»/log\nListen «http»\nIncludeOptional «folder»/sites/*.conf\n",
    ),
    site: (
        "sites/shop.conf",
        "<VirtualHost «http»>\n    DocumentRoot «folder»/site\n    DirectoryIndex index.php\n    <Directory «folder»/site>\n        Require all granted\n    </Directory>\n    <FilesMatch \\.php$>\n        SetHandler \"proxy:fcgi://«behind»\"\n    </FilesMatch>\n</VirtualHost>\n",
    ),
    words: &["-D", "FOREGROUND", "-f", "«folder»/apache.conf"],
};
const APACHE_MATCH: Front = Front {
    site: (
        "sites/shop.conf",
        "<VirtualHost «http»>\n    ProxyPassMatch ^/$ fcgi://«behind»«folder»/site/index.php\n</VirtualHost>\n",
    ),
    ..APACHE
};
const CADDY: Front = Front {
    program: "caddy",
    main: (
        "Caddyfile",
        "{\n\tadmin «admin»\n\tauto_https off\n}\nimport sites/*\n",
    ),
    site: (
        "sites/shop",
        "http://:«http_port» {\n\tbind 127.0.0.1\n\troot * «folder»/site\n\tphp_fastcgi «behind»\n}\n",
    ),
    words: &[
        "run",
        "--config",
        "«folder»/Caddyfile",
        "--adapter",
        "caddyfile",
    ],
};
const HAPROXY: Front = Front {
    program: "haproxy",
    main: (
        "global.cfg",
        "global\n    «haproxy_user»\n    maxconn 100\n",
    ),
    site: (
        "haproxy.cfg",
        "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\nfrontend web\n    bind «http»\n    default_backend app\nbackend app\n    server one «behind» # the shop\n",
    ),
    words: &[
        "-W",
        "-f",
        "«folder»/global.cfg",
        "-f",
        "«folder»/haproxy.cfg",
    ],
};

const MODULES: [&str; 5] = ["mpm_event", "authz_core", "dir", "proxy", "proxy_fcgi"];

/// What stands behind: its file, others beside it, and how it is started.
#[derive(Clone, Copy)]
struct Back {
    program: &'static str,
    file: (&'static str, &'static str),
    beside: (&'static str, &'static str),
    words: &'static [&'static str],
    /// Whether nobody runs it.
    is_nobodys: bool,
}

const WSGI: &str = "def application(environ, start):\n    body = b'a page of Python'\n    start('200 OK', [('Content-Length', str(len(body)))])\n    return [body]\n";
const GUNICORN: Back = Back {
    program: "gunicorn",
    file: (
        "gunicorn.conf.py",
        "# The shop\nbind = \"«behind»\"\nworkers = 1\n",
    ),
    beside: ("app.py", WSGI),
    words: &["-c", "«folder»/gunicorn.conf.py", "app:application"],
    is_nobodys: false,
};
const PUMA: Back = Back {
    program: "puma",
    file: (
        "puma.rb",
        "# The shop\nthreads 1, 1\napp do |env|\n  [200, {}, ['a page of Ruby']]\nend\nbind \"tcp://«behind»\"\n",
    ),
    beside: ("empty", ""),
    words: &["-C", "«folder»/puma.rb"],
    is_nobodys: false,
};
const UWSGI: Back = Back {
    program: "uwsgi",
    file: (
        "uwsgi.ini",
        "[uwsgi]\nplugins = python3\nwsgi-file = app.py\nmaster = true\nsocket = «behind»\nprocesses = 1\n",
    ),
    beside: ("app.py", WSGI),
    words: &["--ini", "«folder»/uwsgi.ini"],
    is_nobodys: false,
};
const FPM: Back = Back {
    program: "php-fpm",
    file: (
        "pool.d/www.conf",
        "; the shop\n[www]\n«account»listen = «behind»\npm = static\npm.max_children = 2\n",
    ),
    beside: (
        "fpm.conf",
        "[global]\nerror_log = «folder»/log\ndaemonize = no\ninclude = «folder»/pool.d/*.conf\n",
    ),
    words: &["-n", "-F", "-y", "«folder»/fpm.conf"],
    is_nobodys: false,
};

/// Both as they run.
struct Shop {
    _front: Group,
    _back: Group,
    place: Place,
    behind: SocketAddr,
    /// The web server's file, and the other.
    files: [&'static str; 2],
}

impl Shop {
    /// `None`, said aloud, where one of them is not installed.
    fn open(front: &Front, back: &Back) -> Option<Self> {
        Self::with(front, back, &[])
    }

    fn with(front: &Front, back: &Back, more: &[(&str, &str)]) -> Option<Self> {
        let (back_program, front_program) = (installed(back.program)?, installed(front.program)?);
        let behind = free_address();
        let as_root = |words: &str| {
            if is_root() {
                words.to_owned()
            } else {
                String::new()
            }
        };
        let modules = MODULES
            .map(|it| format!("LoadModule {it}_module /usr/lib/apache2/modules/mod_{it}.so\n"));
        let place = Place::alone()
            .with("«behind»", behind.to_string())
            .with("«admin»", free_address().to_string())
            .with("«modules»", modules.concat())
            .with("«account»", as_root("user = www-data\ngroup = www-data\n"))
            .with("«user_line»", as_root("user www-data;\n"))
            .with(
                "«user_and_group»",
                as_root("User www-data\nGroup www-data\n"),
            )
            .with("«haproxy_user»", as_root("user www-data"));
        place.write(&[
            front.main,
            front.site,
            back.file,
            back.beside,
            ("site/index.php", "<?php echo 'a page of PHP';\n"),
            ("run/empty", ""),
        ]);
        place.write(more);
        let back_group = if back.is_nobodys {
            chown(place.path("run"), Some(NOBODY), Some(NOBODY)).unwrap();
            place.start(
                "setpriv",
                &as_nobody(&back_program.display().to_string(), back.words),
            )
        } else {
            place.start(&back_program, back.words)
        };
        let is_caddy_of_root = is_root() && front.program == "caddy";
        let front_group = if is_caddy_of_root {
            place.start(
                "setpriv",
                &as_nobody(&front_program.display().to_string(), front.words),
            )
        } else {
            place.start(&front_program, front.words)
        };
        let shop = Self {
            _front: front_group,
            _back: back_group,
            files: [front.site.0, back.file.0],
            place,
            behind,
        };
        shop.expect_page();
        Some(shop)
    }

    #[track_caller]
    fn expect_page(&self) {
        let answer = || { get(self.place.http, "/").ok() }.filter(|it| it.contains("a page of"));
        let told = || fs::read_to_string(self.place.path("log")).unwrap_or_default();
        let found = patience::wait(PATIENCE, answer);
        assert!(found.is_some(), "no page\n{}", told());
    }

    fn path(&self, name: &str) -> String {
        self.place.path(name).display().to_string()
    }

    fn looptax(&self, args: &[&str]) -> Looptax<'_> {
        let scratch = &self.place.scratch;
        let looptax = Looptax::new(exe(), scratch).env("XDG_DATA_HOME", scratch.file("data"));
        looptax.args(args)
    }

    fn switching(&self, args: &[&str]) -> Looptax<'_> {
        let [site, own] = self.files.map(|it| self.path(it));
        let url = format!("http://{}/", self.place.http);
        let words = ["switch", &site, &own, "--url", &url, "--within", "30s"];
        self.looptax(&[&words, args].concat())
    }

    /// As somebody who has read the plan.
    fn switch(&self) -> Finished {
        let socket = self.socket();
        self.switching(&["--yes", "--socket", &socket]).run()
    }

    fn socket(&self) -> String {
        self.path("run/app.sock")
    }

    fn undo(&self) -> Finished {
        self.looptax(&["switch", "--undo", "--yes"]).run()
    }

    /// Both files, and who may do what with them.
    fn bytes(&self) -> Vec<(Vec<u8>, u32, u32)> {
        let all = self.files.map(|name| {
            let path = self.place.path(name);
            let found = path.metadata().unwrap();
            (fs::read(&path).unwrap(), found.mode(), found.uid())
        });
        all.into()
    }

    fn is_port_open(&self) -> bool {
        TcpStream::connect(self.behind).is_ok()
    }

    #[track_caller]
    fn expect_as_before(&self, files: &[(Vec<u8>, u32, u32)]) {
        assert!(self.bytes() == files, "not the very files of before");
        self.expect_page();
        assert!(self.is_port_open());
    }

    /// Planned, moved, proved, and undone to the very bytes; what the files then hold.
    #[track_caller]
    fn follow(&self, planned: [&str; 2], moved: [&str; 2]) {
        let before = self.bytes();
        let socket = self.socket();
        let plan = self.switching(&["--dry-run", "--socket", &socket]).run();
        plan.expect_code(0);
        for line in planned {
            expect_said(&plan, &self.fill(line));
        }
        self.expect_as_before(&before);
        let run = self.switch();
        run.expect_code(0);
        expect_said(&run, "moved, and proved");
        self.expect_page();
        assert!(!self.is_port_open(), "somebody still listens at the port");
        for (name, line) in self.files.iter().zip(moved) {
            let text = fs::read_to_string(self.place.path(name)).unwrap();
            let line = self.fill(line);
            assert!(text.contains(&line), "no `{line}` in {text}");
            assert!(
                !text.contains(&self.behind.to_string()) || name.contains("shop.conf"),
                "{text}"
            );
        }
        self.undo().expect_code(0);
        self.expect_as_before(&before);
    }

    fn fill(&self, text: &str) -> String {
        let text = text.replace("«socket»", &self.socket());
        self.place.fill(&text)
    }

    /// Not moved, for this reason, and nothing is kept of it.
    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let before = self.bytes();
        let run = self.switch();
        run.expect_code(1);
        for words in words {
            expect_said(&run, &self.fill(words));
        }
        expect_said(&run, "nothing was changed");
        assert!(!self.place.path("data").exists(), "something is kept");
        self.expect_as_before(&before);
    }
}

/// Where a program is; PHP-FPM has its version in its name.
fn installed(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/bin", "/usr/sbin"].map(|it| Path::new(it).join(name));
    let found = folders.into_iter().find(|it| it.is_file());
    found.or_else(|| program(name))
}

fn as_nobody<'a>(program: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    let head = ["--reuid=65534", "--regid=65534", "--clear-groups", program];
    [&head, words].concat()
}

#[track_caller]
fn expect_said(run: &Finished, words: &str) {
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    if !said.contains(words) {
        run.fail(&format!("`{words}` was expected on stdout"));
    }
}

#[test]
fn nginx_and_gunicorn_are_moved_together_proved_and_undone_to_the_very_bytes() {
    let Some(shop) = Shop::open(&NGINX_PROXY, &GUNICORN) else {
        return;
    };
    shop.follow(
        ["+ proxy_pass http://unix:«socket»:", "--check-config"],
        [
            "proxy_pass http://unix:«socket»:; # the shop\n",
            "\nbind = \"unix:«socket»\"\n",
        ],
    );
}

#[test]
fn the_server_of_nginxs_upstream_and_gunicorn_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&NGINX_UPSTREAM, &GUNICORN) else {
        return;
    };
    shop.follow(
        ["+ server unix:«socket»", "+ bind = \"unix:«socket»\""],
        [
            "    server unix:«socket» fail_timeout=0; # the shop\n",
            "\nbind = \"unix:«socket»\"\n",
        ],
    );
}

#[test]
fn the_server_of_nginxs_upstream_and_puma_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&NGINX_UPSTREAM, &PUMA) else {
        return;
    };
    shop.follow(
        ["+ server unix:«socket»", "kill -USR2"],
        [
            "    server unix:«socket» fail_timeout=0; # the shop\n",
            "\nbind \"unix://«socket»\"\n",
        ],
    );
}

#[test]
fn nginx_and_uwsgi_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&NGINX_UWSGI, &UWSGI) else {
        return;
    };
    let owner = if is_root() {
        "chown-socket = www-data\n"
    } else {
        ""
    };
    shop.follow(
        ["+ uwsgi_pass unix:«socket»", "+ socket = «socket»"],
        [
            "uwsgi_pass unix:«socket»; # the shop\n",
            &format!("\nsocket = «socket»\n{owner}"),
        ],
    );
}

#[test]
fn apaches_handler_and_a_pool_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&APACHE, &FPM) else {
        return;
    };
    let url = "proxy:unix:«socket»|fcgi://«behind»";
    shop.follow([url, "+ listen = «socket»"], [url, "\nlisten = «socket»\n"]);
}

#[test]
fn apaches_pattern_and_a_pool_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&APACHE_MATCH, &FPM) else {
        return;
    };
    let url = "^/$ unix:«socket»|fcgi://«behind»«folder»/site/index.php";
    shop.follow([url, "+ listen = «socket»"], [url, "\nlisten = «socket»\n"]);
}

#[test]
fn caddy_and_a_pool_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&CADDY, &FPM) else {
        return;
    };
    shop.follow(
        ["+ php_fastcgi unix/«socket»", "caddy validate"],
        ["\tphp_fastcgi unix/«socket»\n", "\nlisten = «socket»\n"],
    );
}

#[test]
fn haproxy_and_gunicorn_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&HAPROXY, &GUNICORN) else {
        return;
    };
    shop.follow(
        ["+ server one «socket»", "haproxy -c -q"],
        [
            "    server one «socket» # the shop\n",
            "\nbind = \"unix:«socket»\"\n",
        ],
    );
}

#[test]
fn a_umask_of_gunicorn_that_keeps_the_web_server_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let closed = Back {
        file: ("gunicorn.conf.py", "bind = \"«behind»\"\numask = 0o077\n"),
        ..GUNICORN
    };
    for front in [&NGINX_PROXY, &HAPROXY] {
        let Some(shop) = Shop::open(front, &closed) else {
            return;
        };
        shop.refused(&["mode 0700, and keeps www-data out", "write umask = 0o007"]);
    }
}

#[test]
fn a_mode_of_uwsgi_that_keeps_nginx_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let closed = Back {
        is_nobodys: true,
        ..UWSGI
    };
    let Some(shop) = Shop::open(&NGINX_UWSGI, &closed) else {
        return;
    };
    shop.refused(&[
        "which does not run as root, and keeps www-data out",
        "chmod-socket = 666",
    ]);
}

#[test]
fn a_pool_on_a_socket_that_keeps_apache_or_caddy_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    // The site's pages come from the pool at the port; the one that is named is on its socket.
    let named = Back {
        file: (
            "pool.d/shut.conf",
            "[shut]\nuser = www-data\nlisten = «folder»/run/app.sock\nlisten.mode = 0600\npm = static\npm.max_children = 1\n",
        ),
        ..FPM
    };
    for front in [&APACHE, &CADDY] {
        let Some(shop) = Shop::with(front, &named, &[FPM.file]) else {
            return;
        };
        shop.refused(&["write listen.owner = "]);
    }
}

#[test]
fn a_folder_in_which_the_server_may_make_nothing_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    for (front, back) in [(&NGINX_PROXY, GUNICORN), (&NGINX_UPSTREAM, PUMA)] {
        let back = Back {
            is_nobodys: true,
            ..back
        };
        let Some(shop) = Shop::open(front, &back) else {
            return;
        };
        chown(shop.place.path("run"), Some(0), Some(0)).unwrap();
        fs::set_permissions(shop.place.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
        shop.refused(&["runs as nobody, who may not make a socket in «folder»/run"]);
    }
}

#[test]
fn an_address_of_gunicorns_command_line_wins_over_its_file_and_is_found_before() {
    let told = Back {
        words: &[
            "-c",
            "«folder»/gunicorn.conf.py",
            "-b",
            "«behind»",
            "app:application",
        ],
        ..GUNICORN
    };
    let Some(shop) = Shop::open(&NGINX_PROXY, &told) else {
        return;
    };
    shop.refused(&["was told where to listen when it was started"]);
}

#[test]
fn another_site_at_the_port_of_an_upstream_is_named_and_nothing_is_done() {
    let other = "server {\n    listen unix:«folder»/other.sock;\n    location / {\n        proxy_pass http://«behind»;\n    }\n}\n";
    let Some(shop) = Shop::with(&NGINX_UPSTREAM, &GUNICORN, &[("sites/other", other)]) else {
        return;
    };
    shop.refused(&["sites/other line 4 goes to"]);
}

#[test]
fn a_server_whose_address_is_in_a_unit_is_refused_with_the_lines_to_type() {
    if !is_there("nginx") {
        return skip_without("nginx");
    }
    let place = Place::alone().with("«behind»", free_address().to_string());
    place.write(&[
        NGINX_PROXY.site,
        (
            "app.service",
            "[Service]\nExecStart=/usr/bin/uvicorn app:app --host 127.0.0.1 --port 8000\n",
        ),
    ]);
    let [site, unit] = ["sites/shop", "app.service"].map(|it| place.path(it).display().to_string());
    let run = Looptax::new(exe(), &place.scratch)
        .args(["switch", &site, &unit, "--socket", "/run/app/app.sock"])
        .run();
    run.expect_error(
        2,
        &[
            "Uvicorn (its unit)",
            "--uds /run/app/app.sock",
            "systemctl daemon-reload",
        ],
    );
}

#[test]
fn a_looptax_that_is_killed_between_nginx_and_gunicorn_is_undone_by_the_next() {
    let Some(shop) = Shop::open(&NGINX_PROXY, &GUNICORN) else {
        return;
    };
    let before = shop.bytes();
    let socket = shop.socket();
    let site_is_new = || shop.bytes()[0] != before[0];
    let own_is_new = || shop.bytes()[1] != before[1];
    let has_moved = || shop.place.path("run/app.sock").exists() && !shop.is_port_open();
    let moments: [&dyn Fn() -> bool; 3] = [&site_is_new, &own_is_new, &has_moved];
    for is_now in moments {
        let mut running = shop.switching(&["--yes", "--socket", &socket]).spawn();
        running.wait_for("the moment", || is_now().then_some(()));
        running.signal(rustix::process::Signal::KILL);
        running.wait();
        shop.undo().expect_code(0);
        shop.expect_as_before(&before);
        fs::remove_file(&socket).ok();
    }
}
