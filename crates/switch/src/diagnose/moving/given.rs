//! Parses the candidates of `--map ADDRESS=SOCKET`, and of `--also`, which has the same syntax.

use std::fmt;
use std::net::SocketAddr;
use std::path;

use looptax_model::failure::Failure;
use looptax_redirect::SocketName;

use super::candidate::{Candidate, mapping, named, shown};
use crate::diagnose::listener::{Listener, another};

fn wrong(option: &str, text: &str, what: impl fmt::Display) -> Failure {
    Failure::usage(
        format!("{option} `{text}`: {what}"),
        format!("for example {option} 127.0.0.1:3306=/run/mysqld/mysqld.sock, or [::1]:5432=@name"),
    )
}

/// Parses one value of `--map` or `--also`. A relative path starts at the current working folder.
fn parse(option: &str, text: &str) -> Result<Candidate, Failure> {
    let wrong = |what: &str| wrong(option, text, what);
    let Some((from, to)) = text.split_once('=') else {
        return Err(wrong("there is no `=` between address and socket"));
    };
    let parsed = from.replace("localhost:", "127.0.0.1:").parse();
    let from: SocketAddr =
        parsed.map_err(|_| wrong(&format!("`{from}` is not an IP address with a port, such as 127.0.0.1:3306")))?;
    if from.port() == 0 || from.ip().is_unspecified() {
        return Err(wrong("pass an address that a program can connect to, for example 127.0.0.1:3306"));
    }
    if to.is_empty() || to == "@" {
        return Err(wrong("the socket after `=` is missing: write a path, or @ and an abstract name"));
    }
    let to = match named(to) {
        SocketName::Path(path) => SocketName::Path(path::absolute(&path)?),
        name @ SocketName::Abstract(_) => name,
    };
    let listener = Listener::of(&to);
    let other = listener.as_ref().ok().and_then(|it| another(it, from));
    let warning =
        other.map(|who| format!("{} belongs to {who}: check whether this is the server that you mean", shown(&to)));
    let idle = listener.err().map(|why| format!("{} {why}; until this changes, connections stay on TCP", shown(&to)));
    Ok(Candidate { idle, warnings: warning.into_iter().collect(), ..Candidate::new(vec![from], to) })
}

/// Parses all values of `--map` or `--also`. An address may lead to only one socket.
pub(super) fn parse_all(option: &str, texts: &[String]) -> Result<Vec<Candidate>, Failure> {
    let mut found: Vec<Candidate> = Vec::new();
    for text in texts {
        let next = parse(option, text)?;
        if found.iter().any(|it| it.from == next.from) {
            return Err(Failure::usage(
                format!("{option} `{text}`: this address is mapped already"),
                "map each address to only one socket",
            ));
        }
        found.push(next);
        mapping(&found).check().map_err(|error| wrong(option, text, error))?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, from: &str, to: &SocketName) {
        let found = parse("--map", text).unwrap();
        assert_eq!(found.from, [from.parse().unwrap()]);
        assert_eq!(&found.to, to);
    }

    #[test]
    fn an_address_and_a_socket_are_read() {
        let path = |text: &str| SocketName::Path(text.into());
        check("127.0.0.1:3306=/run/a=b.sock", "127.0.0.1:3306", &path("/run/a=b.sock"));
        check("localhost:1=/s", "127.0.0.1:1", &path("/s"));
        check("[::1]:5432=@pg", "[::1]:5432", &SocketName::Abstract(b"pg".to_vec()));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "x", "127.0.0.1=/s", "127.0.0.1:0=/s", "0.0.0.0:1=/s", "127.0.0.1:1=", "127.0.0.1:1=@"] {
            assert!(parse("--map", text).is_err(), "{text}");
        }
    }
}
