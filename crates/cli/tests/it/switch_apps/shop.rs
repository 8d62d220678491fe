//! A running web server and the server behind it, each with its own file, for the tests that move pairs.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::{Finished, Looptax};

use crate::application::php::program;
use crate::application::{Group, PATIENCE, Place, get};
use crate::fixture::{exe, is_root};

/// The number of the user `nobody`, which has no rights in these tests.
pub(super) const NOBODY: u32 = 65_534;

/// A web server: its main file, the file of the site, and how it is started.
pub(super) struct Front {
    pub(super) program: &'static str,
    pub(super) main: (&'static str, &'static str),
    pub(super) site: (&'static str, &'static str),
    pub(super) words: &'static [&'static str],
}

pub(super) const NGINX_MAIN: &str = "\
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

pub(super) const NGINX_PROXY: Front = Front {
    program: "nginx",
    main: ("nginx.conf", NGINX_MAIN),
    site: (
        "sites/shop",
        "server {\n    listen «http»;\n    location / {\n        proxy_pass http://«behind»; # the shop\n        proxy_set_header Host $host;\n    }\n}\n",
    ),
    words: NGINX_WORDS,
};
pub(super) const NGINX_UPSTREAM: Front = Front {
    site: (
        "sites/shop",
        "upstream app {\n    server «behind» fail_timeout=0; # the shop\n}\nserver {\n    listen «http»;\n    location / {\n        proxy_pass http://app;\n    }\n}\n",
    ),
    ..NGINX_PROXY
};
pub(super) const NGINX_UWSGI: Front = Front {
    site: (
        "sites/shop",
        "server {\n    listen «http»;\n    location / {\n        uwsgi_pass «behind»; # the shop\n        uwsgi_param REQUEST_METHOD $request_method;\n        uwsgi_param PATH_INFO $uri;\n    }\n}\n",
    ),
    ..NGINX_PROXY
};
pub(super) const APACHE: Front = Front {
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
pub(super) const APACHE_MATCH: Front = Front {
    site: (
        "sites/shop.conf",
        "<VirtualHost «http»>\n    ProxyPassMatch ^/$ fcgi://«behind»«folder»/site/index.php\n</VirtualHost>\n",
    ),
    ..APACHE
};
pub(super) const CADDY: Front = Front {
    program: "caddy",
    main: ("Caddyfile", "{\n\tadmin «admin»\n\tauto_https off\n}\nimport sites/*\n"),
    site: (
        "sites/shop",
        "http://:«http_port» {\n\tbind 127.0.0.1\n\troot * «folder»/site\n\tphp_fastcgi «behind»\n}\n",
    ),
    words: &["run", "--config", "«folder»/Caddyfile", "--adapter", "caddyfile"],
};
pub(super) const HAPROXY: Front = Front {
    program: "haproxy",
    main: ("global.cfg", "global\n    «haproxy_user»\n    maxconn 100\n"),
    site: (
        "haproxy.cfg",
        "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\nfrontend web\n    bind «http»\n    default_backend app\nbackend app\n    server one «behind» # the shop\n",
    ),
    words: &["-W", "-f", "«folder»/global.cfg", "-f", "«folder»/haproxy.cfg"],
};

const MODULES: [&str; 5] = ["mpm_event", "authz_core", "dir", "proxy", "proxy_fcgi"];

/// The server behind the web server: its file, further files, and how it is started.
#[derive(Clone, Copy)]
pub(super) struct Back {
    pub(super) program: &'static str,
    pub(super) file: (&'static str, &'static str),
    pub(super) beside: (&'static str, &'static str),
    pub(super) words: &'static [&'static str],
    pub(super) is_nobodys: bool,
}

const WSGI: &str = "def application(environ, start):\n    body = b'a page of Python'\n    start('200 OK', [('Content-Length', str(len(body)))])\n    return [body]\n";
pub(super) const GUNICORN: Back = Back {
    program: "gunicorn",
    file: ("gunicorn.conf.py", "# The shop\nbind = \"«behind»\"\nworkers = 1\n"),
    beside: ("app.py", WSGI),
    words: &["-c", "«folder»/gunicorn.conf.py", "app:application"],
    is_nobodys: false,
};
pub(super) const PUMA: Back = Back {
    program: "puma",
    file: (
        "puma.rb",
        "# The shop\nthreads 1, 1\napp do |env|\n  [200, {}, ['a page of Ruby']]\nend\nbind \"tcp://«behind»\"\n",
    ),
    beside: ("empty", ""),
    words: &["-C", "«folder»/puma.rb"],
    is_nobodys: false,
};
pub(super) const UWSGI: Back = Back {
    program: "uwsgi",
    file: (
        "uwsgi.ini",
        "[uwsgi]\nplugins = python3\nwsgi-file = app.py\nmaster = true\nsocket = «behind»\nprocesses = 1\n",
    ),
    beside: ("app.py", WSGI),
    words: &["--ini", "«folder»/uwsgi.ini"],
    is_nobodys: false,
};
pub(super) const FPM: Back = Back {
    program: "php-fpm",
    file: ("pool.d/www.conf", "; the shop\n[www]\n«account»listen = «behind»\npm = static\npm.max_children = 2\n"),
    beside: ("fpm.conf", "[global]\nerror_log = «folder»/log\ndaemonize = no\ninclude = «folder»/pool.d/*.conf\n"),
    words: &["-n", "-F", "-y", "«folder»/fpm.conf"],
    is_nobodys: false,
};

/// A running pair of both servers.
pub(super) struct Shop {
    _front: Group,
    _back: Group,
    pub(super) place: Place,
    behind: SocketAddr,
    /// The web server's file, then the file of the server behind it.
    files: [&'static str; 2],
}

impl Shop {
    /// Starts both servers; prints a message and returns `None` if one is not installed.
    pub(super) fn open(front: &Front, back: &Back) -> Option<Self> {
        Self::with(front, back, &[])
    }

    pub(super) fn with(front: &Front, back: &Back, more: &[(&str, &str)]) -> Option<Self> {
        let (back_program, front_program) = (installed(back.program)?, installed(front.program)?);
        let behind = free_address();
        let as_root = |words: &str| {
            if is_root() { words.to_owned() } else { String::new() }
        };
        let modules = MODULES.map(|it| format!("LoadModule {it}_module /usr/lib/apache2/modules/mod_{it}.so\n"));
        let place = Place::alone()
            .with("«behind»", behind.to_string())
            .with("«behind_port»", behind.port().to_string())
            .with("«admin»", free_address().to_string())
            .with("«modules»", modules.concat())
            .with("«account»", as_root("user = www-data\ngroup = www-data\n"))
            .with("«user_line»", as_root("user www-data;\n"))
            .with("«user_and_group»", as_root("User www-data\nGroup www-data\n"))
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
            place.start("setpriv", &as_nobody(&back_program.display().to_string(), back.words))
        } else {
            place.start(&back_program, back.words)
        };
        let is_caddy_of_root = is_root() && front.program == "caddy";
        let front_group = if is_caddy_of_root {
            place.start("setpriv", &as_nobody(&front_program.display().to_string(), front.words))
        } else {
            place.start(&front_program, front.words)
        };
        let shop = Self { _front: front_group, _back: back_group, files: [front.site.0, back.file.0], place, behind };
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

    pub(super) fn switching(&self, args: &[&str]) -> Looptax<'_> {
        let [site, own] = self.files.map(|it| self.path(it));
        let url = format!("http://{}/", self.place.http);
        let words = ["switch", &site, &own, "--url", &url, "--within", "30s", "--no-times"];
        self.looptax(&[&words, args].concat())
    }

    /// Runs the switch as a user who has read the plan.
    pub(super) fn switch(&self) -> Finished {
        let socket = self.socket();
        self.switching(&["--yes", "--socket", &socket]).run()
    }

    pub(super) fn socket(&self) -> String {
        self.path("run/app.sock")
    }

    pub(super) fn undo(&self) -> Finished {
        self.looptax(&["switch", "--undo", "--yes"]).run()
    }

    /// Returns the contents, mode and owner of both files.
    pub(super) fn bytes(&self) -> Vec<(Vec<u8>, u32, u32)> {
        let all = self.files.map(|name| {
            let path = self.place.path(name);
            let found = path.metadata().unwrap();
            (fs::read(&path).unwrap(), found.mode(), found.uid())
        });
        all.into()
    }

    pub(super) fn is_port_open(&self) -> bool {
        TcpStream::connect(self.behind).is_ok()
    }

    #[track_caller]
    pub(super) fn expect_as_before(&self, files: &[(Vec<u8>, u32, u32)]) {
        assert!(self.bytes() == files, "not the very files of before");
        self.expect_page();
        assert!(self.is_port_open());
    }

    /// Plans, moves, proves and undoes the switch; checks the lines in the plan and in the files, and that the undone
    /// files have the same bytes as before.
    #[track_caller]
    pub(super) fn follow(&self, planned: [&str; 2], moved: [&str; 2]) {
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
        expect_said(&run, "moved and proved");
        self.expect_page();
        assert!(!self.is_port_open(), "somebody still listens at the port");
        for (name, line) in self.files.iter().zip(moved) {
            let text = fs::read_to_string(self.place.path(name)).unwrap();
            let line = self.fill(line);
            assert!(text.contains(&line), "no `{line}` in {text}");
            assert!(!text.contains(&self.behind.to_string()) || name.contains("shop.conf"), "{text}");
        }
        self.undo().expect_code(0);
        self.expect_as_before(&before);
    }

    fn fill(&self, text: &str) -> String {
        let text = text.replace("«socket»", &self.socket());
        self.place.fill(&text)
    }

    /// Checks that nothing is moved, for these reasons, and that looptax keeps nothing about the attempt.
    #[track_caller]
    pub(super) fn refused(&self, words: &[&str]) {
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

/// Returns the path of a program; the name of PHP-FPM contains its version.
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
pub(super) fn expect_said(run: &Finished, words: &str) {
    let said = run.words();
    if !said.contains(words) {
        run.fail(&format!("`{words}` was expected on stdout"));
    }
}
