//! Which arm a server's own client would be: TLS makes it another one than `tcp`.
//!
//! # Source
//! The clients of MariaDB 10.11.19 and 11.8.9, MySQL 9.7.4 and PostgreSQL 15 and 17, PHP 8.2 and 8.4, `PyMySQL`, mysqlclient
//! and sysbench, asked for their cipher on both transports: `cargo lab clients tls`. libmariadb 3.3.20 and 3.4.10 took none
//! over either from MariaDB 11.8.9, 2026-11-28.

use looptax_model::record::Comparison;

/// The socket for a program that keeps TLS there.
pub(super) const KEEPS_TLS: &str = "for MariaDB's own programs (mariadb, mariadb-dump and others), which take TLS on the \
     socket too: the socket helps them only this much before --skip-ssl";

/// Returns a note about `tcp` if it is known whether the server offers TLS.
pub(super) fn note(comparison: &Comparison) -> Option<String> {
    let has = |name: &str| comparison.arms.iter().any(|arm| arm.name == name);
    let target = &comparison.target;
    if !has("tcp") || comparison.is_of_program() {
        return None;
    }
    match target.offers_tls {
        Some(true) => {}
        Some(false) if !target.private => return Some("the server offers no TLS: none was measured".to_owned()),
        _ => return None,
    }
    let clients = match target.kind.as_str() {
        "mysql" => {
            "MySQL's own programs take it over TCP and not over the socket, so their way is `tls` against `unix`; \
             MariaDB's take it over both; sysbench and PHP take `tcp`"
        }
        "mariadb" => {
            "MariaDB's own programs take it wherever it is offered, so their ways are `tls` and `tls-unix`; its \
             library uses it only on request, so sysbench, PHP and most others take `tcp`"
        }
        "postgres" => {
            "psql and whatever else uses libpq take it over TCP unless told otherwise (sslmode=prefer) and never over \
             the socket, so their way is `tls` against `unix`"
        }
        _ => return None,
    };
    let both = if has("tls") { "" } else { "; --arms unix,tcp,tls shows both" };
    Some(format!("the server offers TLS: {clients}{both}"))
}
