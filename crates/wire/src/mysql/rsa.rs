//! Encrypts a password with the server's RSA key: OAEP with SHA-1.
//!
//! `mysql_common` does the arithmetic, but it does not check the key: a modulus that is zero, or too small for the
//! password, would make it panic. The peer is untrusted, so this file first checks the key's whole structure. Called by
//! `sha2`.

use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use num_bigint::BigUint;

use crate::WireError;
use crate::mysql::fault;

/// Smallest accepted modulus, in bytes. Servers make keys of 2048 bits; with a key below 1024 bits, anybody could
/// decrypt the password.
const MIN_MODULUS_BYTES: usize = 128;

/// Largest accepted modulus, in bytes: 16384 bits, about a second of arithmetic.
const MAX_MODULUS_BYTES: usize = 2048;

/// The number of bytes in a block that OAEP with SHA-1 needs for itself: two digests and two bytes.
const OAEP_BYTES: usize = 2 * 20 + 2;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

/// A key that is safe for the arithmetic: its modulus and its exponent, big-endian.
#[derive(Debug, PartialEq)]
struct Key<'a> {
    modulus: &'a [u8],
    exponent: &'a [u8],
}

/// The DER structure that contains a key's numbers.
#[derive(Debug, Clone, Copy)]
enum Form {
    Pkcs1,
    /// The numbers together with the name of the algorithm.
    Spki,
}

/// Encrypts `secret` so that only the owner of the public key `pem` can read it.
pub(super) fn encrypt(action: &'static str, pem: &[u8], secret: &[u8]) -> Result<Vec<u8>, WireError> {
    let malformed = || fault::malformed(action, "an RSA public key", pem);
    let text = pem::parse(pem).map_err(|_| malformed())?;
    let form = match text.tag() {
        "PUBLIC KEY" => Form::Spki,
        "RSA PUBLIC KEY" => Form::Pkcs1,
        _ => return Err(malformed()),
    };
    let takes = MIN_MODULUS_BYTES..=MAX_MODULUS_BYTES;
    let key = key(text.contents(), form).filter(|key| takes.contains(&key.modulus.len()));
    let key = key.ok_or_else(malformed)?;
    if secret.len() + OAEP_BYTES > key.modulus.len() {
        return Err(WireError::Unsupported { what: "a password that is longer than the server's RSA key".to_owned() });
    }
    let [modulus, exponent] = [key.modulus, key.exponent].map(BigUint::from_bytes_be);
    PublicKey::new(modulus, exponent).encrypt_block(secret, Pkcs1OaepPadding::new(GetRandom)).map_err(|_| malformed())
}

/// Parses a key; `None` unless all of it is valid: the modulus is odd and fills whole bytes, the exponent is small, odd
/// and above 1.
///
/// # Source
/// RFC 8017 A.1.1 (the two integers), RFC 5280 4.1 (the structure with an algorithm).
fn key(der: &[u8], form: Form) -> Option<Key<'_>> {
    let (outer, _) = element(der, SEQUENCE)?;
    let numbers = match form {
        Form::Pkcs1 => outer,
        Form::Spki => {
            let (_algorithm, rest) = element(outer, SEQUENCE)?;
            let (bits, _) = element(rest, BIT_STRING)?;
            let (&0, key) = bits.split_first()? else {
                return None;
            };
            element(key, SEQUENCE)?.0
        }
    };
    let (modulus, rest) = element(numbers, INTEGER)?;
    let (exponent, _) = element(rest, INTEGER)?;
    // In DER, a zero byte precedes a number whose top bit is set, and marks it as positive. The library computes the
    // modulus's length correctly only if this bit is set, so a modulus without the zero byte is rejected.
    let (&0, modulus) = modulus.split_first()? else {
        return None;
    };
    let is_full = modulus.first()? & 0x80 != 0 && modulus.last()? & 1 == 1;
    let is_usable = exponent.len() <= 4 && exponent.last()? & 1 == 1 && exponent != [1];
    (is_full && is_usable).then_some(Key { modulus, exponent })
}

/// Returns the content of the DER element of type `tag` at the start of `der`, and the bytes after the element.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&length, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    let (n_bytes, content) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => {
            let (&[high, low], content) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes([high, low])), content)
        }
        _ => return None,
    };
    content.split_at_checked(n_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a PKCS #1 key: a sequence of two integers.
    fn pkcs1(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
        let long = |tag: u8, content: &[u8]| {
            let length = u16::try_from(content.len()).unwrap().to_be_bytes();
            [&[tag, 0x82, length[0], length[1]], content].concat()
        };
        let numbers = [long(INTEGER, modulus), long(INTEGER, exponent)].concat();
        long(SEQUENCE, &numbers)
    }

    fn modulus(n_bytes: usize) -> Vec<u8> {
        let mut modulus = vec![0xc1; n_bytes + 1];
        modulus[0] = 0;
        modulus
    }

    #[track_caller]
    fn check_der(der: &[u8], wanted: Option<usize>) {
        let found = key(der, Form::Pkcs1).map(|it| it.modulus.len());
        assert_eq!(found, wanted);
    }

    #[test]
    fn takes_only_whole_keys() {
        let whole = pkcs1(&modulus(256), &[1, 0, 1]);
        check_der(&whole, Some(256));
        for n_bytes in 0..whole.len() {
            check_der(&whole[..n_bytes], None);
        }
    }

    #[test]
    fn refuses_keys_that_break_the_arithmetic() {
        let mut even = modulus(256);
        even[256] = 0xc0;
        check_der(&pkcs1(&even, &[1, 0, 1]), None);
        check_der(&pkcs1(&[0], &[1, 0, 1]), None);
        check_der(&pkcs1(&[], &[1, 0, 1]), None);
        check_der(&pkcs1(&modulus(256), &[]), None);
        check_der(&pkcs1(&modulus(256), &[1]), None);
        check_der(&pkcs1(&modulus(256), &[2]), None);
        check_der(&pkcs1(&modulus(256), &[7; 64]), None);
    }

    #[test]
    fn refuses_garbage_as_a_key() {
        for pem in [
            &b""[..],
            b"-----BEGIN PUBLIC KEY-----",
            b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
            b"-----BEGIN PUBLIC KEY-----\nMIGf\n-----END PUBLIC KEY-----",
            b"-----BEGIN RSA PUBLIC KEY-----\nMAA=\n-----END RSA PUBLIC KEY-----",
        ] {
            let fault = encrypt("test", pem, b"secret").unwrap_err();
            assert!(matches!(fault, WireError::Malformed { .. }), "{fault:?}");
        }
    }
}
