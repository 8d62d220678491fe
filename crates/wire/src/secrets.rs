//! The passwords of this process's logins, which must not appear in a peer's text that looptax prints.
//!
//! A peer that answers a login may know the password, and may put it into an error, a version or a name. Therefore all
//! text from a peer passes through [`masked`] before it is kept.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use looptax_model::dsn::Secret;

/// Length of the shortest password that is masked, in bytes: a shorter password may be part of ordinary words.
const SHORTEST: usize = 3;
/// Highest number of passwords that are kept; for each further password, the oldest is dropped.
const MOST: usize = 64;
const MASK: &[u8] = b"****";

static SECRETS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Adds a password. From now on, looptax masks the password in each text of a peer. A password of fewer than three
/// bytes is not masked.
pub fn keep_out_of_words(secret: &Secret) {
    let secret = secret.reveal().as_bytes();
    let mut all = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    if secret.len() < SHORTEST || all.iter().any(|it| it == secret) {
        return;
    }
    if all.len() >= MOST {
        all.remove(0);
    }
    all.push(secret.to_vec());
}

/// Returns about the first `most` bytes, with stars in place of each password. If these bytes contain passwords, fewer
/// bytes may be returned.
pub(crate) fn masked(bytes: &[u8], most: usize) -> Cow<'_, [u8]> {
    let all = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = Cow::Borrowed(&bytes[..bytes.len().min(most + longest)]);
    for secret in all.iter() {
        if text.windows(secret.len()).any(|it| it == secret) {
            text = Cow::Owned(without(&text, secret));
        }
    }
    if bytes.len() > most + longest {
        // The cut may be within a password, so bytes that may be the beginning of a password are removed, too.
        let kept = text.len().saturating_sub(longest);
        text = Cow::Owned(text[..kept].to_vec());
    }
    text
}

fn without(text: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut rest = text;
    let mut kept = Vec::with_capacity(text.len());
    while let Some(at) = rest.windows(secret.len()).position(|it| it == secret) {
        kept.extend_from_slice(&rest[..at]);
        kept.extend_from_slice(MASK);
        rest = &rest[at + secret.len()..];
    }
    kept.extend_from_slice(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_repeats_of_a_password_is_stars() {
        keep_out_of_words(&Secret::new("S3cret€nv"));
        keep_out_of_words(&Secret::new("ab"));
        let said = "no *2 $4 AUTH $9 S3cret€nv, S3cret€nv: ab".as_bytes();
        assert_eq!(masked(said, 800), "no *2 $4 AUTH $9 ****, ****: ab".as_bytes());
        // The cut may be in the middle of the password.
        assert_eq!(masked(said, 20), b"no *2 $4 AUTH".as_slice());
        assert_eq!(masked(b"fine", 800), b"fine".as_slice());
    }
}
