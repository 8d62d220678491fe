//! libpq's parameters, and what each parameter does over a Unix socket.
//!
//! # Source
//! `PQconndefaults` of libpq 13 to 18. `cargo lab oracle libpq` tried each parameter's values over both transports with
//! these versions.

use OverSocket::{FailsUnless, Ignored, Methods, Place, Same, ServerUser};

/// The meaning of a parameter over a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverSocket {
    /// The parameter means the same as over TCP.
    Same,
    /// The parameter is itself a part of the address.
    Place,
    /// libpq ignores the parameter over a socket.
    Ignored,
    /// Every connection over a socket fails, unless the parameter has one of these values.
    FailsUnless(&'static [&'static str]),
    /// Connections over a socket fail unless the server's process runs as the user in the parameter. libpq ignores the
    /// parameter over TCP.
    ServerUser,
    /// Connections fail unless the server requests one of the login methods in the parameter. For connections over a
    /// socket, a `local` line of `pg_hba.conf` decides which method the server requests.
    Methods,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's name in a connection string.
    pub name: &'static str,
    /// The parameter's environment variable; empty if there is no such variable.
    pub variable: &'static str,
    pub over_socket: OverSocket,
}

const fn parameter(name: &'static str, variable: &'static str, over_socket: OverSocket) -> Parameter {
    Parameter { name, variable, over_socket }
}

/// All parameters of libpq 13 to 18.
pub const PARAMETERS: &[Parameter] = &[
    parameter("application_name", "PGAPPNAME", Same),
    parameter("authtype", "PGAUTHTYPE", Ignored),
    parameter("channel_binding", "PGCHANNELBINDING", FailsUnless(&["disable", "prefer"])),
    parameter("client_encoding", "PGCLIENTENCODING", Same),
    parameter("connect_timeout", "PGCONNECT_TIMEOUT", Same),
    parameter("dbname", "PGDATABASE", Same),
    parameter("fallback_application_name", "", Same),
    parameter("gssdelegation", "PGGSSDELEGATION", Ignored),
    parameter("gssencmode", "PGGSSENCMODE", FailsUnless(&["disable", "prefer"])),
    parameter("gsslib", "PGGSSLIB", Ignored),
    parameter("host", "PGHOST", Place),
    parameter("hostaddr", "PGHOSTADDR", Place),
    parameter("keepalives", "", Ignored),
    parameter("keepalives_count", "", Ignored),
    parameter("keepalives_idle", "", Ignored),
    parameter("keepalives_interval", "", Ignored),
    parameter("krbsrvname", "PGKRBSRVNAME", Ignored),
    parameter("load_balance_hosts", "PGLOADBALANCEHOSTS", Same),
    parameter("max_protocol_version", "PGMAXPROTOCOLVERSION", Same),
    parameter("min_protocol_version", "PGMINPROTOCOLVERSION", Same),
    parameter("oauth_client_id", "", Same),
    parameter("oauth_client_secret", "", Same),
    parameter("oauth_issuer", "", Same),
    parameter("oauth_scope", "", Same),
    parameter("options", "PGOPTIONS", Same),
    parameter("passfile", "PGPASSFILE", Same),
    parameter("password", "PGPASSWORD", Same),
    parameter("port", "PGPORT", Place),
    parameter("replication", "", Same),
    parameter("require_auth", "PGREQUIREAUTH", Methods),
    parameter("requirepeer", "PGREQUIREPEER", ServerUser),
    parameter("scram_client_key", "", Same),
    parameter("scram_server_key", "", Same),
    parameter("service", "PGSERVICE", Place),
    parameter("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", Ignored),
    parameter("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", Ignored),
    parameter("sslcert", "PGSSLCERT", Ignored),
    parameter("sslcertmode", "PGSSLCERTMODE", FailsUnless(&["allow", "disable"])),
    parameter("sslcompression", "PGSSLCOMPRESSION", Ignored),
    parameter("sslcrl", "PGSSLCRL", Ignored),
    parameter("sslcrldir", "PGSSLCRLDIR", Ignored),
    parameter("sslkey", "PGSSLKEY", Ignored),
    parameter("sslkeylogfile", "", Ignored),
    parameter("sslmode", "PGSSLMODE", Ignored),
    // With a weak `sslmode`, the value `direct` fails over both transports.
    parameter("sslnegotiation", "PGSSLNEGOTIATION", Ignored),
    parameter("sslpassword", "", Ignored),
    parameter("sslrootcert", "PGSSLROOTCERT", Ignored),
    parameter("sslsni", "PGSSLSNI", Ignored),
    parameter("target_session_attrs", "PGTARGETSESSIONATTRS", Same),
    parameter("tcp_user_timeout", "", Ignored),
    parameter("tty", "PGTTY", Ignored),
    parameter("user", "PGUSER", Same),
];

/// Returns the parameter that has this name or this environment variable.
pub fn parameter_of(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|it| it.name == name || !it.variable.is_empty() && it.variable == name)
}

/// A parameter that is set and that may make a connection over the socket fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The parameter as it was written: `PGCHANNELBINDING=require`.
    pub written: String,
    pub value: String,
    pub over_socket: OverSocket,
}

impl Condition {
    /// Returns the condition that a parameter sets for connections over a socket; `None` if it sets no condition.
    /// `name` is the parameter's name or its environment variable.
    pub fn of(name: &str, value: &str) -> Option<Self> {
        let over_socket = parameter_of(name)?.over_socket;
        let asks = match over_socket {
            Same | Place | Ignored => false,
            FailsUnless(harmless) => !harmless.contains(&value),
            ServerUser | Methods => true,
        };
        let condition = || Self { written: format!("{name}={value}"), value: value.to_owned(), over_socket };
        (asks && !value.is_empty()).then(condition)
    }

    /// Checks whether a server that runs as this user meets the condition.
    pub fn admits_user(&self, user: &str) -> bool {
        self.value == user
    }

    /// Checks whether the value of `require_auth` accepts this login method of libpq, which may be `none`. The value
    /// lists either the accepted methods (`a,b`) or the refused methods (`!a,!b`).
    pub fn admits_method(&self, method: &str) -> bool {
        let mut listed = self.value.split(',');
        let is_negated = self.value.starts_with('!');
        let is_listed = listed.any(|it| it.trim_start_matches('!') == method);
        is_listed != is_negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_is_there_once() {
        assert!(PARAMETERS.windows(2).all(|it| it[0].name < it[1].name));
        assert!(parameter_of("").is_none());
        assert_eq!(parameter_of("PGSSLMODE"), parameter_of("sslmode"));
    }

    #[test]
    fn a_parameter_that_a_socket_may_not_meet_is_a_condition() {
        for (name, value, is_one) in [
            ("channel_binding", "require", true),
            ("channel_binding", "prefer", false),
            ("PGCHANNELBINDING", "require", true),
            ("PGREQUIREPEER", "postgres", true),
            ("gssencmode", "require", true),
            ("gssencmode", "", false),
            ("sslcertmode", "require", true),
            ("require_auth", "none", true),
            ("sslmode", "verify-full", false),
            ("colour", "red", false),
        ] {
            assert_eq!(Condition::of(name, value).is_some(), is_one, "{name}={value}");
        }
    }

    #[test]
    fn methods_are_admitted_as_libpq_admits_them() {
        for (value, method, is_admitted) in [
            ("scram-sha-256", "scram-sha-256", true),
            ("scram-sha-256", "none", false),
            ("md5,none", "none", true),
            ("!none", "scram-sha-256", true),
            ("!none", "none", false),
            ("!password,!md5", "md5", false),
        ] {
            let condition = Condition::of("require_auth", value).unwrap();
            assert_eq!(condition.admits_method(method), is_admitted, "{value} {method}");
        }
    }
}
