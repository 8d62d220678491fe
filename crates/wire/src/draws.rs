//! The numbers that requests are made of: the sender draws, a protocol only asks.

/// The numbers that a request is made of.
pub trait Draws {
    /// The next key, from 1 to the number of keys that there are.
    fn key(&mut self) -> u64;
    /// 64 random bits.
    fn bits(&mut self) -> u64;
}

/// The same number whenever one is asked for: for set-up and tests.
impl Draws for u64 {
    fn key(&mut self) -> u64 {
        *self
    }

    fn bits(&mut self) -> u64 {
        *self
    }
}
