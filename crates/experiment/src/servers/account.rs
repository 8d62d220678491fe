//! The account as which a server runs if looptax is root, and random passwords for servers.
//!
//! Reads `/etc/passwd`; changes nothing.

use std::fmt::Write as _;

use looptax_host::read;
use looptax_model::dsn::{Kind, Secret};

use crate::servers::ServerError;

/// An unprivileged account of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Returns the account as which the server runs; `None` if the server runs as the user of looptax.
///
/// mariadbd and postgres refuse to run as root. The echo server is looptax itself, and other accounts may be unable to
/// execute looptax's file, so the echo server runs as the user of looptax.
pub(crate) fn account_for(kind: Kind) -> Result<Option<Account>, ServerError> {
    let accounts = { kind.facts().private.as_ref() }.map_or(&[][..], |it| it.accounts);
    if !rustix::process::geteuid().is_root() || accounts.is_empty() {
        return Ok(None);
    }
    let passwd = read::system_text("/etc/passwd");
    accounts
        .iter()
        .find_map(|name| find_account(&passwd, name))
        .map(Some)
        .ok_or_else(|| ServerError::AccountMissing { kind, looked_for: accounts.join(" or ") })
}

/// Makes a password of 128 random bits in hexadecimal digits, which need no quotes in any server's configuration.
pub(crate) fn random_secret() -> Result<Secret, ServerError> {
    let bytes: [u8; 16] = random_bytes()?;
    let mut clear = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(clear, "{byte:02x}").expect("writing to a String cannot fail");
    }
    Ok(Secret::new(clear))
}

/// Returns a random number for a name, so that two running looptax processes hardly ever get the same name.
pub(crate) fn random_number() -> Result<u32, ServerError> {
    random_bytes().map(u32::from_ne_bytes)
}

fn random_bytes<const N: usize>() -> Result<[u8; N], ServerError> {
    let mut bytes = [0; N];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| ServerError::Random { source: errno.into() })?;
    Ok(bytes)
}

/// Finds an account by its name, if it is not root.
fn find_account(passwd: &str, name: &str) -> Option<Account> {
    let fields: Vec<&str> =
        passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name)?;
    let account = Account { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? };
    (account.uid != 0).then_some(account)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/sh\nbroken\nredis:x:102:105::/var/lib/redis:/bin/false\nfake:x:0:7::/:\n";

    #[test]
    fn finds_an_account_by_its_whole_name_and_never_root() {
        assert_eq!(find_account(PASSWD, "redis"), Some(Account { uid: 102, gid: 105 }));
        assert_eq!(find_account(PASSWD, "red"), None);
        assert_eq!(find_account(PASSWD, "broken"), None);
        assert_eq!(find_account(PASSWD, "fake"), None);
    }

    #[test]
    fn two_passwords_differ_and_need_no_quoting() {
        let (first, second) = (random_secret().unwrap(), random_secret().unwrap());
        assert_ne!(first, second);
        assert_eq!(first.reveal().len(), 32);
        assert!(first.reveal().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
