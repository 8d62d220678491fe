//! The ring buffer of one core: records are removed one by one, and the time of the next record can be read before the
//! record is removed.

use std::io;

use perf_event::data::endian::Native;
use perf_event::data::parse::ParseConfig;
use perf_event::{Counter, Sampler};

use super::records::{self, Event};

/// Maximum size in bytes of the buffer for the call chains of one core. At 10,000 samples a second with 50 frames each,
/// the buffer holds three seconds; the caller drains the buffer more often.
const LARGEST_BYTES: usize = 16 << 20;
/// Maximum size in bytes of the buffers of all cores together.
const TOTAL_BYTES: usize = 128 << 20;
/// Minimum size of a buffer in bytes: eight pages, which hold some 80 samples.
const SMALLEST_BYTES: usize = 32 << 10;

pub(crate) struct Ring {
    /// The event that owns the buffer.
    owner: Sampler,
    config: ParseConfig<Native>,
    /// The next record with its header; empty until [`Self::peek_ns`] has taken a record from the buffer.
    head: Vec<u8>,
    head_ns: u64,
}

impl Ring {
    /// Maps a buffer for an event, as large as the kernel allows: an ordinary user may use `kernel.perf_event_mlock_kb`
    /// per core.
    pub(crate) fn new(open: impl Fn() -> io::Result<Counter>, n_cores: usize) -> io::Result<Self> {
        let mut n_bytes = (TOTAL_BYTES / n_cores.max(1)).clamp(SMALLEST_BYTES, LARGEST_BYTES);
        loop {
            let event = open()?;
            let config = event.config().clone();
            match event.sampled(n_bytes) {
                Err(_) if n_bytes > SMALLEST_BYTES => n_bytes /= 2,
                owner => {
                    return Ok(Self { owner: owner?, config, head: Vec::new(), head_ns: 0 });
                }
            }
        }
    }

    pub(crate) fn owner(&self) -> &Counter {
        self.owner.as_counter()
    }

    /// Returns the time of the next record, if there is a record.
    pub(crate) fn peek_ns(&mut self) -> Option<u64> {
        if self.head.is_empty() {
            let record = self.owner.next_record()?;
            // The header is placed before the data, as in the kernel's buffer.
            let n_bytes = (record.len() + 8) as u16;
            self.head.extend(record.ty().to_ne_bytes());
            self.head.extend(record.misc().to_ne_bytes());
            self.head.extend(n_bytes.to_ne_bytes());
            for part in record.data() {
                self.head.extend_from_slice(part);
            }
            self.head_ns = records::parse(&self.head, &self.config).time_ns;
        }
        Some(self.head_ns)
    }

    /// Returns the record whose time [`Self::peek_ns`] returned last.
    pub(crate) fn head(&self) -> Event<'_> {
        records::parse(&self.head, &self.config)
    }

    pub(crate) fn pop(&mut self) {
        self.head.clear();
    }
}
