//! Whether a process's arguments or environment contain a setting that needs something that a Unix socket does not
//! provide.
//!
//! Only letters, digits, `?` and `&` are compared, so a blank, quote, escape, dash or equals sign does not hide a
//! demand. A URL escape such as `%71` is compared both as it is and decoded. A text contains a demand if it has the
//! demand's words, followed by any value that is not harmless. If the arguments or the environment cannot be read, all
//! demands count as present.

use std::fs::File;
use std::os::unix::fs::FileExt;

use looptax_host::kernel;

use crate::{Demand, Mapping};

/// Maximum number of rounds of decoding; a text may have been escaped several times.
const MAX_ESCAPES: usize = 3;

/// The demands of a process, valid as long as it runs the same program.
#[derive(Debug)]
pub(crate) struct Demands {
    /// The process's environment file; once the process executes another program, this file is empty.
    environment: Option<File>,
    by_route: Vec<bool>,
}

impl Demands {
    /// Reads the arguments and the environment of a thread's process.
    pub(crate) fn read(tid: i32, mapping: &Mapping) -> Self {
        let environment = kernel::open(format!("/proc/{tid}/environ")).ok();
        let words = ["cmdline", "environ"].map(|name| kernel::read(format!("/proc/{tid}/{name}")));
        let routes = mapping.routes.iter();
        let by_route = match words {
            [Ok(arguments), Ok(variables)] if environment.is_some() => {
                let texts: Vec<_> = [arguments, variables].into_iter().flat_map(spellings).collect();
                let is_in = |demand: &Demand| texts.iter().any(|text| demand.is_in(text));
                routes.map(|it| it.demands.iter().any(is_in)).collect()
            }
            _ => routes.map(|it| !it.demands.is_empty()).collect(),
        };
        Self { environment, by_route }
    }

    /// Returns whether the process still runs the same program; false if the process has no environment, because then
    /// looptax cannot know this.
    pub(crate) fn is_current(&self) -> bool {
        let first = |file: &File| file.read_at(&mut [0], 0);
        self.environment.as_ref().map(first).is_some_and(|it| it.is_ok_and(|n_bytes| n_bytes > 0))
    }

    /// Returns whether the demands keep a route on TCP.
    pub(crate) fn keeps(&self, route_idx: usize) -> bool {
        self.by_route.get(route_idx).copied().unwrap_or_default()
    }
}

impl Demand {
    /// Returns whether a text, in the form that `plain` returns, contains the demand.
    fn is_in(&self, text: &[u8]) -> bool {
        let words = plain(self.words.as_bytes());
        let mut places = text.windows(words.len().max(1)).enumerate();
        places.any(|(at, window)| {
            let behind = text.get(at + words.len()..).unwrap_or_default();
            window == words && !self.harmless.iter().any(|it| behind.starts_with(it.as_bytes()))
        })
    }
}

/// Returns all readings of a text: the text itself and, if it contains URL escapes, the text after each round of
/// decoding. All of them are in the form that `plain` returns.
fn spellings(mut text: Vec<u8>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for _ in 0..MAX_ESCAPES {
        found.push(plain(&text));
        let meant = unescaped(&text);
        if meant == text {
            return found;
        }
        text = meant;
    }
    found.push(plain(&text));
    found
}

/// Returns only the letters and digits of a text, in lower case, and `?` and `&`, which begin a parameter of a URL.
fn plain(text: &[u8]) -> Vec<u8> {
    let kept = text.iter().filter(|byte| byte.is_ascii_alphanumeric() || b"?&".contains(byte));
    kept.map(u8::to_ascii_lowercase).collect()
}

/// Decodes URL escapes. Source: RFC 3986, 2.1.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut found = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        match behind {
            [high, low, behind @ ..] if *first == b'%' => {
                if let (Some(high), Some(low)) = (digit(high), digit(low)) {
                    found.push((high * 16 + low) as u8);
                    rest = behind;
                    continue;
                }
            }
            _ => {}
        }
        found.push(*first);
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let demands = [
            ("sslmode", &["disable", "allow", "prefer"][..]),
            ("channelbinding", &["disable", "prefer"]),
            ("?tls", &["false"]),
        ];
        let texts = spellings(text.into());
        let is_said = demands.iter().any(|(words, harmless)| {
            let demand =
                Demand { words: (*words).to_owned(), harmless: harmless.iter().map(|it| (*it).to_owned()).collect() };
            texts.iter().any(|text| demand.is_in(text))
        });
        assert_eq!(is_said, expected, "{text}");
    }

    #[test]
    fn r18_a_demand_is_found_however_it_is_spelled() {
        for text in [
            "sslmode=require",
            "sslmode = require",
            "sslmode='require'",
            "sslmode  =  \"verify-full\"",
            "sslmode=re\\quire",
            "psql\0--set\0PGSSLMODE=Require",
            "--sslmode\0verify-ca",
            "{\"sslmode\": \"require\"}",
            "'sslmode' => 'require'",
            "DB_SSL_MODE=require",
            "postgres://h/d?sslmode=re%71uire",
            "postgres://h/d?%73slmode=verify-ca",
            "next=postgres%253A%252F%252Fh%253Fsslmode%253Drequire",
            "sslmode=prefer sslmode=require",
            "sslmode=something-new",
            "x%1channel_binding=require",
            "u@tcp(h)/d?tls=skip-verify",
            "u@tcp(h)/d%3Ftls%3Dtrue",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn what_demands_nothing_is_none() {
        for text in [
            "",
            "sslmode=prefer",
            "sslmode = 'disable'",
            "PGSSLMODE=allow",
            "OPENSSL_MODULES=/usr/lib/x",
            "?tls=false",
            "%",
            "%7",
            "SMTP_TLS=true",
        ] {
            check(text, false);
        }
    }
}
