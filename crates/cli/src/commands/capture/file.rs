//! The file for the packets. It is new, only its owner can read it, and it consists of whole blocks even if looptax is
//! killed.

use std::fs::File;
use std::io::{self, Write};

use looptax_host::output::Output;
use looptax_model::failure::Failure;
use looptax_wire::packets;

/// How many bytes are collected before they are written.
const CHUNK: usize = 1 << 20;

pub(super) struct CaptureFile {
    file: File,
    waiting: Vec<u8>,
    n_written: u64,
    most_bytes: u64,
    is_full: bool,
}

impl CaptureFile {
    /// Makes the file, and writes the blocks at the beginning of each file of this format.
    pub(super) fn create(place: &Output, most_bytes: u64) -> Result<Self, Failure> {
        let file = place.create(0o600).map_err(|error| {
            Failure::from(error)
                .context(format!("cannot make {}", place.path().display()))
                .with_hint("choose a new file")
        })?;
        let mut waiting = Vec::with_capacity(2 * CHUNK);
        packets::section(&mut waiting, concat!("looptax ", env!("CARGO_PKG_VERSION")));
        let mut it = Self { file, waiting, n_written: 0, most_bytes, is_full: false };
        it.flush()?;
        Ok(it)
    }

    /// Appends whole blocks. If they would make the file too large, writes none of them and returns false.
    pub(super) fn append(&mut self, blocks: impl FnOnce(&mut Vec<u8>)) -> io::Result<bool> {
        let begin = self.waiting.len();
        blocks(&mut self.waiting);
        if self.n_written + self.waiting.len() as u64 > self.most_bytes {
            self.waiting.truncate(begin);
            self.is_full = true;
            return Ok(false);
        }
        if self.waiting.len() >= CHUNK {
            self.flush()?;
        }
        Ok(true)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.waiting)?;
        self.n_written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.n_written + self.waiting.len() as u64
    }
}
