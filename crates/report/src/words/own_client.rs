//! Explains which arm corresponds to a server's own client program: if the client uses TLS, its arm is not `tcp`.
//!
//! # Source
//! The clients of MariaDB 10.11.19 and 11.8.9, MySQL 9.7.4 and PostgreSQL 15 and 17, PHP 8.2 and 8.4, `PyMySQL`,
//! mysqlclient and sysbench reported their cipher on both transports: `cargo lab clients tls`. libmariadb 3.3.20 and
//! 3.4.10 used no cipher with MariaDB 11.8.9 on either transport, 2026-11-28.

use looptax_model::record::Comparison;

/// A clause about programs that keep using TLS on the socket.
pub(super) const KEEPS_TLS: &str = "for MariaDB's own programs (mariadb, mariadb-dump and others), which use TLS on \
    the socket too: without --skip-ssl the socket helps them only this much";

/// Returns a note about the arm `tcp`, if it is known whether the server offers TLS.
pub(super) fn note(comparison: &Comparison) -> Option<String> {
    let has = |name: &str| comparison.arms.iter().any(|arm| arm.name == name);
    let target = &comparison.target;
    if !has("tcp") || comparison.is_of_program() {
        return None;
    }
    match target.offers_tls {
        Some(true) => {}
        Some(false) if !target.private => return Some("the server offers no TLS, so TLS was not measured".to_owned()),
        _ => return None,
    }
    let clients = match target.kind.as_str() {
        "mysql" => {
            "MySQL's own programs use TLS over TCP but not over the socket, so compare `tls` with `unix` for them; \
             MariaDB's programs use TLS over TCP and over the socket; sysbench and PHP use `tcp`"
        }
        "mariadb" => {
            "MariaDB's own programs use TLS on every transport on which the server offers it, so compare `tls` with \
             `tls-unix` for them; MariaDB's library uses TLS only on request, so sysbench, PHP and most other \
             programs use `tcp`"
        }
        "postgres" => {
            "psql and other programs with libpq use TLS over TCP by default (sslmode=prefer) and never over the \
             socket, so compare `tls` with `unix` for them"
        }
        _ => return None,
    };
    let both = if has("tls") { "" } else { "; --arms unix,tcp,tls shows both" };
    Some(format!("the server offers TLS: {clients}{both}"))
}
