//! `looptax dsn`: connection strings for drivers.

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{Server, exe};

#[track_caller]
fn said(args: &[&str]) -> String {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["dsn"]).args(args.iter().copied()).run();
    run.expect_code(0);
    run.stdout.clone()
}

#[test]
fn one_driver_gets_its_own_words_and_no_password_unless_asked() {
    let url = "mysql://app:s%40cret@127.0.0.1/shop";
    let args = ["--socket", "/run/mysqld/mysqld.sock", "--for", "go-sql-driver"];
    let hidden = said(&[&[url], &args[..]].concat());
    assert!(hidden.contains("app:****@unix(/run/mysqld/mysqld.sock)/shop"), "{hidden}");
    assert!(!hidden.contains("cret"), "{hidden}");
    let shown = said(&[&[url, "--show-password"], &args[..]].concat());
    assert!(shown.contains("app:s@cret@unix(/run/mysqld/mysqld.sock)/shop"), "{shown}");
}

#[test]
fn a_language_means_all_of_its_drivers_and_all_means_every_one() {
    let url = "postgres://app@127.0.0.1/shop";
    let socket = ["--socket", "/run/postgresql"];
    let python = said(&[&[url, "--for", "python"], &socket[..]].concat());
    for name in ["psycopg", "asyncpg", "sqlalchemy", "django"] {
        assert!(python.contains(&format!("{name} (Python)")), "{python}");
    }
    assert!(!python.contains("pgx"), "{python}");
    assert!(said(&[&[url], &socket[..]].concat()).contains("pgx (Go)"));
}

#[test]
fn parameters_that_a_text_does_not_repeat_are_named() {
    let told = |url: &str, driver: &str| said(&[url, "--for", driver, "--socket", "/run/s.sock"]);
    let left = told("mysql://app@127.0.0.1/shop?charset=utf8mb4&ssl=0", "sqlalchemy");
    assert!(
        left.contains("beware: left out of this text: `charset`, `ssl=0`; if you need these parameters, write them"),
        "{left}"
    );
    let left = told("postgres://app@127.0.0.1/shop?options=-cx%3Dy&pass%20word=1", "libpq");
    assert!(left.contains("left out of this text: `options`, a parameter that is not shown"), "{left}");
    let left = told("postgres://app@127.0.0.1/shop?channel_binding=require", "libpq");
    let words = "left out of this text: `channel_binding=require`; with these parameters libpq may refuse the socket";
    assert!(left.contains(words), "{left}");
    assert!(!left.contains("if you need these parameters"), "{left}");
    let whole = told("redis://app@127.0.0.1/2", "redis-py");
    assert!(!whole.contains("left out"), "{whole}");
}

#[test]
fn what_a_text_has_no_way_to_hold_is_told_and_the_hidden_password_counts_too() {
    let socket = ["--socket", "/run/s.sock"];
    let colon = ["mysql://a%3Ab@127.0.0.1/shop", "--for", "go-sql-driver"];
    let told = said(&[&colon[..], &socket[..]].concat());
    assert!(told.contains("does not work here: a user name with :"), "{told}");
    let plain = ["mysql://ab@127.0.0.1/shop", "--for", "go-sql-driver"];
    let told = said(&[&plain[..], &socket[..]].concat());
    assert!(!told.contains("does not work"), "{told}");
    let letters = ["mysql://a:%C3%BC@127.0.0.1/shop", "--for", "sqlalchemy"];
    let told = said(&[&letters[..], &socket[..]].concat());
    assert!(told.contains("encodes a password in the URL as Latin-1"), "{told}");
    assert!(!told.contains(['ü']) && !told.contains("%C3"), "{told}");
}

#[test]
fn each_entry_says_whether_a_driver_has_proved_it() {
    let of = |name| {
        let url = "mysql://ab@127.0.0.1/shop";
        said(&[url, "--for", name, "--socket", "/run/s.sock"])
    };
    assert!(of("pymysql").contains("  proved with PyMySQL "));
    assert!(of("nextcloud").contains("  not proved: "));
    let json = said(&["redis://h", "--for", "redis-py", "--socket", "/s", "--json"]);
    let entries: serde_json::Value = serde_json::from_str(&json).unwrap();
    crate::record::check_fits("dsn", &entries);
    assert_eq!(entries[0]["proved"]["driver"].as_str().map(|it| &it[..6]), Some("redis "));
    assert_eq!(entries[0]["cannot"], serde_json::json!([]));
}

#[test]
fn explain_says_which_transport_localhost_is_for_whom() {
    let text = said(&["mysql://u@localhost/db", "--explain", "--socket", "/s"]);
    let line = |name: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    assert!(line("mysqli (PHP)").contains("the socket"), "{text}");
    assert!(line("pymysql (Python)").contains("TCP"), "{text}");
}

#[test]
fn the_running_server_is_asked_for_its_socket_by_its_port() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let text = said(&[&format!("redis://{}", server.it.tcp), "--for", "go-redis"]);
    assert!(text.contains(&server.socket()), "{text}");
    assert!(text.contains(&format!("pid {}", server.it.pid)), "{text}");
}

#[test]
fn what_cannot_be_read_is_refused_without_its_password() {
    let scratch = Scratch::new();
    for (args, words) in [
        (vec!["mysql://u:topsecret@h:port/d"], "the URL is invalid"),
        (vec!["oracle://u:topsecret@h/d"], "is not a database that looptax knows"),
        (vec!["mysq://u:topsecret@h/d"], "did you mean mysql://?"),
        (vec!["mysql://u:topsecret@h/d", "--for", "cobol"], "looptax does not know `cobol`"),
    ] {
        let run = Looptax::new(exe(), &scratch).args(["dsn"]).args(args).run();
        run.expect_error(2, &[words]);
        assert!(!format!("{}{}", run.stdout, run.stderr).contains("topsecret"));
    }
}

#[test]
fn another_machine_is_told_and_stars_stay_stars() {
    let scratch = Scratch::new();
    let run = |url: &str| Looptax::new(exe(), &scratch).args(["dsn", url, "--for", "SQLAlchemy"]).run();
    let far = run("mysql://u:pw@203.0.113.9/d");
    assert!(far.stdout.contains("is not this machine"), "{}", far.stdout);
    let near = run("mysql://u:pw@127.0.0.1/d");
    assert!(near.stdout.contains(":****@"), "{}", near.stdout);
    assert!(!near.stdout.contains("%2A"), "{}", near.stdout);
}

#[test]
fn the_web_stack_is_spelled_and_servers_are_that_looptax_does_not_speak_to() {
    let php = said(&["fastcgi://127.0.0.1:9000", "--socket", "/run/php.sock"]);
    assert!(php.contains("fastcgi_pass unix:/run/php.sock;"), "{php}");
    assert!(php.contains("  proved with nginx "), "{php}");
    let page = said(&["http://127.0.0.1:8000/x", "--socket", "/run/app.sock"]);
    assert!(page.contains("reverse_proxy unix//run/app.sock"), "{page}");
    let url = ["mongodb://app:s%40cret@127.0.0.1/shop", "--for", "python"];
    let hidden = said(&url);
    let text = "MongoClient('mongodb://app:****@%2Ftmp%2Fmongodb-27017.sock/shop')";
    assert!(hidden.contains(text), "{hidden}");
    assert!(!hidden.contains("cret"), "{hidden}");
    let shown = said(&[&url[..], &["--show-password", "--socket", "/m.sock"]].concat());
    assert!(shown.contains("mongodb://app:s%40cret@%2Fm.sock/shop"), "{shown}");
    let set = "mongodb://app:s%40cret@127.0.0.1,b/shop?authSource=admin&replicaSet=rs&tls=true&proxyPassword=hush";
    let of_a_set = said(&[set, "--for", "python"]);
    let text = "27017.sock/shop?authSource=admin&proxyPassword=****&directConnection=true')";
    assert!(of_a_set.contains(text), "{of_a_set}");
    for words in ["beware: directConnection=true replaces replicaSet", "beware: left out: tls;"] {
        assert!(of_a_set.contains(words), "{of_a_set}");
    }
    assert!(!of_a_set.contains("hush") && !of_a_set.contains(": add direct"), "{of_a_set}");
    let explained = said(&["uwsgi://localhost:3031", "--explain"]);
    assert!(explained.contains("nginx (proxy)"), "{explained}");
}

#[test]
fn a_socket_of_the_web_stack_is_taken_from_the_url_itself() {
    let php = said(&["fastcgi:///tmp/x/www.sock", "--for", "nginx"]);
    assert!(php.contains("fastcgi_pass unix:/tmp/x/www.sock;"), "{php}");
    let url = "http://unix:/run/py.sock:/app/";
    let page = said(&[url, "--for", "nginx"]);
    let line = format!("proxy_pass {url};");
    assert!(page.contains(&line), "{page}");
}

#[test]
fn a_page_is_kept_where_the_text_holds_one_and_told_where_it_does_not() {
    let of = |url: &str, name| said(&[url, "--for", name, "--socket", "/s"]);
    for (page, name, expected) in [
        ("/app/", "nginx", "proxy_pass http://unix:/s:/app/;"),
        ("/", "nginx", "proxy_pass http://unix:/s:;"),
        ("/app/", "apache", "\"unix:/s|http://localhost/app/\""),
        ("/app/", "caddy", "does not work here: reverse_proxy accepts no path"),
        ("/app/", "haproxy", "does not work here: a server line accepts no path"),
    ] {
        let told = of(&format!("http://127.0.0.1:8000{page}"), name);
        assert!(told.contains(expected), "{told}");
        let warns = expected.contains("does not work");
        assert_eq!(told.contains("does not work"), warns, "{told}");
    }
}

#[test]
fn piped_text_is_not_wrapped_unless_columns_is_set() {
    let longest = |columns: &str| {
        let scratch = Scratch::new();
        let run = Looptax::new(exe(), &scratch).args(["dsn", "mysql://app@localhost/d", "--explain"]);
        let run = run.env("COLUMNS", columns).run();
        run.expect_code(0);
        run.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    assert!(longest("80") <= 80);
    assert!(longest("") > 120);
}
