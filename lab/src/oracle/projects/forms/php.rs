//! Projects in PHP: WordPress, Laravel, Symfony, Nextcloud, and a program that looptax does not know.

use looptax_model::dsn::Kind;
use std::fmt::Write as _;

use super::super::draw::{Draw, End, Files, one_in};
use super::text::{dotenv, in_brackets, one_of, php, place, url, with_line_ends};
use crate::coin::Coin;

/// Makes a `wp-config.php`.
pub(super) fn wordpress(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let host = place(end, coin);
    let mut host_lines = match coin.number() % 10 {
        0 => format!("$db_host = {};\ndefine( 'DB_HOST', $db_host );\n", php(&host, coin)),
        1 => format!("define( 'DB_HOST', getenv( 'WORDPRESS_HOST_OF_DB' ) ?: {} );\n", php(&host, coin)),
        2 => format!("if ( ! defined( 'DB_HOST' ) ) {{\n\tdefine( 'DB_HOST', {} );\n}}\n", php(&host, coin)),
        3 => format!("const DB_HOST = {};\n", php(&host, coin)),
        4 => format!("define('DB_HOST',{});\n", php(&host, coin)),
        5 => format!("define(\"DB_HOST\", {}); // the database\n", php(&host, coin)),
        _ => format!("/** Database hostname */\ndefine( 'DB_HOST', {} );\n", php(&host, coin)),
    };
    if one_in(coin, 5) {
        host_lines.insert_str(0, "// define( 'DB_HOST', 'localhost' );\n");
    }
    if one_in(coin, 8) {
        host_lines.insert_str(0, "/*\ndefine( 'DB_HOST', '10.0.0.7:3307' );\n*/\n");
    }
    let lines = vec![
        format!("define( 'DB_NAME', {} );\n", php(&end.database, coin)),
        format!("define( 'DB_USER', {} );\n", php(&end.user, coin)),
        format!("define( 'DB_PASSWORD', {} );\n", php(&end.password, coin)),
        host_lines,
        "define( 'DB_CHARSET', 'utf8mb4' );\ndefine( 'DB_COLLATE', '' );\n".to_owned(),
    ];
    let lines = if one_in(coin, 4) { coin.shuffled(lines) } else { lines };
    let salts = "define( 'AUTH_KEY', 'k#1' );\ndefine( 'NONCE_SALT', '127.0.0.1' );\n";
    let config = format!(
        "<?php\n/**\n * The base configuration for WordPress\n */\n{}{salts}$table_prefix = 'wp_';\ndefine( 'WP_DEBUG', false );\n\n\
         /* That's all, stop editing! Happy publishing. */\nif ( ! defined( 'ABSPATH' ) ) {{\n\tdefine( 'ABSPATH', __DIR__ . '/' );\n}}\n\
         require_once ABSPATH . 'wp-settings.php';\n",
        lines.concat()
    );
    vec![("wp-config.php", with_line_ends(config, coin)), ("wp-settings.php", "<?php\n".to_owned())]
}

/// Makes a `.env` and a `config/database.php`.
pub(super) fn laravel(draw: &Draw, coin: &mut Coin) -> Files {
    let mut pairs = Vec::new();
    let sql = draw.ends.iter().find(|it| it.kind != Kind::Redis);
    let url_name = one_of(coin, &["DB_URL", "DATABASE_URL"]);
    if let Some(end) = sql {
        laravel_sql(end, url_name, &mut pairs, coin);
    }
    if let Some(end) = draw.ends.iter().find(|it| it.kind == Kind::Redis) {
        laravel_redis(end, &mut pairs, coin);
    }
    let noise = [
        ("APP_NAME", "Shop"),
        ("APP_KEY", "base64:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="),
        ("APP_URL", "http://localhost"),
        ("MAIL_HOST", "127.0.0.1"),
        ("MAIL_PORT", "1025"),
    ];
    let default = sql.map_or("none", |it| if it.kind == Kind::Postgres { "pgsql" } else { "mysql" });
    let socket = if one_in(coin, 12) { "" } else { "'unix_socket' => env('DB_SOCKET', ''),\n            " };
    let redis = if draw.ends.iter().any(|it| it.kind == Kind::Redis) {
        "    'redis' => [\n        'client' => env('REDIS_CLIENT', 'phpredis'),\n        'default' => [\n            \
         'url' => env('REDIS_URL'),\n            'host' => env('REDIS_HOST', '127.0.0.1'),\n            \
         'username' => env('REDIS_USERNAME'),\n            'password' => env('REDIS_PASSWORD'),\n            \
         'port' => env('REDIS_PORT', '6379'),\n            'database' => env('REDIS_DB', '0'),\n        ],\n    ],\n"
    } else {
        ""
    };
    let settings = |driver: &str, port: &str, socket: &str| {
        format!(
            "        '{driver}' => [\n            'driver' => '{driver}',\n            'url' => env('{url_name}'),\n            \
             'host' => env('DB_HOST', '127.0.0.1'),\n            'port' => env('DB_PORT', '{port}'),\n            \
             'database' => env('DB_DATABASE', 'laravel'),\n            'username' => env('DB_USERNAME', 'root'),\n            \
             'password' => env('DB_PASSWORD', ''),\n            {socket}'prefix' => '',\n        ],\n"
        )
    };
    let database = format!(
        "<?php\n\nreturn [\n    'default' => env('DB_CONNECTION', '{default}'),\n    'connections' => [\n{}{}    ],\n{redis}];\n",
        settings("mysql", "3306", socket),
        settings("pgsql", "5432", "")
    );
    vec![
        (".env", dotenv(pairs, &noise, coin)),
        ("config/database.php", database),
        ("artisan", "#!/usr/bin/env php\n<?php\n".to_owned()),
        ("composer.json", "{\"require\": {\"php\": \"^8.2\", \"laravel/framework\": \"^11.0\"}}\n".to_owned()),
    ]
}

fn laravel_sql(end: &End, url_name: &'static str, pairs: &mut Vec<(&str, String)>, coin: &mut Coin) {
    let name = if end.kind == Kind::Postgres { "pgsql" } else { "mysql" };
    pairs.push(("DB_CONNECTION", name.to_owned()));
    if one_in(coin, 6) {
        pairs.push((url_name, url(name, end, "", coin)));
        return;
    }
    pairs.push(("DB_HOST", end.host.clone()));
    if !end.is_usual_port() || coin.flip() {
        pairs.push(("DB_PORT", end.port.to_string()));
    }
    pairs.push(("DB_DATABASE", end.database.clone()));
    pairs.push(("DB_USERNAME", end.user.clone()));
    pairs.push(("DB_PASSWORD", end.password.clone()));
    if name == "mysql" && one_in(coin, 6) {
        pairs.push(("DB_SOCKET", String::new()));
    }
}

fn laravel_redis(end: &End, pairs: &mut Vec<(&str, String)>, coin: &mut Coin) {
    if coin.flip() {
        pairs.push(("REDIS_CLIENT", "phpredis".to_owned()));
    }
    if one_in(coin, 6) {
        pairs.push(("REDIS_URL", url("redis", end, "", coin)));
        return;
    }
    pairs.push(("REDIS_HOST", end.host.clone()));
    if !end.user.is_empty() {
        pairs.push(("REDIS_USERNAME", end.user.clone()));
    }
    let password = if end.password.is_empty() { "null".to_owned() } else { end.password.clone() };
    pairs.push(("REDIS_PASSWORD", password));
    if !end.is_usual_port() || coin.flip() {
        pairs.push(("REDIS_PORT", end.port.to_string()));
    }
    if end.database != "0" {
        pairs.push(("REDIS_DB", end.database.clone()));
    }
}

/// Makes a `.env` with `DATABASE_URL`, for Doctrine.
pub(super) fn symfony(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let text = if end.kind == Kind::Postgres {
        let scheme = one_of(coin, &["postgresql", "postgres"]);
        url(scheme, end, "serverVersion=15&charset=utf8", coin)
    } else {
        let scheme = one_of(coin, &["mysql", "mysql", "pdo-mysql"]);
        let query = one_of(coin, &["serverVersion=10.11.2-MariaDB&charset=utf8mb4", "", "charset=utf8mb4"]);
        url(scheme, end, query, coin)
    };
    let noise = [
        ("APP_ENV", "prod"),
        ("APP_SECRET", "0123456789abcdef0123456789abcdef"),
        ("MAILER_DSN", "smtp://localhost:1025"),
        ("DEFAULT_URI", "http://127.0.0.1"),
    ];
    let composer = "{\"require\": {\"symfony/framework-bundle\": \"^6.4\", \"doctrine/doctrine-bundle\": \"^2.12\", \"doctrine/dbal\": \"^3.8\"}}\n";
    vec![
        (".env", dotenv(vec![("DATABASE_URL", text)], &noise, coin)),
        ("config/packages/doctrine.yaml", "doctrine:\n    dbal:\n        url: '%env(DATABASE_URL)%'\n".to_owned()),
        ("composer.json", composer.to_owned()),
        ("symfony.lock", "{}\n".to_owned()),
    ]
}

/// Makes a `config/config.php`.
pub(super) fn nextcloud(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let kind = if end.kind == Kind::Postgres { "pgsql" } else { "mysql" };
    let port = one_of(coin, &["", "  'dbport' => '',\n"]);
    let mut lines = vec![
        "  'instanceid' => 'oc8c0fd71e03',\n".to_owned(),
        "  'trusted_domains' => array ( 0 => 'localhost', 1 => '127.0.0.1' ),\n".to_owned(),
        format!("  'dbtype' => '{kind}',\n  'dbname' => {},\n", php(&end.database, coin)),
        format!("  'dbhost' => {},\n{port}  'dbtableprefix' => 'oc_',\n", php(&place(end, coin), coin)),
        format!("  'dbuser' => {},\n  'dbpassword' => {},\n", php(&end.user, coin), php(&end.password, coin)),
        "  'installed' => true,\n".to_owned(),
    ];
    if let Some(redis) = draw.ends.get(1) {
        lines.push(nextcloud_redis(redis, coin));
    }
    let lines = if one_in(coin, 4) { coin.shuffled(lines) } else { lines };
    let config = if one_in(coin, 4) {
        format!("<?php\n$CONFIG = [\n{}];\n", lines.concat())
    } else {
        format!("<?php\n$CONFIG = array (\n{});\n", lines.concat())
    };
    vec![
        ("config/config.php", with_line_ends(config, coin)),
        ("version.php", "<?php\n$OC_Version = array(29,0,4,1);\n".to_owned()),
        ("occ", "#!/usr/bin/env php\n<?php\n".to_owned()),
    ]
}

fn nextcloud_redis(end: &End, coin: &mut Coin) -> String {
    let mut text = format!(
        "  'memcache.locking' => '\\\\OC\\\\Memcache\\\\Redis',\n  'redis' => array (\n    'host' => {},\n",
        php(&end.host, coin)
    );
    if !end.is_usual_port() || coin.flip() {
        let _ = writeln!(text, "    'port' => {},", end.port);
    }
    if !end.user.is_empty() {
        let _ = writeln!(text, "    'user' => {},", php(&end.user, coin));
    }
    if !end.password.is_empty() {
        let _ = writeln!(text, "    'password' => {},", php(&end.password, coin));
    }
    if end.database != "0" {
        let _ = writeln!(text, "    'dbindex' => {},", end.database);
    }
    text + "  ),\n"
}

/// Makes a `.env` whose variable names do not show which program reads it.
pub(super) fn unknown(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let pairs = vec![
        ("DB_HOST", in_brackets(&end.host)),
        ("DB_PORT", end.port.to_string()),
        ("DB_NAME", end.database.clone()),
        ("DB_USER", end.user.clone()),
        ("DB_PASSWORD", end.password.clone()),
    ];
    let noise = [("LISTEN", "127.0.0.1:8080"), ("DEBUG", "0")];
    vec![(".env", dotenv(pairs, &noise, coin)), ("index.php", "<?php\nrequire 'lib.php';\n".to_owned())]
}
