//! Which arm a server's own client would be: TLS makes it another one than `tcp`.
//!
//! # Source
//! The clients of MariaDB 10.11, MySQL 9.7 and PostgreSQL 15, asked for their cipher on both transports.

use looptax_model::record::Comparison;

/// What to know about `tcp` where it is known whether the server offers TLS.
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
             sysbench and PHP take `tcp`"
        }
        "mariadb" => {
            "MariaDB's own programs take it wherever it is offered, so their ways are `tls` and `tls-unix`; sysbench \
             and PHP take `tcp`"
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
