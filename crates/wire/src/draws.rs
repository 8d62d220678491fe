//! The random numbers in requests: the sender draws them, a protocol only requests them.

/// The source of the numbers that a request is made from.
pub trait Draws {
    /// The next key, from 1 to the number of keys.
    fn key(&mut self) -> u64;
    /// 64 random bits.
    fn bits(&mut self) -> u64;
}

/// Returns the same number every time: for set-up and tests.
impl Draws for u64 {
    fn key(&mut self) -> u64 {
        *self
    }

    fn bits(&mut self) -> u64 {
        *self
    }
}
