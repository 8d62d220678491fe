//! Opens connections to the application's own pages, which are on this machine: plain, or with TLS that accepts any
//! certificate.

use std::io;
use std::time::Duration;

use looptax_bench::pages::{PageOpener, PageStream};
use looptax_bench::path::{TlsClient, WebAddress};

pub struct Opener {
    pub addresses: Vec<WebAddress>,
    pub tls: TlsClient,
    /// Time limit for each wait for a page.
    pub limit: Duration,
}

impl PageOpener for Opener {
    fn open(&self, address_idx: usize) -> io::Result<Box<dyn PageStream + Send>> {
        self.addresses[address_idx].open(&self.tls, self.limit)
    }
}
