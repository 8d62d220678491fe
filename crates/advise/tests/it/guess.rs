//! Files of applications that are not in the table, and files with other names.

use looptax_advise::Takes;
use looptax_advise::app::{Source, names, read_as, read_services};

use crate::apps::{fields, reading};

/// Compares `kind transport label` of each connection. All of them have to be found by their keys, and looptax must not
/// change them.
#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    let reading = reading(path, text.as_bytes());
    let mut found = Vec::new();
    for it in &reading.found {
        let takes = match it.takes {
            Some(Takes::Unix) => "unix",
            Some(_) => "tcp",
            None => "open",
        };
        found.push(format!("{} {takes} {}", it.kind, it.label).trim_end().to_owned());
        assert!(it.is_guessed && it.why.contains("does not know the application"), "{it:?}");
        let rewrites = it.rewrites(&fields(it.kind), text);
        assert!(rewrites.iter().all(Option::is_none), "{rewrites:?}");
    }
    assert_eq!(found, expected, "{path}\n{text}");
}

#[test]
fn connections_are_found_by_their_keys_in_every_format() {
    check(
        "/etc/own/own.ini",
        "[smtp]\nhost = mail\n[db]\ndriver = pgsql\nhost = 127.0.0.1\nuser = u\n",
        &["postgres tcp db"],
    );
    check("/etc/own.toml", "[database]\nurl = \"postgres://u:p@127.0.0.1/d\"\n", &["postgres tcp database.url"]);
    check("/etc/own.yml", "redis:\n  host: 127.0.0.1\n  port: 6379\nweb:\n  host: x\n", &["redis tcp redis"]);
    check("/etc/own.json", r#"{"mysql": {"host": "127.0.0.1", "user": "u"}}"#, &["mysql tcp mysql"]);
    check("/etc/own.json", r#"{"mysql": {"host": "localhost", "user": "u"}}"#, &["mysql open mysql"]);
    check("/etc/own.xml", "<c><db><url>postgresql://u@127.0.0.1/d</url></db></c>", &["postgres tcp c.db.url"]);
    check("/srv/own.php", "<?php\n$dbHost = '127.0.0.1';\n$dbPort = 5432;\n", &["postgres tcp db"]);
    check("/srv/own.php", "<?php return ['dsn' => 'mysql:host=localhost;dbname=d'];", &["mysql unix dsn"]);
    check("/srv/own.properties", "my.db.host=127.0.0.1\nmy.db.user=u\n", &["unknown open my_db"]);
    check("/etc/own", "PAPERLESS_DBHOST=127.0.0.1\nPAPERLESS_DBPORT=5432\n", &["postgres tcp paperless_db"]);
    check(
        "/srv/docker-compose.yml",
        "services:\n  a:\n    environment:\n      OUTLINE_DATABASE_URL: postgres://u:p@127.0.0.1/d\n      X_DB_HOST: db\n",
        &["postgres tcp OUTLINE_DATABASE_URL", "unknown open x_db"],
    );
    check("/etc/own.ini", "[server]\nhost = 127.0.0.1\nport = 80\n[ldap]\nserver = x\nuser = u\n", &[]);
    check(
        "/etc/own.toml",
        "[[inputs.redis]]\nservers = [\n  \"tcp://localhost:6379\",\n  \"b:6380\",\n]\n[[inputs.mysql]]\nservers = [\"u:p@(h:3306)/\"]\n",
        &["redis tcp inputs.redis.servers.0", "redis tcp inputs.redis.servers.1", "mysql tcp inputs.mysql.servers.0"],
    );
    check(
        "/etc/own.ini",
        "[program:a]\nenvironment=\n  DB_HOST=\"127.0.0.1\",\n  DB_PORT=\"5432\"\nuser=x\n[program:b]\nenvironment=A=1,REDIS_URL='redis://h/1'\n",
        &["postgres tcp program:a.db", "redis tcp program:b.REDIS_URL"],
    );
    check(
        "/srv/Web.config",
        "<?xml version='1.0'?><c><add name='A' s='Server=localhost;Database=d;Uid=u;Pwd=p' providerName='MySql.Data.MySqlClient'/>\n\
         <add name='B' s='Server=localhost;Database=d;User Id=u;Password=p' providerName='System.Data.SqlClient'/></c>",
        &["mysql tcp c.A.s"],
    );
    check("/srv/.env", "MEMCACHE_SERVERS=a:11211,b:11211\n", &["memcached tcp memcache", "memcached tcp memcache"]);
    check("/srv/own.yml", "kind: Secret\ndata:\n  DB_HOST: bG9jYWxob3N0Cg==\n", &["unknown open data.db"]);
    check(
        "/srv/own.yml",
        "kind: Pod\nspec:\n  containers:\n  - env: [{name: MYSQL_HOST, valueFrom: {configMapKeyRef: {name: a, key: b}}}]\n",
        &["mysql open mysql"],
    );
    check("/srv/Dockerfile", "FROM x\nENV A=b \\\n  PG_DB_HOST=10.0.0.1\n", &["postgres tcp pg_db"]);
    check(
        "/etc/own.conf",
        "LoadPlugin redis\n<Plugin redis>\n Host \"a:b::1\"\n</Plugin>\nLoadPlugin mysql\n<Plugin mysql>\n Host localhost\n</Plugin>\n",
        &["redis open Plugin redis", "mysql unix Plugin mysql"],
    );
    check("/etc/own.cf", "x_sql_dsn   DBI:mysql:d:localhost:3306\n", &["mysql unix x_sql_dsn"]);
    check(
        "/etc/own.conf",
        "hide mysql_servers = localhost(/s.sock)/d/u/p : h::3307/d/u/p\n",
        &["mysql unix hide mysql_servers.0", "mysql tcp hide mysql_servers.1"],
    );
}

#[test]
fn a_file_under_another_name_is_recognised_by_its_content_or_named() {
    let text = "<?php\ndefine('DB_NAME', 'd');\ndefine('DB_HOST', '127.0.0.1');\n$table_prefix = 'wp_';\n";
    let wordpress = reading("/srv/site-settings.php", text.as_bytes());
    assert_eq!(wordpress.found[0].titles, ["WordPress"]);
    assert!(!wordpress.found[0].is_guessed);
    let source = Source {
        path: Some("/srv/own.php"),
        bytes: b"<?php define('DB_HOST', '127.0.0.1');",
        included: &[],
        neighbours: &[],
        program: None,
        environment: None,
    };
    let named = read_as(&source, "WordPress").unwrap();
    assert_eq!(named.found[0].titles, ["WordPress"]);
    assert!(read_as(&source, "guessed").is_none() && read_as(&source, "x").is_none());
    assert!(names().contains(&"wordpress") && !names().contains(&"guessed"));
}

/// Compares the titles of the applications that may read each connection, in the order of the lines.
#[track_caller]
fn check_titles(path: &str, text: &str, expected: &[&[&str]]) {
    let reading = reading(path, text.as_bytes());
    let mut all: Vec<(Option<usize>, Vec<&str>)> = Vec::new();
    for it in &reading.found {
        assert!(!it.is_guessed, "{it:?}");
        all.push((it.line, it.titles.iter().map(|it| &**it).collect()));
    }
    all.sort();
    let titles: Vec<Vec<&str>> = all.into_iter().map(|it| it.1).collect();
    assert_eq!(titles, expected, "{path}\n{text}");
}

#[test]
fn uwsgis_file_is_known_by_its_section_whatever_it_is_called() {
    const UWSGI: &[&str] = &["uWSGI (the server itself)"];
    const HTTP: &[&str] = &["uWSGI over HTTP (the server itself)"];
    let own = "[uwsgi]\nsocket = 127.0.0.1:3031\nmaster = true\n";
    for path in ["/srv/app.ini", "/srv/shop.ini", "/srv/conf/app.ini"] {
        check_titles(path, own, &[UWSGI]);
        let http = own.replace("socket", "http-socket");
        check_titles(path, &http, &[HTTP]);
    }
    let pyramid = format!("[app:main]\nsqlalchemy.url = postgresql://u:p@127.0.0.1/d\n[other]\na = b\n{own}");
    check_titles("/srv/production.ini", &pyramid, &[&["SQLAlchemy (CKAN, Pyramid)"], UWSGI]);
    let session = "[Session]\nsession.save_handler = redis\nsession.save_path = \"tcp://127.0.0.1:6379\"\n";
    check_titles("/srv/own.ini", session, &[&["PHP's sessions"]]);
    // If the file lacks the section, there is no remark that looptax looked for uWSGI's settings.
    let nothing = reading("/srv/own.ini", b"[server]\nsocket = 127.0.0.1:3031\n");
    assert!(nothing.found.is_empty(), "{:?}", nothing.found);
    let looked_for = nothing.looked_for.join("; ");
    assert!(looked_for.contains("SQLAlchemy") && !looked_for.contains("uWSGI"), "{looked_for}");
}

#[test]
fn what_a_program_does_not_use_is_no_connection() {
    let wiki = |authtype: &str| {
        format!(
            "<?php\n$conf['authtype'] = '{authtype}';\n$conf['plugin']['authpdo']['dsn'] = 'mysql:host=10.0.0.1;dbname=d';\n"
        )
    };
    check("/srv/wiki/conf/local.php", &wiki("authplain"), &[]);
    check("/srv/wiki/conf/local.php", &wiki("authpdo"), &["mysql tcp conf.plugin.authpdo.dsn"]);
    check(
        "/etc/fluent/fluent.conf",
        "<match mysql.**>\n  @type forward\n  <server>\n    host h\n    port 24224\n  </server>\n</match>\n",
        &[],
    );
    check(
        "/etc/fluent/fluent.conf",
        "<match a.**>\n  @type mysql_bulk\n  host localhost\n  database d\n</match>\n",
        &["mysql unix match 1"],
    );
    let forum = "<?php\n$acm_type = 'phpbb\\\\cache\\\\driver\\\\file';\ndefine('PHPBB_ACM_REDIS_HOST', 'h');\n";
    check("/srv/own.php", forum, &[]);
}

#[test]
fn what_a_dsn_that_is_put_together_says_itself_is_open() {
    let otrs = |dsn: &str| {
        format!(
            "use strict;\n$Self->{{DatabaseHost}} = 'localhost';\n$Self->{{DatabaseUser}} = 'u';\n$Self->{{DatabaseDSN}} = \"{dsn}\";\n"
        )
    };
    let host = "host=$Self->{DatabaseHost}";
    check("/srv/Config.pm", &otrs(&format!("DBI:mysql:database=d;{host}")), &["mysql unix Self.database"]);
    check("/srv/Config.pm", &otrs(&format!("DBI:mysql:database=d;{host};port=$x")), &["mysql open Self.database"]);
    check("/srv/Config.pm", &otrs("DBI:Pg:dbname=$x;"), &["postgres open Self.database"]);
}

#[test]
fn what_a_command_puts_in_ends_no_command() {
    let script = |text: &str| format!("#!/bin/sh\n{text}\n");
    let check = |text: &str, expected: &[&str]| check_all("/srv/own.sh", &script(text), expected);
    check("mysql -h $(cat /etc/h) -u u d", &["mysql open"]);
    check("mysql -h `cat /etc/h` -u u d", &["mysql open"]);
    check("A=$(mysql -h a.lan -e 1)\nmysqldump -h b.lan d > $(date).sql", &["mysql a.lan", "mysql b.lan"]);
    check("MYSQL=\"mysql -h a.lan\"\n$MYSQL -e 1\nDUMP=mysqldump\n$DUMP -h b.lan d", &["mysql a.lan", "mysql b.lan"]);
    check("OPTS='-h a.lan'\nmysqldump $OPTS d\nmysqldump $DUMP_OPTS d", &["mysql a.lan", "mysql open"]);
    check("opendmarc-import --dbhost=a.lan --dbuser=u", &["mysql a.lan"]);
    check(&"mysql -h $(".repeat(1_000), &["mysql open"]);
}

#[test]
fn commands_of_pods_have_the_environment_of_their_container() {
    let pod = |text: &str| format!("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: a\n{text}");
    let check = |text: &str, expected: &[&str]| check_all("/srv/own.yaml", &pod(text), expected);
    check("      command: [\"psql\", \"-h\", \"a.lan\", \"d\"]\n", &["postgres a.lan"]);
    check(
        "      command: [sh, -ec]\n      args:\n        - >-\n          pg_dump\n          -h a.lan d\n",
        &["postgres a.lan"],
    );
    check("      command: [sh, -c, \"psql -h $(PLACE) d\"]\n", &["postgres open"]);
    check(
        "      env:\n        - {name: PLACE, value: a.lan}\n      command: [mysql, -h, $(PLACE)]\n",
        &["mysql a.lan"],
    );
    check("      envFrom:\n        - secretRef: {name: s}\n      command: [psql, d]\n", &["postgres open"]);
    check("      livenessProbe:\n        exec:\n          command: [mysqladmin, ping]\n", &[]);
}

/// Compares the kind and the host of each connection.
#[track_caller]
fn check_all(path: &str, text: &str, expected: &[&str]) {
    let reading = reading(path, text.as_bytes());
    let host = |it: &looptax_advise::app::Found| {
        let host = it.address.as_ref().and_then(|it| it.host.clone());
        it.takes.and(host).unwrap_or_else(|| "open".to_owned())
    };
    let found: Vec<String> = reading.found.iter().map(|it| format!("{} {}", it.kind, host(it))).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn forms_of_single_programs_are_read() {
    let dkim = "KeyTable dsn:mysql://u:p@localhost/d/table=t?keycol=id\nOther dsn:pgsql://u:p@a.lan/d/table=t\n";
    check("/etc/opendkim.conf", dkim, &["mysql unix KeyTable", "postgres tcp Other"]);
    let load = "LOAD DATABASE\n FROM mysql://u:p@localhost/d\n INTO postgresql://u@unix:/run/postgresql:5433/d;\n";
    check("/srv/own.load", load, &["mysql tcp FROM", "postgres unix INTO"]);
    let munin = "[mysql*]\nenv.mysqlconnection DBI:mysql:d;host=127.0.0.1;port=3307\nenv.mysqluser u\n[memcached_]\nenv.host a\n";
    check(
        "/etc/munin/plugin-conf.d/own",
        munin,
        &["mysql tcp mysql*.env.mysqlconnection", "memcached tcp memcached_.env"],
    );
    let options = "[mysql*]\nenv.mysqlconnection DBI:mysql:d;mysql_read_default_file=/etc/mysql/debian.cnf\n";
    check("/etc/munin/plugin-conf.d/own", options, &["mysql open mysql*.env.mysqlconnection"]);
    let pam = "auth required pam_mysql.so user=u passwd=p host=localhost db=d\n#auth required pam_mysql.so host=a\n";
    check("/etc/pam.d/own", pam, &["mysql unix pam_mysql.1"]);
    let dlz = "dlz \"z\" {\n  database \"mysql\n  {host=localhost dbname=d user=u pass=p}\n  {select 1}\";\n};\n";
    check("/etc/bind/named.conf.own", dlz, &["mysql unix dlz mysql.3"]);
    let opensips = "modparam(\"cachedb_redis\", \"cachedb_url\", \"redis:g://127.0.0.1:6380/\")\n";
    check("/etc/own/own.cfg", opensips, &["redis tcp cachedb_redis.cachedb_url"]);
    let comment = "# load database\n[db]\ndriver = mysql\nhost = localhost\nenv.db = a\nenv.db_host=b\n";
    check("/etc/own.ini", comment, &["mysql open db", "mysql tcp db.env_db"]);
    check("/etc/own.yml", "redis:\n  url: unix:///run/r.sock?db=2\n", &["redis unix redis.url"]);
    check("/etc/own.conf", "uri = mongodb+srv://u:p@a.lan/d\n", &["mongodb open uri"]);
    check("/etc/own.conf", "uri = mongodb://u:p@a,b:27018/d\n", &["mongodb tcp uri", "mongodb tcp uri"]);
    let receivers = "receivers:\n  mysql/a:\n    endpoint: localhost:3306\n  postgresql:\n    endpoint: localhost:5432\n    transport: unix\n  \
                     redis:\n    endpoint: a:6379\nservice:\n  pipelines:\n    metrics:\n      receivers: [mysql/a, postgresql]\n";
    check("/etc/own.yaml", receivers, &["mysql tcp receivers.mysql/a"]);
}

/// Compares the names that the connection of a service may have, and whether it has a sole reader.
#[track_caller]
fn check_names(service: &str, neighbours: &[&str], expected: &[&str], sole: Option<&str>) {
    let text = format!("services:\n  app:\n{service}  cache:\n    image: redis:7\n");
    let neighbours: Vec<String> = neighbours.iter().map(|it| (*it).to_owned()).collect();
    let source = Source {
        path: Some("/srv/compose.yaml"),
        bytes: text.as_bytes(),
        included: &[],
        neighbours: &neighbours,
        program: None,
        environment: None,
    };
    let found = read_services(&source, None).unwrap().found;
    assert_eq!(found.len(), 1, "{text}");
    assert!(found[0].is_guessed, "{text}");
    assert_eq!((&*found[0].may_be, found[0].sole_reader.as_deref()), (&*owned(expected), sole), "{text}");
    assert_eq!(found[0].named_by(), Some("REDIS_HOST"), "{text}");
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn what_contradicts_a_name_leaves_it_out() {
    let variables = "    environment: {REDIS_HOST: cache}\n";
    let both = ["Laravel (phpredis)", "Mastodon"];
    let check = |service: &str, neighbours: &[&str], expected: &[&str], sole| {
        check_names(&format!("{service}{variables}"), neighbours, expected, sole);
    };
    check("    image: own\n", &[], &both, None);
    check("    build: ./api\n", &["library:pip/django"], &both, None);
    check("    image: php:8\n", &[], &both[..1], Some(both[0]));
    check("    image: own\n    command: [bundle, exec, puma]\n", &[], &both[1..], Some(both[1]));
    // Something contradicts each name, so all names that fit the variable are kept.
    check("    image: nextcloud:29\n", &[], &both, None);
    check("    build: .\n", &["library:pip/django"], &both, None);
}
