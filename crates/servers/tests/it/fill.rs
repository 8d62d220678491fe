//! The private account and the data set, through our own protocols, over both transports.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use looptax_servers::{Kind, PrivateServer, dataset};
use looptax_wire::{Channel, Login, Secret, mysql, postgres, redis};

use crate::live::{reaper, root, start};

const LIMIT: Duration = Duration::from_secs(30);
const N_ROWS: u32 = 3000;

pub(crate) fn fill(kind: Kind) {
    let (root, reaper) = (root(), reaper());
    let server = start(kind, root.path(), &reaper);
    fill_over_the_socket(&server);
    let tcp = TcpStream::connect(server.tcp).unwrap();
    tcp.set_read_timeout(Some(LIMIT)).unwrap();
    // Every row is there when a change of all of them says so.
    assert_eq!(
        count(kind, tcp, &server.login, Channel::PlainTcp).unwrap(),
        u64::from(N_ROWS)
    );
    for (user, password) in [
        (server.login.user.as_str(), "wrong"),
        ("root", ""),
        ("", ""),
    ] {
        let login = Login {
            user: user.to_owned(),
            password: Secret::new(password),
            ..server.login.clone()
        };
        let tcp = TcpStream::connect(server.tcp).unwrap();
        assert!(
            count(kind, tcp, &login, Channel::PlainTcp).is_none(),
            "let in: {user:?} {password:?}"
        );
    }
    server.stop().unwrap();
}

fn fill_over_the_socket(server: &PrivateServer) {
    let stream = UnixStream::connect(&server.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (login, local) = (&server.login, Channel::Local);
    match server.kind {
        Kind::Mariadb | Kind::Mysql => {
            let mut connection = mysql::Connection::login(stream, login, local, LIMIT).unwrap();
            dataset::populate_mysql(|sql| connection.execute(sql), N_ROWS).unwrap();
        }
        Kind::Postgres => {
            let mut connection = postgres::Connection::login(stream, login, local, LIMIT).unwrap();
            dataset::populate_postgres(|sql| connection.execute(sql), N_ROWS).unwrap();
        }
        Kind::Redis | Kind::Valkey => {
            let mut connection = redis::Connection::login(stream, login, LIMIT).unwrap();
            let keys = dataset::Keys {
                prefix: dataset::KEY_PREFIX,
                n: N_ROWS,
                value_bytes: dataset::REDIS_VALUE_BYTES,
            };
            dataset::populate_redis(|commands| connection.pipeline(commands), &keys).unwrap();
        }
        Kind::Echo => unreachable!("the echo server holds no rows"),
    }
}

/// The number of rows that an update of all of them reaches; `None` when the login is refused.
fn count(kind: Kind, stream: impl Read + Write, login: &Login, channel: Channel) -> Option<u64> {
    let update =
        "UPDATE sbtest1 SET k = k + 1 WHERE c LIKE '___________-%' AND pad LIKE '___________-%'";
    match kind {
        Kind::Mariadb | Kind::Mysql => mysql::Connection::login(stream, login, channel, LIMIT)
            .ok()?
            .execute(update)
            .ok(),
        Kind::Postgres => postgres::Connection::login(stream, login, channel, LIMIT)
            .ok()?
            .execute(update)
            .ok(),
        Kind::Redis | Kind::Valkey => {
            let mut connection = redis::Connection::login(stream, login, LIMIT).ok()?;
            let commands: Vec<Vec<Vec<u8>>> = (1..=u64::from(N_ROWS))
                .map(|id| vec![b"GET".to_vec(), format!("looptax:{id:012}").into_bytes()])
                .collect();
            let values = connection.pipeline(&commands).ok()?;
            let is_right = |(id, value): (u64, &redis::Value)| {
                *value == redis::Value::Bulk(Some(dataset::redis_value_for(id, 64)))
            };
            Some((1..).zip(&values).filter(|pair| is_right(*pair)).count() as u64)
        }
        Kind::Echo => None,
    }
}
