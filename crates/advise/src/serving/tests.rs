//! Changes to files of servers, with the texts that packages install.

use super::*;
use crate::app::rewritten;

#[track_caller]
fn check(name: &str, text: &str, socket: &str, expected: &str) {
    let file = ServerFile::of(name, text).next().expect("a server's file");
    let written = file.listening(text, socket, 0o770);
    assert_eq!(rewritten(text, &written.rewrites).as_deref(), Some(expected));
    // After the change the file has the wanted settings, and needs no further change.
    let again = file.listening(expected, socket, 0o770);
    assert!(again.rewrites.is_empty(), "{again:?}");
    let set = file.socket(expected).unwrap();
    assert!(set.split(", ").any(|it| it == socket), "{set}");
}

#[test]
fn redis_gets_its_socket_below_the_comment_that_proposes_it() {
    let shipped = "port 6379\n# Specify the path for the unixsocket that\n# unixsocket /run/redis/redis.sock\n# unixsocketperm 700\n\ntimeout 0\n";
    let file = ServerFile::of("redis.conf", shipped).next().unwrap();
    assert_eq!(file.proposed(shipped).as_deref(), Some("/run/redis/redis.sock"));
    assert_eq!((file.socket(shipped), file.mode(shipped)), (None, None));
    check(
        "redis.conf",
        shipped,
        "/run/redis/redis.sock",
        "port 6379\n# Specify the path for the unixsocket that\n# unixsocket /run/redis/redis.sock\nunixsocket /run/redis/redis.sock\n# unixsocketperm 700\nunixsocketperm 770\n\ntimeout 0\n",
    );
    check(
        "valkey.conf",
        "port 1\r\nUnixSocket \"\"\r\nunixsocketperm 700",
        "/a b",
        "port 1\r\nUnixSocket \"/a b\"\r\nunixsocketperm 770",
    );
    check("x", "bind ::1\nport 0\nunixsocket\n", "/s", "bind ::1\nport 0\nunixsocket /s\nunixsocketperm 770\n");
    check("x", "bind ::1\nport 0", "/s", "bind ::1\nport 0\nunixsocket /s\nunixsocketperm 770");
}

#[test]
fn memcached_gets_two_options() {
    let shipped = "# memcached\n-d\nlogfile /var/log/m.log\n-m 64\n-p 11211 # the port\n-u memcache\n-l 127.0.0.1\n";
    check("memcached.conf", shipped, "/run/memcached/m.sock", &format!("{shipped}-s /run/memcached/m.sock\n-a 0770\n"));
    let file = ServerFile::of("memcached.conf", shipped).next().unwrap();
    assert!(file.is_exclusive);
    assert_eq!(file.options(shipped).join(" "), "-m 64 -p 11211 -u memcache -l 127.0.0.1");
}

#[test]
fn a_setting_goes_into_the_servers_own_section() {
    check(
        "50-server.cnf",
        "[client]\nsocket = /client\n[mysqld]\nuser = mysql\ndatadir=/d\n\n# more\n[mysqldump]\nquick\n",
        "/s",
        "[client]\nsocket = /client\n[mysqld]\nuser = mysql\ndatadir=/d\nsocket = /s\n\n# more\n[mysqldump]\nquick\n",
    );
    check("my.cnf", "[mysqld]\nport=1\nsocket=\n", "/s", "[mysqld]\nport=1\nsocket=/s\n");
    check(
        "pgbouncer.ini",
        "[databases]\n[pgbouncer]\nlisten_port = 6432\nlisten_addr = localhost\n;unix_socket_dir = /tmp\nunix_socket_dir =\n",
        "/run/postgresql",
        "[databases]\n[pgbouncer]\nlisten_port = 6432\nlisten_addr = localhost\n;unix_socket_dir = /tmp\nunix_socket_dir =/run/postgresql\n",
    );
}

#[test]
fn postgres_keeps_the_folders_that_it_has() {
    let before = "listen_addresses = '*'\nmax_connections = 100\n";
    check(
        "postgresql.conf",
        &format!("{before}unix_socket_directories = ''\t# (change requires restart)\n"),
        "/run/postgresql",
        &format!("{before}unix_socket_directories = '/run/postgresql'\t# (change requires restart)\n"),
    );
    check(
        "postgresql.conf",
        &format!("{before}unix_socket_directories = '/tmp'\n"),
        "/run/postgresql",
        &format!("{before}unix_socket_directories = '/tmp, /run/postgresql'\n"),
    );
    check(
        "pgpool.conf",
        "backend_hostname0 = 'a'\nbackend_port0 = 1\n#unix_socket_directories = '/tmp'\n",
        "/run/postgresql",
        "backend_hostname0 = 'a'\nbackend_port0 = 1\n#unix_socket_directories = '/tmp'\nunix_socket_directories = '/run/postgresql'\n",
    );
    check(
        "pgpool.conf",
        "backend_hostname0 = 'a'\nbackend_port0 = 1\n#socket_dir = '/tmp'\n",
        "/run/postgresql",
        "backend_hostname0 = 'a'\nbackend_port0 = 1\n#socket_dir = '/tmp'\nsocket_dir = '/run/postgresql'\n",
    );
}

#[test]
fn other_files_are_no_servers() {
    for (name, text) in [
        ("redis.php", "<?php return ['host' => '127.0.0.1', 'port' => 6379];\n"),
        (".env", "REDIS_HOST=127.0.0.1\nREDIS_PORT=6379\n"),
        ("wp-config.php", "define('DB_HOST', '127.0.0.1');\n"),
        (".my.cnf", "[client]\nhost = 127.0.0.1\nuser = a\nport = 3306\n"),
        ("", ""),
    ] {
        let found: Vec<_> = ServerFile::of(name, text).map(|it| it.kinds).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn ferretdb_gets_a_variable_in_its_unit() {
    let unit = "[Unit]\nDescription=FerretDB\n\n[Service]\nExecStart=/usr/bin/ferretdb --listen-addr=127.0.0.1:27017\nEnvironment=FERRETDB_HANDLER=sqlite\n\n[Install]\nWantedBy=multi-user.target\n";
    let file = ServerFile::of("ferretdb.service", unit).next().unwrap();
    assert_eq!(file.options(unit), ["--listen-addr=127.0.0.1:27017"]);
    let line = "Environment=FERRETDB_HANDLER=sqlite\n";
    let written = unit.replace(line, &format!("{line}Environment=FERRETDB_LISTEN_UNIX=/run/f/f.sock\nUMask=0007\n"));
    check("ferretdb.service", unit, "/run/f/f.sock", &written);
    assert!(ServerFile::of("other.service", unit).next().is_none());
}

/// Checks the backlog that a file sets, and the file after a change of the backlog to 700.
#[track_caller]
fn check_backlog(name: &str, text: &str, now: Option<u32>, expected: &str) {
    let file = ServerFile::of(name, text).next().expect("a server's file");
    assert_eq!(file.backlog(text), now, "{name}");
    let written = file.waiting(text, 700);
    assert_eq!(rewritten(text, &written.rewrites).as_deref(), Some(expected), "{name}");
    assert!(file.backlog(expected).is_none_or(|it| it >= 700), "{name}");
}

#[test]
fn a_longer_queue_is_written_in_each_server_s_own_words() {
    check_backlog(
        "redis.conf",
        "port 1\ntcp-backlog 511 \nunixsocket /s/s\nunixsocketperm 770\n",
        Some(511),
        "port 1\ntcp-backlog 700 \nunixsocket /s/s\nunixsocketperm 770\n",
    );
    check_backlog("memcached.conf", "-m 64\n-s /s/s\n-a 0770\n", None, "-m 64\n-s /s/s\n-a 0770\n-b 700\n");
    check_backlog(
        "my.cnf",
        "[mysqld]\nport=1\nsocket=/s/s\nback-log=80\n",
        Some(80),
        "[mysqld]\nport=1\nsocket=/s/s\nback-log=700\n",
    );
    check_backlog(
        "pgbouncer.ini",
        "[pgbouncer]\nlisten_port = 1\nauth_type = md5\n;listen_backlog = 128\nunix_socket_dir = /s\n",
        None,
        "[pgbouncer]\nlisten_port = 1\nauth_type = md5\n;listen_backlog = 128\nlisten_backlog = 700\nunix_socket_dir = /s\n",
    );
    let postgres = "max_connections = 100\nport = 1\nunix_socket_directories = '/s'\n";
    check_backlog("postgresql.conf", postgres, None, postgres);
    let pgpool = "pcp_port = 1\nnum_init_children = 50\nlisten_backlog_multiplier = 2\n";
    check_backlog("pgpool.conf", pgpool, None, pgpool);
}
