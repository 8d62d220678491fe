//! A published port that the kernel translates to the container's port, by nftables rules.
//!
//! The program `nft` loads the rules, only into the namespace that looptax made for the host.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use looptax_host::program::find_program;
use looptax_host::rights::pass_on;
use rustix::thread::CapabilitySet;

use super::{Host, Network};

const NFT: &str = "nft";

/// Returns whether `nft` is installed, so that rules can be loaded.
pub fn has_nft() -> bool {
    let Ok(nft) = find_program(NFT) else {
        return false;
    };
    #[allow(clippy::disallowed_methods, reason = "if looptax has root's rights, only root can change this program")]
    let mut nft = Command::new(nft);
    let status = { nft.arg("--version").stdout(Stdio::null()) }.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Network {
    /// Translates connections to `port` of the host [`Host::Nat`] to the same port of the container.
    ///
    /// # Errors
    /// [`io::Error`] with the message of `nft`.
    pub fn translate(&self, port: u16) -> io::Result<()> {
        let to = SocketAddr::from((Host::Nat.container_address(), port));
        // Connections from the host itself pass only the output chain; connections from elsewhere pass only the
        // prerouting chain.
        let rules = format!(
            "table ip looptax {{\n\
             chain from_elsewhere {{ type nat hook prerouting priority -100; fib daddr type local tcp dport {port} dnat to {to}; }}\n\
             chain from_here {{ type nat hook output priority -100; fib daddr type local tcp dport {port} dnat to {to}; }}\n\
             }}\n"
        );
        self.on_host(Host::Nat, || load(&rules))?
    }
}

fn load(rules: &str) -> io::Result<()> {
    #[allow(clippy::disallowed_methods, reason = "if looptax has root's rights, only root can change this program")]
    let mut nft = Command::new(find_program(NFT)?);
    nft.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    pass_on(&mut nft, CapabilitySet::NET_ADMIN);
    let mut nft = nft.spawn()?;
    if let Some(mut input) = nft.stdin.take() {
        // If `nft` has not read the rules, its exit status shows that.
        input.write_all(rules.as_bytes()).ok();
    }
    let output = nft.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or_default();
    Err(io::Error::other(format!("nft: {first}")))
}
