//! The number that identifies the reporting machine: it stays the same if the machine is renamed, and does not reveal
//! the machine id.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::anonymous::hex;

/// The key for hashing the machine id, so that the hash differs from the hashes that other programs make of the same
/// id.
const APPLICATION: &[u8] = b"looptax fleet host 1";
const DIGITS: usize = 32;

/// Returns the machine's number as it is sent, from the text of `/etc/machine-id`; `None` if the text contains no id.
///
/// # Source
/// machine-id(5): the id should not be exposed. An application that sends the id should hash it with its own key.
pub fn host_id(machine_id: &str) -> Option<String> {
    let own = machine_id.trim();
    let is_one = own.len() == 32 && own.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_one || own.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let mut hash = Hmac::<Sha256>::new_from_slice(APPLICATION).ok()?;
    hash.update(own.to_ascii_lowercase().as_bytes());
    Some(hex(&hash.finalize().into_bytes())[..DIGITS].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_keeps_its_number_and_does_not_tell_it() {
        let own = "0123456789abcdef0123456789ABCDEF";
        let found = host_id(own).unwrap();
        assert_eq!(host_id(&format!("{own}\n")), Some(found.clone()));
        assert_eq!(found.len(), DIGITS);
        assert_ne!(found, own.to_ascii_lowercase());
    }

    #[test]
    fn what_is_no_number_gives_none() {
        let zeros = "0".repeat(32);
        for text in ["", "uninitialized", "0123", &zeros] {
            assert_eq!(host_id(text), None, "{text}");
        }
    }
}
