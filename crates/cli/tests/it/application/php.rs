//! The programs for applications in PHP: a separate php-fpm with lighttpd in front of it, and a WordPress.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use looptax_model::dsn::Kind;

use super::{Group, Place, skip_without};
use crate::fixture::Server;

/// Configuration of lighttpd for only one site: the front controller answers all requests, except those for scripts.
const FRONT: &str = "\
server.modules = (\"mod_rewrite\", \"mod_fastcgi\")
server.document-root = \"«folder»/«root»\"
server.bind = \"127.0.0.1\"
server.port = «http_port»
url.rewrite-once = (\"^/[a-z]*\\.php\" => \"$0\", \"^/\" => \"/index.php\")
fastcgi.server = (\".php\" => ((\"socket\" => \"«folder»/php.sock\", \"disable-time\" => 0)))
";

/// Configuration of the pool of a site: two PHP processes, which run as an account without other rights.
const POOL: &str = "\
[www]
«account»listen = «folder»/php.sock
listen.mode = 0666
pm = static
pm.max_children = 2
catch_workers_output = yes
";

/// Configuration of two pools, one for each transport, each with a log of its pages.
const POOLS: &str = "\
[tcp]
«account»listen = «pool»
access.log = «folder»/tcp.log
pm = static
pm.max_children = 2
[unix]
«account»listen = «folder»/unix.sock
listen.mode = 0666
access.log = «folder»/unix.log
pm = static
pm.max_children = 2
";

/// Configuration of nginx for only one site, with scripts passed to the pool on TCP.
const NGINX: &str = "\
pid «folder»/nginx.pid;
error_log «folder»/log;
worker_processes 1;
events {}
http {
  access_log off;
  server {
    listen «http»;
    root «folder»/site;
    index index.php;
    location / { try_files $uri $uri/ /index.php?$args; }
    location ~ [.]php$ {
      include /etc/nginx/fastcgi_params;
      fastcgi_param HTTP_HOST $http_host;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
      fastcgi_pass «pool»;
    }
  }
}
";

const GLOBAL: &str = "[global]\nerror_log = «folder»/log\ninclude = «folder»/pool.d/*.conf\n";
const FPM_WORDS: [&str; 3] = ["--nodaemonize", "--fpm-config", "«folder»/php-fpm.conf"];
const FRONT_WORDS: [&str; 3] = ["-D", "-f", "«folder»/lighttpd.conf"];

/// The programs that a PHP site needs.
pub(crate) struct Php {
    fpm: PathBuf,
    lighttpd: PathBuf,
}

impl Php {
    /// Finds the programs; prints a message and returns `None` if a program, an extension or a file of a library is
    /// missing.
    pub(crate) fn find(extension: &str, files: &[&str]) -> Option<Self> {
        let (fpm, lighttpd) = (program("php-fpm")?, program("lighttpd")?);
        let listed = Command::new("php").arg("-m").output();
        let listed = listed.map_or(Vec::new(), |output| output.stdout);
        let listed = String::from_utf8_lossy(&listed);
        let has_extension = listed.lines().any(|line| line == extension);
        let missing = files.iter().find(|file| !Path::new(file).exists());
        match missing.or((!has_extension).then_some(&extension)) {
            Some(missing) => skip_without(&format!("PHP's {missing}")),
            None => return Some(Self { fpm, lighttpd }),
        }
        None
    }

    /// Starts php-fpm and lighttpd for the site in the folder `root`. Writes the usual pool, unless the place has one
    /// already.
    pub(crate) fn start(&self, place: &Place, root: &str) -> (Vec<Group>, String) {
        Self::write(place, root);
        let fpm = place.start(&self.fpm, &FPM_WORDS);
        let front = place.start(&self.lighttpd, &FRONT_WORDS);
        let reload = format!("kill -USR2 {}", fpm.pid());
        (vec![front, fpm], reload)
    }

    /// Starts only php-fpm, for a pool that was written with [`write_pool`].
    pub(crate) fn start_fpm(&self, place: &Place) -> Group {
        place.write(&[("php-fpm.conf", GLOBAL)]);
        place.start(&self.fpm, &FPM_WORDS)
    }

    /// Returns a shell command that starts php-fpm and lighttpd in the foreground.
    pub(crate) fn line(&self, place: &Place, root: &str) -> String {
        Self::write(place, root);
        let [fpm, front] = [(&self.fpm, &FPM_WORDS[..]), (&self.lighttpd, &FRONT_WORDS)]
            .map(|(program, words)| format!("{} {}", program.display(), words.join(" ")));
        place.fill(&format!("{fpm} & exec {front}"))
    }

    /// Returns a shell command that starts nginx and a pool for each transport in the foreground. Without nginx it
    /// prints a message and returns `None`.
    pub(crate) fn line_behind_nginx(&self, place: &Place) -> Option<String> {
        let nginx = program("nginx")?;
        write_pool(place, POOLS);
        place.write(&[("php-fpm.conf", GLOBAL), ("nginx.conf", NGINX)]);
        let (fpm, nginx) = (self.fpm.display(), nginx.display());
        let words = FPM_WORDS.join(" ");
        let front = "-c «folder»/nginx.conf -g 'daemon off;'";
        Some(place.fill(&format!("{fpm} {words} & exec {nginx} {front}")))
    }

    /// Returns the version at the end of the program's name: `8.2`, or an empty string.
    pub(crate) fn version(&self) -> &str {
        let name = self.fpm.file_name().and_then(|it| it.to_str());
        name.and_then(|it| it.strip_prefix("php-fpm")).unwrap_or_default()
    }

    fn write(place: &Place, root: &str) {
        if !place.path("pool.d/www.conf").exists() {
            write_pool(place, POOL);
        }
        let front = FRONT.replace("«root»", root);
        place.write(&[("php-fpm.conf", GLOBAL), ("lighttpd.conf", &front)]);
    }
}

/// Writes a pool. If the tests run as root, PHP runs as an account without other rights, as it does in production.
pub(crate) fn write_pool(place: &Place, text: &str) {
    let is_root = rustix::process::geteuid().is_root();
    let account = { is_root }.then_some("user = www-data\ngroup = www-data\n");
    let text = text.replace("«account»", account.unwrap_or_default());
    place.write(&[("pool.d/www.conf", &text)]);
}

/// Returns a program in `/usr/sbin`, with or without a version at the end of its name.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir("/usr/sbin").into_iter().flatten().flatten();
    let has_name = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = file.strip_prefix(name);
        rest.is_some_and(|it| it.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    let found = entries.map(|entry| entry.path()).filter(has_name).max();
    if found.is_none() {
        skip_without(name);
    }
    found
}

const CORE: &str = "/usr/share/wordpress";

/// Puts WordPress's own files next to its configuration: scripts are copied, folders are linked.
fn lay_out_wordpress(place: &Place) {
    let site = place.path("site");
    fs::create_dir(&site).expect("a scratch folder");
    for entry in fs::read_dir(CORE).expect("WordPress is there").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            symlink(&path, site.join(&name)).expect("a scratch folder");
        } else if name != "wp-config.php" && path.exists() {
            fs::copy(&path, site.join(&name)).expect("a scratch folder");
        }
    }
}

/// Returns an installed WordPress and its server; `None` if something for it is missing.
pub(crate) fn wordpress() -> Option<(Php, Server, Place)> {
    let needed = ["wp-settings.php", "wp-content/themes/twentytwentyone/style.css"];
    let needed = needed.map(|name| format!("{CORE}/{name}"));
    let php = Php::find("mysqli", &needed.each_ref().map(String::as_str))?;
    let server = Server::start(Kind::Mariadb)?;
    server.open_to_all();
    let place = Place::beside(&server);
    lay_out_wordpress(&place);
    let config = "site/wp-config.php";
    place.write(&[
        (config, include_str!("files/wordpress/wp-config.php")),
        ("site/way.php", include_str!("files/wordpress/way.php")),
        ("site/install.php", include_str!("files/wordpress/install.php")),
    ]);
    place.run("php", &["site/install.php"]);
    let path = place.path(config);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&path, None, Some(group_of_php())).unwrap();
    }
    Some((php, server, place))
}

/// Returns the number of the group in which PHP runs on Debian.
fn group_of_php() -> u32 {
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let line = groups.lines().find_map(|it| it.strip_prefix("www-data:"));
    let number = line.and_then(|it| it.split(':').nth(1)?.parse().ok());
    number.expect("Debian has the group www-data")
}
