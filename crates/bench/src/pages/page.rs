//! The pages to load, with their frequency and their server, as plain data; and the trait that opens connections.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use looptax_wire::http::Request;

/// A connection to a web server, with its own time limits.
pub use looptax_wire::Stream as PageStream;

/// Opens connections for pages.
pub trait PageOpener: Send + Sync {
    /// Opens a connection to the address with this index, see [`Page::address_idx`].
    ///
    /// # Errors
    /// The system's error; the page counts as failed.
    fn open(&self, address_idx: usize) -> io::Result<Box<dyn PageStream + Send>>;
}

#[derive(Debug, Clone)]
pub struct Page {
    pub request: Request,
    /// Index of the address to which the request is sent; pages of the same address share connections.
    pub address_idx: usize,
    /// How often the page is requested, relative to the other pages; 0 means never.
    pub weight: u64,
    /// The right answer, once it is known.
    pub expected: Option<ExpectedPage>,
}

/// The form of a right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPage {
    pub status: u16,
    /// The allowed length of the answer's body.
    pub body_bytes: RangeInclusive<u64>,
}

/// Pages to be requested one after another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageSlice {
    pub epoch: u64,
    /// Number of earlier slices of the same arm in the epoch. The slices of both arms with the same rank request the
    /// same pages.
    pub rank: u64,
    pub n_pages: usize,
    /// Pages per second, due at random times. `None` if each page is requested as soon as the previous answer has
    /// arrived.
    pub rate_per_s: Option<f64>,
    /// A wait before each page's request, for a test that shows what a difference of this size looks like. The real
    /// length of the waits is recorded.
    pub inject: Option<Duration>,
}
