//! The client's side of SCRAM-SHA-256, for every protocol that uses it.
//!
//! This file only makes and checks texts; each protocol decides how they are sent. Called by the logins of PostgreSQL
//! and `MongoDB`. The server has to prove that it knows the password before the login continues.
//!
//! # Source
//! RFC 5802, RFC 7677.

use std::fmt::{self, Debug};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::random;

pub(crate) const SCRAM_SHA_256: &str = "SCRAM-SHA-256";

/// Highest number of rounds that a server may request. The server states the number before it has proved its identity,
/// and each round takes time. PostgreSQL's default is 4096, `MongoDB`'s 15000; PostgreSQL's JDBC driver has the same
/// limit (CVE-2026-42198).
const MOST_ROUNDS: u32 = 100_000;
/// Number of random bytes in a nonce: a multiple of three, so that base64 needs no padding.
const NONCE_BYTES: usize = 24;
/// The text before the first message. It means that there is no channel binding, and that no other identity is
/// requested.
const HEADER: &str = "n,,";

pub(crate) struct Exchange {
    password: Vec<u8>,
    nonce: String,
    /// The first message without its header.
    bare: String,
}

/// Our answer to a challenge, and the value that the server's last message must match.
pub(crate) struct Answer {
    pub(crate) message: String,
    salted: [u8; 32],
    signed: String,
}

/// Keeps the salted password of a login for later logins: an account's salt stays the same, and the 4,096 rounds that
/// compute the salted password take milliseconds. Copies share the kept value. By default nothing is kept, as in most
/// clients.
///
/// # Source
/// RFC 5802, section 5.1: a client may keep the salted password.
#[derive(Clone, Default)]
pub struct Salted(Option<Arc<Mutex<Option<Made>>>>);

struct Made {
    of: (Vec<u8>, Vec<u8>, u32),
    salted: [u8; 32],
}

impl Salted {
    /// Returns a `Salted` that keeps the last salted password.
    pub fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    fn or_made(&self, password: &[u8], salt: &[u8], n_rounds: u32) -> [u8; 32] {
        let Some(kept) = &self.0 else {
            return salted(password, salt, n_rounds);
        };
        let of = (password.to_vec(), salt.to_vec(), n_rounds);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(made) if made.of == of => made.salted,
            _ => {
                let salted = salted(password, salt, n_rounds);
                *kept = Some(Made { of, salted });
                salted
            }
        }
    }
}

/// Prints nothing of the salted password.
impl Debug for Salted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salted")
    }
}

impl Exchange {
    /// Begins an exchange. PostgreSQL does not need the user name in the exchange, because it already knows the name.
    ///
    /// # Errors
    /// If the kernel returns no random bytes.
    pub(crate) fn begin(user: &str, password: &str) -> io::Result<Self> {
        let nonce = STANDARD.encode(random::bytes::<NONCE_BYTES>()?);
        Ok(Self::with_nonce(user, password, nonce))
    }

    fn with_nonce(user: &str, password: &str, nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        // If SASLprep does not allow the password, the password is used unchanged. PostgreSQL does the same.
        let password = stringprep::saslprep(password)
            .map_or_else(|_| password.as_bytes().to_vec(), |it| it.into_owned().into_bytes());
        Self { password, bare: format!("n={user},r={nonce}"), nonce }
    }

    pub(crate) fn first(&self) -> String {
        format!("{HEADER}{}", self.bare)
    }

    /// Answers the challenge. Uses the kept salted password if it belongs to this challenge. `None` if the challenge
    /// does not contain our nonce, or requests more than 100 000 rounds.
    pub(crate) fn answer(&self, challenge: &[u8], kept: &Salted) -> Option<Answer> {
        let challenge = str::from_utf8(challenge).ok()?;
        let mut parts = challenge.split(',');
        let nonce = parts.next()?.strip_prefix("r=")?;
        let salt = STANDARD.decode(parts.next()?.strip_prefix("s=")?).ok()?;
        let n_rounds: u32 = parts.next()?.strip_prefix("i=")?.parse().ok()?;
        if !nonce.starts_with(&self.nonce) || !(1..=MOST_ROUNDS).contains(&n_rounds) {
            return None;
        }
        let salted = kept.or_made(&self.password, &salt, n_rounds);
        let client_key = keyed(&salted, b"Client Key");
        let unproved = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let signed = format!("{},{challenge},{unproved}", self.bare);
        let signature = keyed(&Sha256::digest(client_key), signed.as_bytes());
        let mut proof = client_key;
        mix(&mut proof, &signature);
        Some(Answer { message: format!("{unproved},p={}", STANDARD.encode(proof)), salted, signed })
    }
}

impl Answer {
    /// Checks whether the server's last message proves that the server knows the password.
    pub(crate) fn is_proved_by(&self, last: &[u8]) -> bool {
        let signature = last.strip_prefix(b"v=").unwrap_or_default();
        let signature = signature.split(|byte| *byte == b',').next();
        let signature = STANDARD.decode(signature.unwrap_or_default());
        let server_key = keyed(&self.salted, b"Server Key");
        let code = hmac(&server_key).chain_update(self.signed.as_bytes());
        signature.is_ok_and(|signature| code.verify_slice(&signature).is_ok())
    }
}

fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key may have any length")
}

fn keyed(key: &[u8], text: &[u8]) -> [u8; 32] {
    hmac(key).chain_update(text).finalize().into_bytes().into()
}

/// Computes PBKDF2 with one block.
fn salted(password: &[u8], salt: &[u8], n_rounds: u32) -> [u8; 32] {
    let key = hmac(password);
    let round = |text: &[u8]| -> [u8; 32] {
        let code = key.clone().chain_update(text);
        code.finalize().into_bytes().into()
    };
    let mut last = round(&[salt, &[0, 0, 0, 1]].concat());
    let mut all = last;
    for _ in 1..n_rounds {
        last = round(&last);
        mix(&mut all, &last);
    }
    all
}

fn mix(into: &mut [u8; 32], other: &[u8; 32]) {
    for (byte, other) in into.iter_mut().zip(other) {
        *byte ^= other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const CHALLENGE: &[u8] = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const LAST: &[u8] = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    fn exchange(user: &str) -> Exchange {
        Exchange::with_nonce(user, "pencil", NONCE.to_owned())
    }

    #[test]
    fn the_exchange_of_the_rfc_comes_out() {
        let exchange = exchange("user");
        assert_eq!(exchange.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let answer = exchange.answer(CHALLENGE, &Salted::default()).unwrap();
        assert_eq!(
            answer.message,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(answer.is_proved_by(LAST));
        for last in [&LAST[..20], b"v=", b"", b"e=other-error", &LAST[1..]] {
            assert!(!answer.is_proved_by(last));
        }
    }

    #[test]
    fn what_is_kept_is_for_its_own_password_salt_and_rounds() {
        let kept = Salted::kept();
        let other_salt = String::from_utf8_lossy(CHALLENGE).replace("s=W22Z", "s=X22Z");
        let fewer = String::from_utf8_lossy(CHALLENGE).replace("i=4096", "i=4095");
        let challenges = [CHALLENGE, other_salt.as_bytes(), CHALLENGE, fewer.as_bytes()];
        for (password, challenge) in
            [("pencil", CHALLENGE), ("pen", CHALLENGE)].into_iter().chain(challenges.map(|it| ("pencil", it)))
        {
            let exchange = Exchange::with_nonce("user", password, NONCE.to_owned());
            let message = |kept: &Salted| exchange.answer(challenge, kept).unwrap().message;
            let made = message(&Salted::default());
            // The message is computed again, then made from the kept result, also by a copy.
            assert_eq!(message(&kept), made);
            assert_eq!(message(&kept.clone()), made);
        }
        assert_eq!(format!("{kept:?}"), "Salted");
    }

    #[test]
    fn challenges_that_are_none_are_refused() {
        let text = |from: &str, to: &str| String::from_utf8_lossy(CHALLENGE).replace(from, to);
        for wrong in [
            text("rOpr", "rOpq"),
            text("i=4096", "i=100001"),
            text("i=4096", "i=0"),
            text(",i=4096", ""),
            text("s=W", "s=*"),
            String::new(),
        ] {
            assert!(exchange("user").answer(wrong.as_bytes(), &Salted::default()).is_none(), "{wrong}");
        }
        assert!(exchange("user").answer(&[0xff; 40], &Salted::default()).is_none());
    }

    #[test]
    fn names_and_passwords_are_prepared() {
        assert_eq!(exchange("a=b,c").bare, format!("n=a=3Db=2Cc,r={NONCE}"));
        // SASLprep turns U+00A0 into a blank and removes U+00AD (RFC 4013).
        let prepared = Exchange::with_nonce("", "a\u{a0}\u{ad}b", String::new());
        assert_eq!(prepared.password, b"a b");
        let two = [Exchange::begin("", "").unwrap(), Exchange::begin("", "").unwrap()];
        assert_ne!(two[0].nonce, two[1].nonce);
    }
}
