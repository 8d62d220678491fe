//! How drivers interpret combinations of hosts, ports and sockets. Each rule was tried with the driver itself.

use looptax_advise::app::{Found, Source, read};

use crate::apps::fields;
use crate::collection::claim_of;

fn found_in(path: &str, text: &str, beside: &[&str]) -> Vec<Found> {
    let neighbours: Vec<String> = beside.iter().map(|it| (*it).to_owned()).collect();
    let source = Source {
        path: Some(path),
        bytes: text.as_bytes(),
        included: &[],
        neighbours: &neighbours,
        program: None,
        environment: None,
    };
    read(&source).found
}

/// Compares the claim about the only connection. `fails ` precedes the claim if the connection fails.
#[track_caller]
fn check(path: &str, text: &str, expected: &str) {
    let found = found_in(path, text, &[]);
    let said = |it: &Found| format!("{}{}", if it.fails { "fails " } else { "" }, claim_of(it));
    let all: Vec<String> = found.iter().map(said).collect();
    assert_eq!(all, [expected], "{text}");
}

/// Compares the new lines of the change, without the old lines.
#[track_caller]
fn check_lines(path: &str, text: &str, port: u16, expected: &[&str]) {
    let found = found_in(path, text, &[]);
    let [only] = &*found else { panic!("{found:?}") };
    let mut fields = fields(only.kind);
    if only.kind == "postgres" {
        fields.port = port;
        fields.socket = format!("/run/postgresql/.s.PGSQL.{port}");
    }
    let changes = only.changes(&fields);
    let after = |it: &looptax_model::record::Edit| it.after.clone().unwrap_or_else(|| "-".to_owned());
    let lines: Vec<String> = changes.iter().flat_map(|it| &it.edits).map(after).collect();
    assert_eq!(lines, expected, "{text}");
}

fn django(host: &str, more: &str) -> String {
    format!(
        "DATABASES = {{\n'default': {{\n'ENGINE': 'django.db.backends.{more}\n'HOST': '{host}',\n'USER': 'u', 'PASSWORD': 'p', 'NAME': 'd'\n}}\n}}\n"
    )
}

#[test]
fn the_sockets_file_in_the_place_of_its_folder_reaches_nothing() {
    let text = django("/run/pg/.s.PGSQL.25432", "postgresql', 'PORT': '25432',");
    check("/srv/own/settings.py", &text, "fails postgres unix /run/pg u/d");
    let url = "APP_SECRET=x\nDATABASE_URL=postgresql://u:p@localhost/d?host=/run/pg/.s.PGSQL.25432&port=25432\n";
    check("/srv/own/.env", url, "fails postgres unix /run/pg u/d");
}

#[test]
fn a_socket_beside_an_ip_counts_to_some_drivers_alone() {
    let text = django("127.0.0.1", "mysql', 'OPTIONS': {'unix_socket': '/run/m.sock'},");
    check("/srv/own/settings.py", &text, "mysql tcp 127.0.0.1:3306 u/d");
    for (scheme, takes) in [
        ("mysql", "tcp 127.0.0.1:3306"),
        ("mysql+mysqldb", "tcp 127.0.0.1:3306"),
        ("mysql+pymysql", "unix /run/m.sock"),
        ("mysql+aiomysql", "unix /run/m.sock"),
    ] {
        let text = format!("[alembic]\nsqlalchemy.url = {scheme}://u:p@127.0.0.1/d?unix_socket=/run/m.sock\n");
        check("/srv/own/alembic.ini", &text, &format!("mysql {takes} u/d"));
    }
}

#[test]
fn an_option_file_says_its_protocol() {
    let text =
        |protocol: &str| format!("[client]\nuser = u\npassword = p\n{protocol}\nhost = localhost\nport = 23306\n");
    check("/srv/own/.my.cnf", &text("protocol = tcp"), "mysql tcp localhost:23306 u/-");
    check("/srv/own/.my.cnf", &text("protocol=SOCKET"), "mysql unix - u/-");
    let tcp = "[client]\nuser = u\npassword = p\nhost = 127.0.0.1\nprotocol = TCP\n";
    check_lines("/srv/own/.my.cnf", tcp, 0, &["host = localhost", "socket = /run/mysqld/mysqld.sock", "-"]);
}

#[test]
fn a_path_where_a_host_is_wanted_reaches_nothing() {
    let wordpress = |host: &str| {
        format!(
            "<?php\ndefine('DB_NAME', 'd');\ndefine('DB_USER', 'u');\ndefine('DB_HOST', '{host}');\n$table_prefix = 'wp_';"
        )
    };
    check("/srv/own/wp-config.php", &wordpress("/run/m.sock"), "fails mysql unix /run/m.sock u/d");
    check("/srv/own/wp-config.php", &wordpress("unix:/run/m.sock"), "fails mysql tcp /run/m.sock u/d");
    check("/srv/own/wp-config.php", &wordpress("localhost:23306:/run/m.sock"), "mysql unix /run/m.sock u/d");
    check("/srv/own/wp-config.php", &wordpress("127.0.0.1:23306:/run/m.sock"), "mysql tcp 127.0.0.1:23306 u/d");
    check_lines(
        "/srv/own/wp-config.php",
        &wordpress("/run/m.sock"),
        0,
        &["define('DB_HOST', 'localhost:/run/mysqld/mysqld.sock');"],
    );
    let predis = "APP_KEY=x\nREDIS_CLIENT=predis\nREDIS_HOST=/run/r.sock\n";
    check("/srv/own/.env", predis, "fails redis tcp /run/r.sock -/-");
}

#[test]
fn nextcloud_has_its_port_in_the_host_alone() {
    let text = |kind: &str, host: &str| {
        format!(
            "<?php\n$CONFIG = array (\n'dbtype' => '{kind}',\n'dbname' => 'd',\n'dbhost' => '{host}',\n'dbport' => '23306',\n'dbuser' => 'u',\n'dbpassword' => 'p',\n);\n"
        )
    };
    let path = "/srv/own/config/config.php";
    check(path, &text("mysql", "127.0.0.1"), "mysql tcp 127.0.0.1:3306 u/d");
    check(path, &text("pgsql", "127.0.0.1:25432"), "postgres tcp 127.0.0.1:25432 u/d");
    check(path, &text("pgsql", "/run/pg:25432"), "postgres unix /run/pg u/d");
    check_lines(path, &text("pgsql", "127.0.0.1:25432"), 25_432, &["'dbhost' => '/run/postgresql:25432',"]);
    check_lines(path, &text("pgsql", "127.0.0.1"), 5432, &["'dbhost' => '/run/postgresql',"]);
}

#[test]
fn libpqs_address_wins_over_its_host_and_lists_are_tried_in_turn() {
    let text = |host: &str, more: &str| format!("PGHOST={host}\nPGPORT=25432\nPGUSER=u\nPGDATABASE=d\n{more}");
    let addressed = text("/run/pg", "PGHOSTADDR=127.0.0.1\n");
    check("/srv/own/.env", &addressed, "postgres tcp 127.0.0.1:25432 u/d");
    check_lines("/srv/own/.env", &addressed, 25_432, &["PGHOST=/run/postgresql", "-"]);
    check("/srv/own/.env", &text("/no/folder,127.0.0.1", ""), "postgres open");
    check("/srv/own/.env", &text("/run/a,/run/b", ""), "postgres unix /run/a u/d");
    check("/srv/own/.env", &text("@pg", ""), "postgres unix @pg u/d");
}

#[test]
fn names_that_many_programs_have_make_no_application() {
    let text = "DB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT=3306\nDB_DATABASE=d\nDB_USERNAME=u\nDB_PASSWORD=p\n";
    let found = found_in("/srv/own/.env", text, &[]);
    assert!(found.iter().all(|it| it.is_guessed) && found.len() == 1, "{found:?}");
    let found = found_in("/srv/own/.env", text, &["artisan"]);
    assert_eq!(found[0].titles, ["Laravel"]);
    assert!(!found[0].is_guessed);
}

#[test]
fn what_is_switched_off_or_filled_in_later_is_no_connection() {
    for text in [
        "mysql:\n  enabled: false\n  host: 127.0.0.1\n  port: 3306\n  user: u\n  password: p\n",
        "storage-method: h2\ndata:\n  address: 127.0.0.1:3306\n  database: d\n  username: u\n  password: p\n",
    ] {
        assert!(found_in("/srv/own/config.yml", text, &[]).is_empty(), "{text}");
    }
    check(
        "/srv/own/wp-config.php",
        "<?php\ndefine('DB_HOST', '__DB_HOST__');\ndefine('DB_NAME', 'd');\n$table_prefix='a';",
        "mysql open",
    );
    check(
        "/srv/own/wp-config.php",
        "<?php\ndefine('DB_HOST', '$(DB_HOST)');\ndefine('DB_NAME', 'd');\n$table_prefix='a';",
        "mysql open",
    );
}

#[test]
fn a_connection_that_two_patterns_find_is_said_once() {
    let text = "broker_url = 'redis://:p@127.0.0.1:26379/1'\nresult_backend = 'redis://:p@127.0.0.1:26379/2'\n";
    let found = found_in("/srv/own/celeryconfig.py", text, &[]);
    let titles: Vec<&[String]> = found.iter().map(|it| &*it.titles).collect();
    assert_eq!(titles, [["Celery (broker)"], ["Celery (results)"]]);
    assert!(found.iter().all(|it| it.changes(&fields("redis")).len() == 1));
}

#[test]
fn the_password_that_is_not_shown_looks_like_none() {
    let text = "LOCAL_DOMAIN=a\nREDIS_HOST=127.0.0.1\nREDIS_PASSWORD=p\n";
    let found = found_in("/srv/own/.env.production", text, &[]);
    let mut fields = fields("redis");
    fields.password = Some("****".to_owned());
    let changes = found[0].changes(&fields);
    let lines: Vec<&String> = changes[0].edits.iter().filter_map(|it| it.after.as_ref()).collect();
    assert!(lines.iter().any(|it| it.contains(":****@")), "{lines:?}");
}

#[test]
fn what_would_lose_a_server_or_miss_the_socket_is_not_written() {
    let writes = |path: &str, text: &str, socket: &str| {
        let found = found_in(path, text, &[]);
        let mut fields = fields(found[0].kind);
        fields.socket = socket.to_owned();
        found[0].rewrites(&fields, text).iter().any(Option::is_some)
    };
    let sessions = |servers: &str| format!("session.save_handler = memcached\nsession.save_path = \"{servers}\"\n");
    assert!(writes("/etc/php/8.2/fpm/php.ini", &sessions("127.0.0.1:11211"), "/run/m.sock"));
    assert!(!writes("/etc/php/8.2/fpm/php.ini", &sessions("127.0.0.1:11211,10.0.0.2:11211"), "/run/m.sock"));
    let shop = "<?php return ['parameters' => [\n'database_host' => '127.0.0.1',\n'database_port' => '',\n'database_name' => 'd',\n'database_user' => 'u',\n'database_password' => 'p',\n]];\n";
    assert!(writes("/srv/own/app/config/parameters.php", shop, "/run/mysqld/mysqld.sock"));
    assert!(!writes("/srv/own/app/config/parameters.php", shop, "/run/own.sock"));
}

#[test]
fn the_rest_of_a_query_comes_behind_what_is_there() {
    let after = |text: &str| {
        let found = found_in("/srv/own/.env", text, &["go.mod"]);
        let mut fields = fields(found[0].kind);
        fields.socket = "/run/m.sock".to_owned();
        fields.password = Some("x?y".to_owned());
        let rewrites = found[0].rewrites(&fields, text).swap_remove(0).unwrap();
        looptax_advise::app::rewritten(text, &rewrites).unwrap()
    };
    let go = "DSN='u:x?y@tcp(127.0.0.1:3306)/d?parseTime=true&loc=UTC'\n";
    assert_eq!(after(go), "DSN='u:x?y@unix(/run/m.sock)/0?parseTime=true&loc=UTC'\n");
    let url = "SQLALCHEMY_DATABASE_URI=mysql+pymysql://u:p@127.0.0.1/d?a=(b)&c=d\n";
    let new = after(url);
    assert!(new.contains("?unix_socket=/run/m.sock&a=(b)&c=d"), "{new}");
}

#[test]
fn gitea_has_its_redis_in_three_places() {
    let text = "APP_NAME = F\n[database]\nDB_TYPE = postgres\nHOST = 127.0.0.1:25432\nNAME = d\nUSER = u\nPASSWD = p\n\
                [cache]\nADAPTER = redis\nHOST = redis://:p@127.0.0.1:26379/0?pool_size=100\n\
                [session]\nPROVIDER_CONFIG = network=tcp,addr=127.0.0.1:26379,password=p,db=0,pool_size=100\n";
    let found = found_in("/srv/own/app.ini", text, &[]);
    let said: Vec<String> = found.iter().map(claim_of).collect();
    assert_eq!(
        said,
        ["postgres tcp 127.0.0.1:25432 u/d", "redis tcp 127.0.0.1:26379 -/0", "redis tcp 127.0.0.1:26379 -/0"]
    );
    let mut fields = fields("redis");
    fields.socket = "/run/r.sock".to_owned();
    let line = |at: usize| found[at].changes(&fields)[0].edits[0].after.clone().unwrap();
    assert_eq!(line(1), "HOST = redis+socket://:p@/run/r.sock?db=0&pool_size=100");
    assert_eq!(line(2), "PROVIDER_CONFIG = redis+socket://:p@/run/r.sock?db=0&pool_size=100");
}

#[test]
fn what_the_project_uses_tells_whose_a_common_name_is() {
    let titles = |text: &str, beside: &[&str]| {
        let found = found_in("/srv/own/.env", text, beside);
        found.iter().flat_map(|it| it.titles.clone()).collect::<Vec<_>>()
    };
    let url = "DATABASE_URL=postgres://u:p@127.0.0.1:5432/d\n";
    assert!(titles(url, &["package.json", "Gemfile"]).len() > 1, "no library is named");
    assert_eq!(titles(url, &["package.json", "library:npm/pg"]), ["Node (pg)"]);
    assert_eq!(titles(url, &["Gemfile", "library:gem/rails", "library:gem/pg"]), ["Rails"]);
    assert_eq!(titles(url, &["library:go/github.com/jackc/pgx"]), ["Go (pgx, lib/pq)"]);
    assert_eq!(titles(url, &["manage.py", "library:pip/django-environ"]), ["Django (django-environ)"]);
    assert_eq!(titles(url, &["library:pip/psycopg2-binary"]), ["Python (psycopg)"]);
    assert_eq!(titles("REDIS_URL=redis://127.0.0.1\n", &["library:pip/redis"]), ["Python (redis-py)"]);
    let with_orm = titles(url, &["library:npm/pg", "library:npm/typeorm"]);
    assert!(!with_orm.contains(&"Node (pg)".to_owned()), "{with_orm:?}");
}

#[test]
fn what_libpq_is_told_to_insist_on_belongs_to_the_connection_beside_it() {
    #[track_caller]
    fn check_conditions(path: &str, text: &str, expected: &[&[&str]]) {
        let found = found_in(path, text, &[]);
        let written = |it: &Found| -> Vec<String> {
            let address = it.address.as_ref().unwrap();
            address.conditions.iter().map(|it| it.written.clone()).collect()
        };
        assert_eq!(found.iter().map(written).collect::<Vec<_>>(), expected, "{text}");
    }
    let services = "[a]\nhost=127.0.0.1\nchannel_binding=require\n[b]\nhost=127.0.0.1\nchannel_binding=prefer\n";
    check_conditions("/srv/x/.pg_service.conf", services, &[&["channel_binding=require"], &[]]);
    let variables = "PGHOST=127.0.0.1\nPGUSER=u\nPGREQUIREPEER=root\n";
    check_conditions("/srv/x/.env", variables, &[&["PGREQUIREPEER=root"]]);
    let url = "DATABASE_URL=postgres://u:p@127.0.0.1/d?gssencmode=require&sslmode=require\n";
    check_conditions("/srv/x/.env", url, &[&["gssencmode=require"]]);
    let django = "DATABASES = {'default': {'ENGINE': 'django.db.backends.postgresql', 'NAME': 'd', 'USER': 'u',\n  'HOST': '127.0.0.1', 'OPTIONS': {'require_auth': '!none', 'sslmode': 'disable'}}}\n";
    check_conditions("/srv/x/settings.py", django, &[&["require_auth=!none"]]);
}

#[test]
fn a_plan_to_write_has_words_about_this_application_alone() {
    #[track_caller]
    fn check(path: &str, text: &str, beside: &[&str], application: &str, expected: &[&str]) {
        let found = found_in(path, text, beside);
        let own: Vec<_> = found.iter().filter(|it| it.titles.iter().any(|title| title == application)).collect();
        let changes = own[0].changes_to_write(&fields(own[0].kind));
        let change = changes.iter().find(|it| it.title == application).unwrap();
        let told: Vec<&str> = change.traps.iter().chain([&change.advice]).map(|it| &**it).collect();
        assert_eq!(told.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>(), expected);
        // A person who writes the lines by hand also gets the general advice.
        let all = own[0].changes(&fields(own[0].kind));
        let all = all.iter().find(|it| it.title == application).unwrap();
        assert!(change.traps.iter().all(|it| all.traps.contains(it)) && all.traps.len() >= change.traps.len());
    }
    let redis = "REDIS_URL=redis://127.0.0.1:6379/3\n";
    check("/srv/own/.env", redis, &["library:gem/sidekiq"], "Sidekiq", &[]);
    let provider = redis.to_owned() + "REDIS_PROVIDER=REDIS_URL\n";
    check("/srv/own/.env", &provider, &["library:gem/sidekiq"], "Sidekiq", &["REDIS_PROVIDER names another variable"]);
    let blocks = "config/initializers/sidekiq.rb:configure_server";
    let words = "client and server blocks open separate connections";
    check("/srv/own/.env", redis, &["library:gem/sidekiq", blocks], "Sidekiq", &[words]);

    let laravel = "APP_KEY=x\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT=3306\nDB_DATABASE=d\nDB_USERNAME=u\nDB_PASSWORD=p\n";
    let has_key = "config/database.php must contain 'unix_socket' => env('DB_SOCKET', '')";
    check("/srv/own/.env", laravel, &["artisan"], "Laravel", &[has_key]);
    check("/srv/own/.env", laravel, &["artisan", "config/database.php:DB_SOCKET"], "Laravel", &[]);
}

#[test]
fn servers_beside_the_first_of_a_session_path_stay() {
    let pool = "[www]\nphp_value[session.save_handler] = redis\nphp_value[session.save_path] = ";
    let several = "\"tcp://127.0.0.1:6379?weight=1&auth=a, tcp://10.0.0.2:6379?weight=2&auth=b\"";
    let path = "/etc/php/8.2/fpm/pool.d/www.conf";
    let line = "php_value[session.save_path] = \"unix:///run/redis/redis-server.sock?weight=1&auth=****, tcp://10.0.0.2:6379?weight=2&auth=****\"";
    check_lines(path, &format!("{pool}{several}\n"), 6379, &[line]);
    let text = format!("{pool}{several}\n");
    let found = found_in(path, &text, &[]);
    let mut fields = fields("redis");
    fields.password = Some("a".to_owned());
    let [Some(rewrites)] = &found[0].rewrites(&fields, &text)[..] else { panic!("{found:?}") };
    let [only] = &rewrites[..] else { panic!("{rewrites:?}") };
    let written = "unix:///run/redis/redis-server.sock?weight=1&auth=a, tcp://10.0.0.2:6379?weight=2&auth=b";
    assert!(only.text.contains(written), "{}", only.text);
}
