//! looptax never reports a setting as certain that the file does not decide, and never changes it.

use looptax_advise::Takes;
use looptax_advise::app::{Found, Included, Source, included, read};

use crate::apps::{fields, reading};

/// Checks that looptax does not know the transport of the connection at `path`, gives a reason, and changes no bytes.
#[track_caller]
fn check_open(path: &str, text: &str, why: &str) {
    let reading = reading(path, text.as_bytes());
    assert!(!reading.found.is_empty(), "nothing found in\n{text}");
    for found in &reading.found {
        assert_eq!(found.takes, None, "{found:?}");
        assert!(found.why.contains(why), "{} in\n{text}", found.why);
        let rewrites = found.rewrites(&fields(found.kind), text);
        assert!(rewrites.iter().all(Option::is_none), "{rewrites:?}");
    }
}

#[track_caller]
fn check_certain(path: &str, text: &str) {
    let reading = reading(path, text.as_bytes());
    let takes: Vec<Option<Takes>> = reading.found.iter().map(|it| it.takes).collect();
    assert_eq!(takes, [Some(Takes::Tcp)], "{:?} in\n{text}", reading.found);
}

#[test]
fn what_php_sets_under_a_condition_in_a_function_or_a_loop_is_open() {
    let condition = "set under a condition";
    for (text, why) in [
        ("if (A) { define('DB_HOST', '127.0.0.1'); } else { define('DB_HOST', 'localhost'); }", condition),
        ("if (A):\n define('DB_HOST', '127.0.0.1');\nelse:\n define('DB_HOST', 'db');\nendif;", condition),
        ("if (A) define('DB_HOST', '127.0.0.1');", condition),
        ("if (!A) { if (B) { } define('DB_HOST', '127.0.0.1'); }", condition),
        ("if (A): if (B): endif; define('DB_HOST', '127.0.0.1'); endif;", condition),
        ("defined('DB_HOST') or define('DB_HOST', '127.0.0.1');", condition),
        ("defined('DB_HOST') || define('DB_HOST', '127.0.0.1');", condition),
        ("switch (A) { case 1: define('DB_HOST', '127.0.0.1'); }", condition),
        ("foreach ($x as $y) { define('DB_HOST', '127.0.0.1'); }", "set in a loop"),
        ("function set_up() { define('DB_HOST', '127.0.0.1'); }", "set in a function"),
        ("define_once('DB_HOST', '127.0.0.1');", "passed to define_once()"),
        ("define('DB_HOST', '127.0.0.1');\ndefine('DB_HOST', 'db');", "set in line 2 and again in line 3"),
        ("define('DB_HOST', A ? '127.0.0.1' : 'localhost');", "an expression"),
        ("define('DB_HOST', getenv('X') ? getenv('X') : '127.0.0.1');", "an expression"),
        ("define('DB_HOST', getenv('X') ?: '127.0.0.1');", "the environment variable X"),
        ("include 'local.php'; define('DB_HOST', '127.0.0.1');", "perhaps also set by 'local.php'"),
    ] {
        check_open("wp-config.php", &format!("<?php\n{text}"), why);
    }
}

#[test]
fn what_another_file_may_set_again_is_open_and_an_applications_own_files_set_nothing() {
    let drupal = "$databases['default']['default'] = ['driver' => 'mysql', 'host' => '127.0.0.1'];";
    check_open(
        "/srv/sites/default/settings.php",
        &format!("<?php\n{drupal}\nif (file_exists('x')) {{ include 'settings.local.php'; }}"),
        "also set by 'settings.local.php', which is read after this setting",
    );
    check_certain("/srv/sites/default/settings.php", &format!("<?php\ninclude 'before.php';\n{drupal}"));
    check_certain(
        "wp-config.php",
        "<?php if (!defined('A')) { define('A', 1); }\ndefine('DB_HOST', '127.0.0.1');\nrequire_once ABSPATH . 'wp-settings.php';",
    );
    let django = "DATABASES = {'default': {'ENGINE': 'x.mysql', 'HOST': '127.0.0.1'}}\n";
    check_certain("settings.py", &format!("from base import *\n{django}"));
    check_open("settings.py", &format!("{django}from local import *\n"), "local import *");
}

#[test]
fn a_file_that_is_read_besides_and_sets_something_else_leaves_no_doubt() {
    let main = "<?php\n$databases['default']['default'] = ['driver' => 'mysql', 'host' => '127.0.0.1'];\ninclude __DIR__ . '/more.php';";
    let path = "/srv/sites/default/settings.php";
    let doubt = |text: &str| {
        let files = included(path, main, &[]);
        assert_eq!(files[0].1, "more.php");
        let more = [Included { words: files[0].0.clone(), text: text.to_owned() }];
        let reading = read(&Source {
            included: &more,
            path: Some(path),
            bytes: main.as_bytes(),
            neighbours: &[],
            program: None,
            environment: None,
        });
        reading.found[0].takes.is_none().then(|| reading.found[0].why.clone())
    };
    assert_eq!(doubt("<?php $settings['x'] = 1;"), None);
    let sure = doubt("<?php $databases['default']['default'] = ['driver' => 'mysql', 'host' => 'db'];");
    let sure = sure.unwrap();
    assert!(sure.contains("also set by __DIR__ . '/more.php'") && !sure.contains("perhaps"), "{sure}");
    for text in ["<?php $databases = [];", "<?php include 'third.php';", "<?php extract($_GET);"] {
        assert!(doubt(text).is_some(), "{text}");
    }
}

#[test]
fn branches_of_python_ruby_javascript_and_shells_are_open() {
    let condition = "set under a condition";
    let host = "DATABASES = {'default': {'ENGINE': 'x.mysql',\n 'HOST': '127.0.0.1'}}\n";
    check_certain("settings.py", &format!("if A:\n    B = 1\n{host}"));
    check_open("settings.py", &format!("if A:\n    {host}"), condition);
    check_open("settings.py", &format!("if A: {host}"), condition);
    check_open("settings.py", &format!("try:\n    import x\nexcept E:\n    {host}"), condition);
    check_open("settings.py", &format!("{host}if A:\n    DATABASES['default']['HOST'] = 'db'\n"), "set");
    let gitlab = "postgresql['enable'] = false\ngitlab_rails['db_host'] = '127.0.0.1'";
    check_certain("/etc/gitlab/gitlab.rb", &format!("if a\n  b = 1\nend\n{gitlab}\n"));
    check_open("/etc/gitlab/gitlab.rb", &format!("{gitlab} if production\n"), condition);
    check_open("/etc/gitlab/gitlab.rb", &format!("unless a\n  {gitlab}\nend\n"), condition);
    let node = "c = mysql.createConnection({port: 3306, host: '127.0.0.1'})";
    check_certain("/srv/db.js", &format!("if (a) {{ b = 1 }}\n{node}"));
    check_open("/srv/db.js", &format!("if (a) {{ {node} }}"), condition);
    check_open(
        "/srv/db.js",
        "c = mysql.createConnection({port: 3306, host: process.env.H || '127.0.0.1'})",
        "the environment variable H",
    );
    check_open("/srv/.env", "if [ -e x ]; then\n  PGHOST=127.0.0.1\nfi\n", condition);
    check_open("/srv/.env", "PGHOST=127.0.0.1\nPGHOST=db\n", "again in line 2");
    check_open("/srv/.env", "PGHOST=$OTHER\n", "the environment variable OTHER");
    check_open("/srv/.env", "PGHOST={{ db_host }}\n", "an expression");
    let rails = "production:\n  adapter: mysql2\n";
    let branch = "<% if a %>\n  host: 127.0.0.1\n<% else %>\n  host: db\n<% end %>\n";
    check_open("/srv/config/database.yml", &format!("{rails}{branch}"), condition);
    check_certain("/srv/config/database.yml", &format!("{rails}<% require 'x' %>\n  host: 127.0.0.1\n"));
}

#[test]
fn a_kind_of_server_that_is_not_stated_is_not_assumed() {
    for (path, text) in [
        ("/srv/.env", "DB_HOST=127.0.0.1\nDB_USERNAME=u\n"),
        ("/etc/zabbix/zabbix_server.conf", "DBHost=127.0.0.1\n"),
        ("/srv/config.php", "<?php\n$dbhost = '127.0.0.1';\n"),
        ("/srv/appsettings.json", r#"{"ConnectionStrings": {"a": "Server=127.0.0.1;Database=d"}}"#),
        ("/srv/settings.py", "DATABASES = {'default': dj_database_url.config()}\n"),
    ] {
        let found: Vec<Found> = reading(path, text.as_bytes()).found;
        let kinds: Vec<&str> = found.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, ["unknown"], "{path}: {found:?}");
        assert_eq!(found[0].takes, None, "{found:?}");
    }
}

#[test]
fn an_environment_that_is_known_settles_what_a_file_leaves_to_it() {
    let environment = [("PATH".to_owned(), "/bin".to_owned())].into();
    let reading = read(&Source {
        path: Some("wp-config.php"),
        bytes: b"<?php define('DB_HOST', getenv('X') ?: '127.0.0.1');",
        included: &[],
        neighbours: &[],
        program: None,
        environment: Some(&environment),
    });
    assert_eq!(reading.found[0].takes, Some(Takes::Tcp));
}

#[test]
fn sqlite_is_an_answer_of_its_own() {
    for (path, text, line) in [
        ("/srv/.env", "APP_KEY=x\nDB_CONNECTION=sqlite\n", 2),
        ("/srv/.env", "DATABASE_URL=sqlite:///var/a.db\n", 1),
        ("/srv/config/database.yml", "production:\n  adapter: sqlite3\n  database: a.db\n", 2),
        ("/srv/settings.py", "DATABASES = {'default': {\n'ENGINE': 'django.db.backends.sqlite3'}}\n", 2),
        ("/srv/homeserver.yaml", "database:\n  name: sqlite3\n", 2),
        ("/srv/application.properties", "spring.datasource.url=jdbc:sqlite:a.db\n", 1),
        ("/srv/nextcloud/config/config.php", "<?php\n$CONFIG = ['dbtype' => 'sqlite3'];\n", 2),
    ] {
        let reading = reading(path, text.as_bytes());
        assert_eq!(reading.sqlite, [line], "{path}: {reading:?}");
        assert!(reading.found.is_empty(), "{:?}", reading.found);
    }
    let wordpress = reading("wp-config.php", b"<?php define('DB_HOST', 'localhost');");
    assert!(wordpress.sqlite.is_empty());
}
