//! Connections to the application's own pages, which lie on this machine: plain, or with TLS that trusts whoever answers.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use looptax_bench::pages::{PageOpener, PageStream};
use looptax_path::{TlsClient, open_web};

/// Opens connections to some addresses.
pub struct Opener {
    /// By number.
    pub addresses: Vec<Address>,
    /// For those with TLS.
    pub tls: TlsClient,
    /// No single wait of a page is longer.
    pub limit: Duration,
}

/// Where pages are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Of this machine.
    pub at: SocketAddr,
    /// The name that TLS is begun with, where there is TLS.
    pub tls_name: Option<String>,
}

impl PageOpener for Opener {
    fn open(&self, address_idx: usize) -> io::Result<Box<dyn PageStream + Send>> {
        let address = &self.addresses[address_idx];
        let tls = address.tls_name.as_deref().map(|name| (&self.tls, name));
        open_web(address.at, tls, self.limit)
    }
}
