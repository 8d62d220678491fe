//! Generates addresses of every form, each with a marked secret, and checks that the secret is read correctly and
//! never shown.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]
#![allow(clippy::unwrap_used, reason = "these are tests")]

use looptax_model::dsn::{Address, masked, secrets_in, shown};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The first and the last three characters of every secret.
const MARKS: [&str; 2] = ["qZ7", "7Zq"];
/// The characters that a secret may have in between: all characters with a meaning in one of the forms, and characters
/// of other scripts.
const AWKWARD: &[char] = &[
    '@',
    '/',
    ':',
    '?',
    '#',
    '&',
    '=',
    ';',
    ',',
    ' ',
    '\'',
    '"',
    '\\',
    '%',
    '+',
    '(',
    ')',
    'ü',
    '秘',
    '\u{1f511}',
    '[',
    ']',
    '|',
    '$',
    '.',
    '-',
    '~',
    '\t',
];
const SECRETS: usize = 400;

fn secret(random: &mut impl Rng) -> String {
    let n_chars = random.next_u32() % 12;
    let middle = (0..n_chars).map(|_| AWKWARD[random.next_u32() as usize % AWKWARD.len()]);
    format!("{}{}{}", MARKS[0], middle.collect::<String>(), MARKS[1])
}

/// Encodes every byte except ASCII letters and digits as `%XX`.
fn percent(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

/// Encodes only `%`, the tab, and the characters that would end the part of the address.
fn least(text: &str, ends: &str) -> String {
    let encoded = text.chars().map(|c| match c {
        c if ends.contains(c) || "%\t".contains(c) => percent(&c.to_string()),
        c => c.to_string(),
    });
    encoded.collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn escaped(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_whitespace() => format!("\\{c}"),
        c => c.to_string(),
    });
    escaped.collect()
}

/// Returns an address of every form that looptax reads; `secret` is in each place that a form has for it.
fn addresses(secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for login in [percent(secret), least(secret, "@/:?#[]")] {
        for url in [
            "mysql://u:S@127.0.0.1:3307/db",
            "mariadb://ü:S@localhost",
            "mysql://u:S@%2Frun%2Fmysqld.sock/d",
            "postgres://u:S@[::1]/d?sslmode=disable",
            "postgresql+psycopg2://u:S@h/d?application_name=me",
            "redis://:S@127.0.0.1/2",
            "unix://u:S@/run/redis.sock?db=3",
            "memcached://u:S@127.0.0.1",
        ] {
            found.push(url.replace('S', &login));
        }
    }
    for value in [percent(secret), least(secret, "&#+")] {
        for url in [
            "postgres://u@h:5433/d?password=S",
            "postgresql:///d?host=/run/postgresql&user=u&password=S&port=5433",
            "mysql://h/d?socket=/run/s&password=S&user=u",
            "redis://127.0.0.1?password=S#x",
            "redis+socket:///run/r.sock?p%61ssword=S&db=1",
        ] {
            found.push(url.replace('S', &value));
        }
    }
    for value in [quoted(secret), escaped(secret)] {
        for text in
            ["host=127.0.0.1 password=S user=u", "user=u password = S", "password=S host=/run/postgresql port=5433"]
        {
            found.push(text.replace('S', &value));
        }
    }
    found
}

/// Returns addresses of forms in which a secret may be printed although it is not encoded, or which only an
/// application reads.
fn others(secret: &str) -> Vec<String> {
    [
        "mysql://u:S@h/d",
        "jdbc:mariadb://h/d?user=u&password=S",
        "u:S@tcp(127.0.0.1:3306)/d",
        "u:S@unix(/run/s)/d?x=y",
        "tcp://127.0.0.1:6379?auth=S",
        "mongodb://u:S@%2Ftmp%2Fm.sock/a",
        "--login=mysql://u:S@h/d",
        "URL=postgres://u:S@h/d",
    ]
    .map(|text| text.replace('S', secret))
    .into_iter()
    // In these two forms an `&` in the secret would end the parameter, so the text would contain only a part of the
    // secret.
    .filter(|text| !text.contains("?auth") && !text.contains("?user") || !secret.contains('&'))
    .collect()
}

#[track_caller]
fn check_hidden(text: &str) {
    let ranges = secrets_in(text);
    for mark in MARKS {
        let at = text.find(mark).unwrap();
        let is_covered = |at: usize| ranges.iter().any(|range| range.contains(&at));
        assert!(is_covered(at) && is_covered(at + 2), "{ranges:?} of {text}");
        for found in [masked(text), shown(text)] {
            assert!(!found.contains(mark), "{found} of {text}");
        }
    }
}

#[test]
fn a_secret_is_read_back_from_every_form_and_hidden_in_it() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..SECRETS {
        let secret = secret(&mut random);
        for text in addresses(&secret) {
            check_hidden(&text);
            let address = Address::parse(&text);
            let address = address.unwrap_or_else(|error| panic!("{error}: {text}"));
            let password = address.password.as_ref().unwrap();
            assert_eq!(password.reveal(), secret, "{text}");
            let printed = format!("{address:?} {password}");
            assert!(!MARKS.iter().any(|mark| printed.contains(mark)), "{printed}");
        }
        for text in others(&secret) {
            check_hidden(&text);
        }
    }
}

#[test]
fn what_cannot_be_read_does_not_say_its_secret() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for _ in 0..SECRETS {
        let secret = secret(&mut random);
        for url in ["mysql://u:S@h:x/d", "oracle://u:S@h", "rediss://:S@h", "S", "http:S"] {
            let text = url.replace('S', &secret);
            if let Err(error) = Address::parse(&text) {
                let error = format!("{error} {error:?}");
                assert!(!MARKS.iter().any(|mark| error.contains(mark)), "{error}");
            }
        }
    }
}
