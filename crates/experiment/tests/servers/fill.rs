//! The private account and the data set, checked with looptax's own protocol code over both transports.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use looptax_experiment::servers::{Instance, PrivateServer, dataset};
use looptax_model::dsn::{Kind, Protocol, Secret};
use looptax_wire::{Channel, Codec, Login, memcached, mongodb, mysql, postgres, redis};

use crate::live::{reaper, root, start};

const LIMIT: Duration = Duration::from_secs(30);
const N_ROWS: u32 = 3000;
const KEYS: dataset::Keys<'_> =
    dataset::Keys { prefix: dataset::KEY_PREFIX, n: N_ROWS, value_bytes: dataset::KEY_VALUE_BYTES };

pub(crate) fn fill(kind: Kind) {
    let (root, reaper) = (root(), reaper());
    let server = start(kind, root.path(), &reaper);
    if kind == Kind::Memcached {
        return fill_each_memcached(&server);
    }
    fill_over_the_socket(&server);
    let tcp = TcpStream::connect(server.tcp).unwrap();
    tcp.set_read_timeout(Some(LIMIT)).unwrap();
    // If an update of all rows reports the expected number, every row exists.
    assert_eq!(count(kind, tcp, &server.login, Channel::PlainTcp).unwrap(), u64::from(N_ROWS));
    for (user, password) in [(server.login.user.as_str(), "wrong"), ("root", ""), ("", "")] {
        let login = Login { user: user.to_owned(), password: Secret::new(password), ..server.login.clone() };
        let tcp = TcpStream::connect(server.tcp).unwrap();
        assert!(count(kind, tcp, &login, Channel::PlainTcp).is_none(), "let in: {user:?} {password:?}");
    }
    server.stop().unwrap();
}

fn fill_over_the_socket(server: &PrivateServer) {
    let stream = UnixStream::connect(&server.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (login, local) = (&server.login, Channel::Local);
    match server.kind.protocol() {
        Some(Protocol::Mysql) => {
            let mut connection = mysql::Connection::login(stream, login, local, LIMIT).unwrap();
            dataset::populate_mysql(|sql| connection.execute(sql), "", N_ROWS).unwrap();
        }
        Some(Protocol::Postgres) => {
            let mut connection = postgres::Connection::login(stream, login, LIMIT).unwrap();
            dataset::populate_postgres(|sql| connection.execute(sql), "", N_ROWS).unwrap();
        }
        Some(Protocol::Redis) => {
            let mut connection = redis::Connection::login(stream, login, LIMIT).unwrap();
            dataset::populate_redis(|commands| connection.pipeline(commands), &KEYS).unwrap();
        }
        Some(Protocol::Mongodb) => {
            let mut connection = mongodb::Connection::login(stream, login, LIMIT).unwrap();
            let insert = |ids: std::ops::RangeInclusive<u32>| {
                let documents = ids.map(u64::from).map(|id| (id, dataset::value_for(id)));
                connection.insert((None, dataset::TABLE), documents)
            };
            dataset::populate_mongodb(insert, N_ROWS).unwrap();
        }
        Some(Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo) | None => {
            unreachable!("filled elsewhere, or not at all")
        }
    }
}

/// Returns the number of rows that an update of all rows changes; `None` if the login is refused.
fn count(kind: Kind, stream: impl Read + Write, login: &Login, channel: Channel) -> Option<u64> {
    let update = "UPDATE sbtest1 SET k = k + 1 WHERE c LIKE '___________-%' AND pad LIKE '___________-%'";
    match kind.protocol() {
        Some(Protocol::Mysql) => mysql::Connection::login(stream, login, channel, LIMIT).ok()?.execute(update).ok(),
        Some(Protocol::Postgres) => postgres::Connection::login(stream, login, LIMIT).ok()?.execute(update).ok(),
        Some(Protocol::Redis) => {
            let mut connection = redis::Connection::login(stream, login, LIMIT).ok()?;
            let commands: Vec<Vec<Vec<u8>>> = (1..=u64::from(N_ROWS))
                .map(|id| vec![b"GET".to_vec(), format!("looptax:{id:012}").into_bytes()])
                .collect();
            let values = connection.pipeline(&commands).ok()?;
            let is_right =
                |(id, value): (u64, &redis::Value)| *value == redis::Value::Bulk(Some(dataset::key_value_for(id, 64)));
            Some((1..).zip(&values).filter(|pair| is_right(*pair)).count() as u64)
        }
        Some(Protocol::Mongodb) => found_documents(stream, login),
        Some(Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo) | None => None,
    }
}

/// Requests each document; returns how many have the expected content.
fn found_documents(stream: impl Read + Write, login: &Login) -> Option<u64> {
    let connection = mongodb::Connection::login(stream, login, LIMIT).ok()?;
    let mut find = mongodb::FindOne::new(connection.database(), dataset::TABLE);
    let mut stream = connection.into_stream();
    let mut n_right = 0;
    for mut id in 1..=u64::from(N_ROWS) {
        let (mut request, mut received) = (Vec::new(), Vec::new());
        find.request(&mut id, &mut request);
        stream.write_all(&request).ok()?;
        let reply = loop {
            let mut piece = [0; 4096];
            let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
            received.extend_from_slice(&piece[..n]);
            if let Some(reply) = find.reply(&received).ok()? {
                break reply;
            }
        };
        let value = dataset::value_for(id).into_bytes();
        let mut windows = received[reply.data].windows(value.len());
        n_right += u64::from(windows.any(|it| it == value));
    }
    Some(n_right)
}

/// Fills each of the four processes over its own transport, and checks that the process reports all keys.
fn fill_each_memcached(server: &PrivateServer) {
    let transports = |it: &Instance| (it.socket.is_some(), it.tcp.is_some());
    let (unix, tcp) = ((true, false), (false, true));
    let found: Vec<_> = server.instances.iter().map(transports).collect();
    assert_eq!(found, [unix, tcp, unix, tcp]);
    for instance in &server.instances {
        let n_items = match (&instance.socket, instance.tcp) {
            (Some(path), _) => {
                let stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                fill_memcached(stream, instance.pid)
            }
            (None, Some(address)) => {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                fill_memcached(stream, instance.pid)
            }
            (None, None) => panic!("process {} listens nowhere", instance.pid),
        };
        assert_eq!(n_items, N_ROWS.to_string());
    }
}

/// Fills a process, which must have the process id `pid`, and returns the number of keys that it reports.
fn fill_memcached(stream: impl Read + Write, pid: u32) -> String {
    let mut connection = memcached::Connection::hello(stream, LIMIT).unwrap();
    dataset::populate_memcached(|pairs| connection.store(pairs), &KEYS).unwrap();
    let stats = connection.stats("").unwrap();
    let value = |wanted: &str| {
        let found = stats.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!(value("pid"), pid.to_string());
    assert_eq!(value("threads"), "1");
    value("curr_items")
}
