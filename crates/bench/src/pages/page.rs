//! The pages to load, how often and from which server: plain data, and how a stream is opened.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use looptax_wire::http::Request;

/// A connection to a web server, with its own time limits.
pub use looptax_wire::Stream as PageStream;

/// Opens connections for pages.
pub trait PageOpener: Send + Sync {
    /// A connection to the address of this number, as [`Page::address_idx`] has it.
    ///
    /// # Errors
    /// Whatever the system says; the page counts as failed.
    fn open(&self, address_idx: usize) -> io::Result<Box<dyn PageStream + Send>>;
}

/// A page that is asked for.
#[derive(Debug, Clone)]
pub struct Page {
    pub request: Request,
    /// Which address it is sent to; pages of one address share connections.
    pub address_idx: usize,
    /// How often it is asked for, against the others'; 0 for never.
    pub weight: u64,
    /// The right answer, once it is known.
    pub expected: Option<ExpectedPage>,
}

/// The form of a right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPage {
    pub status: u16,
    /// How long its body may be.
    pub body_bytes: RangeInclusive<u64>,
}

/// Pages to be asked for on end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageSlice {
    pub epoch: u64,
    /// How many slices of its arm the epoch had before: slices of one rank ask for the same pages.
    pub rank: u64,
    pub n_pages: usize,
    /// Pages per second, due at random; `None` for one after another as fast as they are answered.
    pub rate_per_s: Option<f64>,
    /// Waits so long within each page before it is asked for, and counts how long that really was; for showing what
    /// a difference of this size looks like.
    pub inject: Option<Duration>,
}
