//! Reads an address as a person types it, in the form of any driver: a URL, libpq's keywords, a DSN of JDBC, Go or PDO.
//!
//! Takes a text, and returns an address. Called by the commands that have an address as an argument.

use looptax_model::dsn::{Address, AddressError, Protocol, Secret};

use super::url::{self, Parsed};

/// Reads an address.
///
/// # Errors
/// The error of [`Address::parse`], if the text has another form.
pub fn address_of(text: &str) -> Result<Address, AddressError> {
    let text = text.trim();
    if let Some(address) = of_pdo(text) {
        return Ok(address);
    }
    match Address::parse(text) {
        Ok(address) => Ok(address),
        Err(error) => {
            let is_a_drivers = text.starts_with("jdbc:") || text.contains("tcp(") || text.contains("unix(");
            match url::parse(text).filter(|_| is_a_drivers) {
                Some(Parsed::Spoken { address, .. }) => Ok(address),
                _ => Err(error),
            }
        }
    }
}

/// Reads an address like `mysql:host=127.0.0.1;port=3306;dbname=shop;user=u;password=p`, or Perl's `dbi:mysql:host=…`.
fn of_pdo(text: &str) -> Option<Address> {
    let is_dbi = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:"));
    let (driver, rest) = text[if is_dbi { 4 } else { 0 }..].split_once(':')?;
    let protocol = match driver {
        "mysql" | "MariaDB" => Protocol::Mysql,
        "pgsql" | "Pg" => Protocol::Postgres,
        _ => return None,
    };
    if rest.starts_with("//") || !rest.contains('=') {
        return None;
    }
    let mut address = Address::bare(protocol);
    // In a DSN for libpq, blanks separate the parts, too.
    let separators: &[char] = if protocol == Protocol::Postgres { &[';', ' '] } else { &[';'] };
    for part in rest.split(separators) {
        let Some((name, value)) = part.trim().split_once('=') else {
            continue;
        };
        let value = value.trim().to_owned();
        match name.trim() {
            "host" if protocol == Protocol::Postgres && value.starts_with(['/', '@']) => {
                address.socket = Some(value.into());
            }
            "host" => address.host = Some(value),
            "port" => address.port = value.parse().ok()?,
            "dbname" | "database" => address.database = Some(value),
            "unix_socket" | "mysql_socket" | "mariadb_socket" => address.socket = Some(value.into()),
            "user" => address.user = Some(value),
            "password" => address.password = Some(Secret::new(value)),
            _ => {}
        }
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is `protocol host port user database socket`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let it = address_of(text).unwrap();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let shown = [
            it.protocol.to_string(),
            or_dash(it.host),
            it.port.to_string(),
            or_dash(it.user),
            or_dash(it.database),
            or_dash(it.socket.map(|it| it.display().to_string())),
        ];
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn an_address_is_read_in_the_words_of_each_driver() {
        check("unix:///run/r.sock", "redis - 6379 - - /run/r.sock");
        check("redis+socket:///run/r.sock?virtual_host=1", "redis - 6379 - 1 /run/r.sock");
        check("postgresql:///shop", "postgres - 5432 - shop -");
        check("mysql://app@localhost/shop?unix_socket=/m.sock", "mysql localhost 3306 app shop /m.sock");
        check("jdbc:mariadb://localhost/shop?localSocket=/m.sock&user=app", "mysql localhost 3306 app shop /m.sock");
        check("jdbc:postgresql://127.0.0.1:5433/shop?user=app", "postgres 127.0.0.1 5433 app shop -");
        check("app:p@unix(/m.sock)/shop?parseTime=true", "mysql - 3306 app shop /m.sock");
        check("app:p@tcp(127.0.0.1:3307)/shop", "mysql 127.0.0.1 3307 app shop -");
        check("mysql:unix_socket=/m.sock;dbname=shop", "mysql - 3306 - shop /m.sock");
        check("mysql:host=localhost;port=3307;dbname=shop", "mysql localhost 3307 - shop -");
        check("pgsql:host=/run/postgresql;port=5433;dbname=shop;user=u", "postgres - 5433 u shop /run/postgresql");
        check("dbi:Pg:dbname=shop;host=127.0.0.1", "postgres 127.0.0.1 5432 - shop -");
        check("host=127.0.0.1 user=u dbname=d", "postgres 127.0.0.1 5432 u d -");
        for text in ["mysql:", "x", "mysql:/srv", "oracle:host=a", "sqlite:/srv/a=b", "a@b"] {
            assert!(address_of(text).is_err(), "{text}");
        }
    }
}
