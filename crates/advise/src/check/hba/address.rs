//! The address of a `host` line, and the connections to which it applies.

use std::fmt;
use std::net::IpAddr;

use super::name::{Fit, Name, yes};

/// Where a TCP connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Known {
        ip: IpAddr,
        /// Whether the server's machine resolves the address as `localhost`.
        is_localhost: bool,
    },
    /// The address is not known, because a proxy connects instead of the program.
    Unknown,
}

/// The content of the address column, including a mask in the next column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// `all`.
    All,
    /// `samehost` or `samenet`. Both always include the loopback addresses.
    Same(&'static str),
    Network {
        network: IpAddr,
        mask: IpAddr,
    },
    Host(String),
}

impl Address {
    /// Reads the address column. `None` for an invalid network, and for a word that may be an address without its mask.
    pub(super) fn of_word(word: &Name) -> Option<Self> {
        match word.keyword() {
            Some("all") => return Some(Self::All),
            Some("samehost") => return Some(Self::Same("samehost")),
            Some("samenet") => return Some(Self::Same("samenet")),
            _ => {}
        }
        let Some((network, bits)) = word.text.split_once('/') else {
            return is_host_name(&word.text).then(|| Self::Host(word.text.clone()));
        };
        let network: IpAddr = network.parse().ok()?;
        let bits: u32 = bits.parse().ok()?;
        let mask = match network {
            IpAddr::V4(_) if bits <= 32 => IpAddr::V4(u32::MAX.checked_shl(32 - bits).unwrap_or(0).into()),
            IpAddr::V6(_) if bits <= 128 => IpAddr::V6(u128::MAX.checked_shl(128 - bits).unwrap_or(0).into()),
            _ => return None,
        };
        Some(Self::masked(network, mask))
    }

    pub(super) fn masked(network: IpAddr, mask: IpAddr) -> Self {
        Self::Network { network, mask }
    }

    /// Whether the address applies to connections from `origin`.
    pub(super) fn fits(&self, origin: Origin) -> Fit {
        let Origin::Known { ip, is_localhost } = origin else {
            return if *self == Self::All { Fit::Yes } else { Fit::Maybe };
        };
        let is_sure = match self {
            Self::All => true,
            Self::Network { network, mask } => {
                let mask = value(*mask);
                let is_same_family = network.is_ipv4() == ip.is_ipv4();
                return yes(is_same_family && value(*network) & mask == value(ip) & mask);
            }
            Self::Same(_) => ip.is_loopback(),
            // The server looks up the name of the client, and compares names regardless of case. looptax does not look
            // up names.
            Self::Host(name) => is_localhost && name.eq_ignore_ascii_case("localhost"),
        };
        if is_sure { Fit::Yes } else { Fit::Maybe }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Same(word) => f.write_str(word),
            Self::Network { network, mask } => {
                let ones = value(*mask).count_ones();
                let width = if network.is_ipv4() { 32 } else { 128 };
                let is_prefix = value(*mask).trailing_zeros().min(width) == width - ones;
                if is_prefix { write!(f, "{network}/{ones}") } else { write!(f, "{network} {mask}") }
            }
            Self::Host(name) => f.write_str(name),
        }
    }
}

/// Whether a word can only be the name of a host, or a domain with a dot before it.
fn is_host_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let last = text.rsplit('.').next().unwrap_or_default();
    let has_letter = last.starts_with(|c: char| c.is_ascii_alphabetic());
    has_letter && text.chars().all(is_letter)
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}
