//! The random numbers in requests. The sender of a request draws them; a protocol only asks for the next number.

/// The source of the random numbers that requests contain.
pub trait Draws {
    /// Returns the next key, from 1 to the number of keys.
    fn key(&mut self) -> u64;
    /// Returns 64 random bits.
    fn bits(&mut self) -> u64;
}

/// A source that returns the same number every time, for set-up and tests.
impl Draws for u64 {
    fn key(&mut self) -> u64 {
        *self
    }

    fn bits(&mut self) -> u64 {
        *self
    }
}
