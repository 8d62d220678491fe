//! The options in a `MongoDB` URL's query, adapted to a socket.

use looptax_model::dsn::{Pair, Query};

/// The option that makes a driver use only the server in the URL.
const DIRECT: &str = "directConnection=true";

/// The options for a socket, and warnings about the options that are left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MongodbOptions {
    /// The options as a query, in the order of the URL and still percent-encoded; `None` if there are no options.
    pub kept: Option<String>,
    pub traps: Vec<String>,
}

impl MongodbOptions {
    /// Sorts the options of a URL; `is_one_of_several` means that the URL names several servers, or one server of a
    /// replica set.
    pub fn on_a_socket(query: &str, is_one_of_several: bool) -> Self {
        let mut kept: Vec<&str> = Vec::new();
        let mut traps = Vec::new();
        let mut of_tls = Vec::new();
        let mut has_set = false;
        for pair in Query::new(query).pairs() {
            let (name, value) = (pair.name().to_ascii_lowercase(), pair.value());
            match &*name {
                "replicaset" => has_set = true,
                "directconnection" if value == "true" => kept.push(DIRECT),
                "directconnection" if is_one_of_several => {}
                _ if is_about_tls(&name, &value) => of_tls.push(pair.name()),
                _ => kept.push(pair.text),
            }
        }
        if is_one_of_several && !kept.contains(&DIRECT) {
            kept.push(DIRECT);
        }
        if has_set {
            traps.push(format!(
                "{DIRECT} replaces replicaSet, because a replica set sends its clients to hosts and ports; this \
                 server accepts writes only while it is the primary of the set"
            ));
        } else if is_one_of_several {
            traps.push(format!(
                "this socket leads only to the first server of the URL, so {DIRECT} replaces the other servers"
            ));
        }
        if !of_tls.is_empty() {
            traps.push(format!(
                "left out: {}; FerretDB's socket has no TLS, and a mongod's socket accepts clients without TLS, \
                 except under requireTLS before version 8.3",
                of_tls.join(", ")
            ));
        }
        if Query::new(query).pairs().any(|pair| is_by_certificate(&pair)) {
            traps.push(
                "MONGODB-X509 logs in with the TLS certificate, which a socket without TLS does not have".to_owned(),
            );
        }
        Self { kept: (!kept.is_empty()).then(|| kept.join("&")), traps }
    }
}

/// Whether an option demands TLS or configures it; `name` is in lower case.
fn is_about_tls(name: &str, value: &str) -> bool {
    let is_refusal = matches!(name, "tls" | "ssl") && value == "false";
    ["tls", "ssl"].iter().any(|it| name.starts_with(it)) && !is_refusal
}

fn is_by_certificate(pair: &Pair<'_>) -> bool {
    pair.name().eq_ignore_ascii_case("authMechanism") && pair.value() == "MONGODB-X509"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `traps` are words from each expected warning, in order.
    #[track_caller]
    fn check(query: &str, is_one_of_several: bool, kept: &str, traps: &[&str]) {
        let found = MongodbOptions::on_a_socket(query, is_one_of_several);
        assert_eq!(found.kept.as_deref().unwrap_or_default(), kept, "{query}");
        assert_eq!(found.traps.len(), traps.len(), "{:?}", found.traps);
        for (said, words) in found.traps.iter().zip(traps) {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn what_makes_sense_on_a_socket_stays_as_it_was_written() {
        for query in [
            "",
            "authSource=%24external&authMechanism=PLAIN",
            "retryWrites=false&w=majority&readPreferenceTags=dc:ny,rack:1&appName=a%20b",
            "tls=false&directConnection=true",
            "directConnection=false",
        ] {
            check(query, false, query, &[]);
        }
        check("directconnection=true", false, DIRECT, &[]);
    }

    #[test]
    fn a_set_gives_way_to_a_direct_connection_and_says_so() {
        let direct = "authSource=admin&directConnection=true";
        let set = ["replaces replicaSet"];
        check("authSource=admin&replicaSet=rs0", true, direct, &set);
        check("replicaset=rs0&authSource=admin", true, direct, &set);
        check("directConnection=false&replicaSet=rs0&w=1", true, "w=1&directConnection=true", &set);
        check("directConnection=true&replicaSet=rs0&w=1", true, "directConnection=true&w=1", &set);
        check("authSource=admin", true, direct, &["only to the first server"]);
        check("", true, DIRECT, &["only to the first server"]);
    }

    #[test]
    fn tls_is_left_out_by_its_names_alone() {
        check(
            "tls=true&w=1&tlsCertificateKeyFilePassword=geheim",
            false,
            "w=1",
            &["left out: tls, tlsCertificateKeyFilePassword;"],
        );
        check("ssl=true", false, "", &["left out: ssl;"]);
        check(
            "tls=true&authMechanism=MONGODB-X509",
            false,
            "authMechanism=MONGODB-X509",
            &["left out: tls;", "certificate"],
        );
    }
}
