//! TLS: who demands it, and what becomes of that on a socket.

use looptax_model::dsn::{Address, Protocol};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

/// What TLS over TCP means on the socket, where the URL demands it or the server takes the login with it alone;
/// nothing otherwise.
///
/// # Source
/// PostgreSQL answers every request for TLS on a socket with no (`backend_startup.c`); what the drivers
/// make of that stands in their own code.
pub fn demanded_tls(address: &Address, is_alone: bool) -> Option<Point> {
    let (demand, next, how) = match address.tls.as_deref() {
        Some(demand) => (
            format!("the URL says `{demand}`"),
            format!("take `{demand}` out for the socket, which leaves the machine for nobody"),
            "read the URL",
        ),
        None if is_alone => (
            "over TCP the server takes this login with TLS alone".to_owned(),
            "take out for the socket what makes the driver insist on TLS: it leaves the machine for nobody".to_owned(),
            "the server refused the login over TCP without TLS, and took it with",
        ),
        None => return None,
    };
    let (code, outcome, what) = match address.protocol {
        Protocol::Mysql => (
            PointCode::TlsOnSocket,
            Outcome::Note,
            format!("{demand}: a driver that does TLS on the socket too goes on paying for it there"),
        ),
        Protocol::Postgres => (
            PointCode::TlsNotOnSocket,
            Outcome::Unknown,
            format!(
                "{demand}, and PostgreSQL has no TLS on its socket: libpq, lib/pq, pgx and asyncpg pass over that there, node-pg, Npgsql, sqlx, tokio-postgres and pgjdbc fail"
            ),
        ),
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => (
            PointCode::TlsNotOnSocket,
            Outcome::Note,
            format!("{demand}, and there is none on its socket: a driver is told the socket's path in place of that"),
        ),
    };
    Some(Point::new(Topic::Tls, code, outcome, what, how).with_next(next))
}

/// `require_secure_transport` of MySQL and MariaDB lets sockets in; nothing where it is off or unknown.
///
/// # Source
/// dev.mysql.com, server system variables; mariadb.com, the variable of that name.
pub fn secure_transport(is_required: Option<bool>) -> Option<Point> {
    is_required?.then(|| {
        Point::new(
            Topic::Tls,
            PointCode::SocketCountsAsSecure,
            Outcome::Pass,
            "require_secure_transport is on: a socket counts as secure, without TLS",
            "asked @@require_secure_transport",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(url: &str) -> Option<Outcome> {
        let address = Address::parse(url).unwrap();
        demanded_tls(&address, false).map(|point| point.outcome)
    }

    #[test]
    fn a_demand_in_the_url_is_told_and_a_wish_is_not() {
        for demand in ["sslmode=require", "sslmode=verify-full", "ssl=true"] {
            let url = format!("postgres://u@127.0.0.1/d?{demand}");
            assert_eq!(outcome(&url), Some(Outcome::Unknown), "{url}");
        }
        for demand in ["ssl-mode=REQUIRED", "tls=true", "useSSL=true", "sslMode=VERIFY_CA"] {
            let url = format!("mysql://u@127.0.0.1/d?{demand}");
            assert_eq!(outcome(&url), Some(Outcome::Note), "{url}");
        }
        for wish in ["sslmode=prefer", "sslmode=disable", "ssl=false", "ssl-mode=PREFERRED"] {
            assert_eq!(outcome(&format!("postgres://u@h/d?{wish}")), None, "{wish}");
        }
    }

    #[test]
    fn a_socket_counts_as_secure() {
        assert_eq!(secure_transport(None), None);
        assert_eq!(secure_transport(Some(false)), None);
        let point = secure_transport(Some(true)).unwrap();
        assert_eq!(point.outcome, Outcome::Pass);
    }
}
