//! The caller's random bits in the form that distributions read.

use std::convert::Infallible;

use rand_core::TryRng;

/// The caller's random bits, as the distributions of `rand_distr` require them.
pub(crate) struct Bits<'a>(pub(crate) &'a mut dyn FnMut() -> u64);

impl TryRng for Bits<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(((self.0)() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok((self.0)())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&(self.0)().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
