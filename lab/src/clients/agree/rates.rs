//! The measured rates of a real client and of its model.

use crate::clients::data::Client;

/// The request rates of the two arms, unix first, and the taxes that follow from them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    /// Requests per second by arm.
    pub(crate) per_s: [f64; 2],
    /// CPU time of the client by arm, in µs per request.
    pub(crate) cpu_us: [f64; 2],
}

impl Rates {
    /// Returns the tax in percent of the socket's throughput.
    pub(crate) fn tax_pct(self) -> f64 {
        100.0 * (1.0 - self.per_s[1] / self.per_s[0])
    }

    /// Returns the tax in µs per request.
    pub(crate) fn tax_us(self) -> f64 {
        1e6 / self.per_s[1] - 1e6 / self.per_s[0]
    }
}

/// The rates of the real client and of the model in one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) real: Rates,
    pub(crate) model: Rates,
}

pub(crate) struct Measured {
    pub(crate) client: Client,
    pub(crate) versions: String,
    pub(crate) rounds: Vec<Round>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tax_is_a_loss() {
        let rates = Rates { per_s: [100_000.0, 80_000.0], cpu_us: [1.0, 2.0] };
        assert!((rates.tax_pct() - 20.0).abs() < 1e-9);
        assert!((rates.tax_us() - 2.5).abs() < 1e-9);
    }
}
