//! Applications in PHP, each with a separate php-fpm and lighttpd in front of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use looptax_model::dsn::Kind;

use super::moved_and_back;
use crate::application::php::{Php, wordpress, write_pool};
use crate::application::{Application, Place, ROW, fill_table};
use crate::fixture::Server;

#[test]
fn wordpress_is_moved_and_back() {
    let Some((php, server, place)) = wordpress() else {
        return;
    };
    let config = "site/wp-config.php";
    let (processes, reload) = php.start(&place, "site");
    let app = Application::on_http(place, server, config, "/way.php", processes);
    moved_and_back(&app.reloaded_by(reload));
}

/// The configuration of Laravel's views; Laravel would use views only to show errors.
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
        ("config/app.php", include_str!("files/laravel/config_app.php")),
        ("config/view.php", VIEWS),
        ("config/database.php", include_str!("files/laravel/config_database.php")),
        ("routes/web.php", include_str!("files/laravel/web.php")),
        ("public/index.php", include_str!("files/laravel/index.php")),
    ]);
    open_for_all(&place, &["bootstrap/cache"]);
    // As in production, the configuration from the file is in a cache.
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

/// Returns Symfony with Doctrine; its account can reach the socket if `is_open`. `None` if something for it is not
/// installed.
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

/// Lets the account of PHP write in folders.
fn open_for_all(place: &Place, folders: &[&str]) {
    for folder in folders {
        let mode = fs::Permissions::from_mode(0o777);
        fs::set_permissions(place.path(folder), mode).expect("our own folder");
    }
}
