//! `--map ADDRESS=SOCKET`.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path;

use looptax_failure::Failure;
use looptax_redirect::SocketName;

use super::candidate::{Candidate, mapping, named};

fn wrong(text: &str, what: impl fmt::Display) -> Failure {
    Failure::usage(
        format!("--map `{text}`: {what}"),
        "for example --map 127.0.0.1:3306=/run/mysqld/mysqld.sock, or [::1]:5432=@name",
    )
}

/// What one `--map` means. A relative path is taken from the working folder as it is now.
fn parse(text: &str) -> Result<Candidate, Failure> {
    let wrong = |what: &str| wrong(text, what);
    let Some((from, to)) = text.split_once('=') else {
        return Err(wrong("there is no `=` between address and socket"));
    };
    let from: SocketAddr = from
        .replace("localhost:", "127.0.0.1:")
        .parse()
        .map_err(|_| wrong("an address is an IP address with a port"))?;
    if from.port() == 0 || from.ip().is_unspecified() {
        return Err(wrong("an address is what programs connect to"));
    }
    if to.is_empty() || to == "@" {
        return Err(wrong("the socket has no name"));
    }
    let to = match named(to) {
        SocketName::Path(path) => SocketName::Path(path::absolute(&path)?),
        name @ SocketName::Abstract(_) => name,
    };
    Ok(Candidate {
        from: vec![from],
        checked: objection(&to).into_iter().collect(),
        warning: None,
        to,
        server: None,
        stays: None,
        demands: Vec::new(),
    })
}

/// All that `--map` says; one address leads to one socket.
pub(super) fn parse_all(texts: &[String]) -> Result<Vec<Candidate>, Failure> {
    let mut found: Vec<Candidate> = Vec::new();
    for text in texts {
        let next = parse(text)?;
        if found.iter().any(|it| it.from == next.from) {
            return Err(Failure::usage(
                format!("--map `{text}`: its address is mapped already"),
                "one address can lead to one socket",
            ));
        }
        found.push(next);
        mapping(&found)
            .check()
            .map_err(|error| wrong(text, error))?;
    }
    Ok(found)
}

/// What keeps connections on TCP as things are now; the server may come later.
fn objection(to: &SocketName) -> Option<String> {
    let SocketName::Path(path) = to else {
        return None;
    };
    let meanwhile = "until that changes, connections stay on TCP";
    match fs::metadata(path) {
        Err(error) => Some(format!("cannot be reached now ({error}); {meanwhile}")),
        Ok(found) if !found.file_type().is_socket() => Some(format!("is no socket; {meanwhile}")),
        Ok(_) => rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
            .err()
            .map(|error| format!("may not be used ({error}); {meanwhile}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, from: &str, to: &SocketName) {
        let found = parse(text).unwrap();
        assert_eq!(found.from, [from.parse().unwrap()]);
        assert_eq!(&found.to, to);
    }

    #[test]
    fn an_address_and_a_socket_are_read() {
        let path = |text: &str| SocketName::Path(text.into());
        check(
            "127.0.0.1:3306=/run/a=b.sock",
            "127.0.0.1:3306",
            &path("/run/a=b.sock"),
        );
        check("localhost:1=/s", "127.0.0.1:1", &path("/s"));
        check(
            "[::1]:5432=@pg",
            "[::1]:5432",
            &SocketName::Abstract(b"pg".to_vec()),
        );
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "x",
            "127.0.0.1=/s",
            "127.0.0.1:0=/s",
            "0.0.0.0:1=/s",
            "127.0.0.1:1=",
            "127.0.0.1:1=@",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
