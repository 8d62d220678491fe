//! Applications in PHP, each with a php-fpm of its own and lighttpd in front of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use looptax_dsn::Kind;

use super::application::{Application, Group, Place, ROW, fill_table, skip_without};
use super::moved_and_back;
use crate::fixture::Server;

/// lighttpd, which knows only one site: every page is the front controller's, but for scripts.
const FRONT: &str = "\
server.modules = (\"mod_rewrite\", \"mod_fastcgi\")
server.document-root = \"«folder»/«root»\"
server.bind = \"127.0.0.1\"
server.port = «http_port»
url.rewrite-once = (\"^/[a-z]*\\.php\" => \"$0\", \"^/\" => \"/index.php\")
fastcgi.server = (\".php\" => ((\"socket\" => \"«folder»/php.sock\", \"disable-time\" => 0)))
";

/// The pool of a site: two of PHP's processes, as an account that may do nothing else.
const POOL: &str = "\
[www]
«account»listen = «folder»/php.sock
listen.mode = 0666
pm = static
pm.max_children = 2
catch_workers_output = yes
";

/// PHP as a site needs it.
struct Php {
    fpm: PathBuf,
    lighttpd: PathBuf,
}

impl Php {
    /// `None`, said aloud, where a program, an extension or a file of a library is not there.
    fn find(extension: &str, files: &[&str]) -> Option<Self> {
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

    /// Starts both for the site in the folder `root`; with a pool of its own unless there is one.
    fn start(&self, place: &Place, root: &str) -> (Vec<Group>, String) {
        if !place.path("pool.d/www.conf").exists() {
            write_pool(place, POOL);
        }
        let global = "[global]\nerror_log = «folder»/log\ninclude = «folder»/pool.d/*.conf\n";
        let front = FRONT.replace("«root»", root);
        place.write(&[("php-fpm.conf", global), ("lighttpd.conf", &front)]);
        let words = ["--nodaemonize", "--fpm-config", "«folder»/php-fpm.conf"];
        let fpm = place.start(&self.fpm, &words);
        let front = place.start(&self.lighttpd, &["-D", "-f", "«folder»/lighttpd.conf"]);
        let reload = format!("kill -USR2 {}", fpm.pid());
        (vec![front, fpm], reload)
    }
}

/// As root PHP answers from an account that may do nothing else, as it does on every machine.
fn write_pool(place: &Place, text: &str) {
    let is_root = rustix::process::geteuid().is_root();
    let account = { is_root }.then_some("user = www-data\ngroup = www-data\n");
    let text = text.replace("«account»", account.unwrap_or_default());
    place.write(&[("pool.d/www.conf", &text)]);
}

/// A program of `/usr/sbin`, with or without a version behind its name.
fn program(name: &str) -> Option<PathBuf> {
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

/// WordPress's own files where its configuration is beside them: scripts copied, the rest linked.
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

#[test]
fn wordpress_is_moved_and_back() {
    let needed = [
        "wp-settings.php",
        "wp-content/themes/twentytwentyone/style.css",
    ];
    let needed = needed.map(|name| format!("{CORE}/{name}"));
    let Some(php) = Php::find("mysqli", &needed.each_ref().map(String::as_str)) else {
        return;
    };
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    server.open_to_all();
    let place = Place::beside(&server);
    lay_out_wordpress(&place);
    let config = "site/wp-config.php";
    place.write(&[
        (config, include_str!("files/wordpress/wp-config.php")),
        ("site/way.php", include_str!("files/wordpress/way.php")),
        (
            "site/install.php",
            include_str!("files/wordpress/install.php"),
        ),
    ]);
    place.run("php", &["site/install.php"]);
    let path = place.path(config);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&path, None, Some(group_of_php())).unwrap();
    }
    let (processes, reload) = php.start(&place, "site");
    let app = Application::on_http(place, server, config, "/way.php", processes);
    moved_and_back(&app.reloaded_by(reload));
}

/// The number of PHP's group on Debian.
fn group_of_php() -> u32 {
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let line = groups.lines().find_map(|it| it.strip_prefix("www-data:"));
    let number = line.and_then(|it| it.split(':').nth(1)?.parse().ok());
    number.expect("Debian has the group www-data")
}

/// Where errors would be drawn.
const VIEWS: &str = "<?php\nreturn ['paths' => [], 'compiled' => '/tmp'];\n";
const LARAVEL: &str = "/usr/share/php/Illuminate/Foundation/Application.php";

#[test]
fn laravel_is_moved_and_back() {
    let Some(php) = Php::find("pdo_mysql", &[LARAVEL]) else {
        return;
    };
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    fill_table(&server);
    server.open_to_all();
    let place = Place::beside(&server);
    place.write(&[
        (".env", include_str!("files/laravel/dotenv")),
        ("artisan", include_str!("files/laravel/artisan")),
        ("bootstrap/app.php", include_str!("files/laravel/app.php")),
        ("bootstrap/cache/.gitignore", "*\n"),
        (
            "config/app.php",
            include_str!("files/laravel/config_app.php"),
        ),
        ("config/view.php", VIEWS),
        (
            "config/database.php",
            include_str!("files/laravel/config_database.php"),
        ),
        ("routes/web.php", include_str!("files/laravel/web.php")),
        ("public/index.php", include_str!("files/laravel/index.php")),
    ]);
    open_for_all(&place, &["bootstrap/cache"]);
    // As it is put into service: what the file says is in a cache.
    place.run("php", &["artisan", "config:cache"]);
    let (processes, reload) = php.start(&place, "public");
    let app = Application::on_http(place, server, ".env", "/way", processes);
    moved_and_back(&app.reloaded_by(format!("php artisan config:cache && {reload}")));
}

#[test]
fn symfony_is_moved_and_back() {
    if let Some(app) = symfony(true) {
        moved_and_back(&app);
    }
}

#[test]
fn connections_of_a_page_each_are_proved_without_asking_for_a_page() {
    if let Some(mut app) = symfony(true) {
        app.url = None;
        moved_and_back(&app);
    }
}

/// Symfony with Doctrine; its account can reach the socket where that is open. `None` where it cannot be had.
pub(super) fn symfony(is_open: bool) -> Option<Application> {
    let needed = [
        "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php",
        "/usr/share/php/Symfony/Component/Dotenv/autoload.php",
        "/usr/share/php/Doctrine/DBAL/autoload.php",
    ];
    let php = Php::find("pdo_mysql", &needed)?;
    let server = Server::start(Kind::Mariadb)?;
    fill_table(&server);
    if is_open {
        server.open_to_all();
    }
    let place = Place::beside(&server);
    place.write(&[
        (".env", include_str!("files/symfony/dotenv")),
        ("src/Kernel.php", include_str!("files/symfony/Kernel.php")),
        ("public/index.php", include_str!("files/symfony/index.php")),
        ("var/.gitignore", "*\n"),
    ]);
    open_for_all(&place, &["var"]);
    let (processes, reload) = php.start(&place, "public");
    let app = Application::on_http(place, server, ".env", "/way", processes);
    Some(app.reloaded_by(reload))
}

#[test]
fn sessions_of_php_in_redis_are_moved_and_back() {
    let Some(php) = Php::find("redis", &[]) else {
        return;
    };
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    server.open_to_all();
    let place = Place::beside(&server);
    write_pool(&place, include_str!("files/session/www.conf"));
    place.write(&[
        ("site/index.php", include_str!("files/session/index.php")),
        ("site/way.php", include_str!("files/session/way.php")),
    ]);
    let held = format!("name|s:{}:\"{ROW}\";", ROW.len());
    server.redis(&["SET", "PHPREDIS_SESSION:1f0c5ad3e67b42", &held]);
    let (processes, reload) = php.start(&place, "site");
    let app = Application::on_http(place, server, "pool.d/www.conf", "/way.php", processes);
    moved_and_back(&app.reloaded_by(reload));
}

/// Lets PHP's account write into folders.
fn open_for_all(place: &Place, folders: &[&str]) {
    for folder in folders {
        let mode = fs::Permissions::from_mode(0o777);
        fs::set_permissions(place.path(folder), mode).expect("our own folder");
    }
}
