//! Histograms of request times: programs in the kernel count the times in buckets, and `watch --save` saves the
//! buckets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::range::{Amount, SmallCount};

/// Number of buckets, the same as in `turns.bpf.c`. An octave has sixteen buckets; the unit of time is 64 ns.
pub const N_TIME_BUCKETS: usize = 512;
const UNIT_NS: f64 = 64.0;
const PER_OCTAVE: u32 = 16;

/// A histogram of times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "TimesForm", try_from = "TimesForm")]
pub struct Times {
    buckets: Vec<u32>,
    sum_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { buckets: vec![0; N_TIME_BUCKETS], sum_ns: 0 }
    }
}

impl Times {
    /// Makes a histogram from the kernel's words; each word holds the counts of two buckets.
    pub fn of_words(words: &[u64], sum_ns: u64) -> Self {
        let pairs = words.iter().map(|it| it.to_ne_bytes());
        let halves = pairs.flat_map(|it| [[it[0], it[1], it[2], it[3]], [it[4], it[5], it[6], it[7]]]);
        Self { buckets: halves.map(u32::from_ne_bytes).collect(), sum_ns }
    }

    pub fn n(&self) -> u64 {
        self.buckets.iter().map(|it| u64::from(*it)).sum()
    }

    /// Returns the mean in ns; `None` if there are no times.
    pub fn mean_ns(&self) -> Option<f64> {
        let n = self.n();
        (n > 0).then(|| self.sum_ns as f64 / n as f64)
    }

    /// Returns a quantile in ns, interpolated evenly within its bucket; `None` if there are no times.
    pub fn quantile_ns(&self, quantile: f64) -> Option<f64> {
        let wanted = self.n() as f64 * quantile;
        let mut below = 0.0;
        for (idx, n) in (0..).zip(&self.buckets).filter(|it| *it.1 > 0) {
            let n = f64::from(*n);
            if below + n >= wanted {
                let (start, width) = bounds(idx);
                return Some(UNIT_NS * (start as f64 + width as f64 * ((wanted - below) / n)));
            }
            below += n;
        }
        None
    }

    /// Returns how many of the recorded times are below 64 · 2^`octave` ns, which is the start of a bucket; `octave`
    /// must be at least 4.
    pub fn n_below(&self, octave: u32) -> u64 {
        let n_buckets = PER_OCTAVE * octave.saturating_sub(PER_OCTAVE.ilog2() - 1);
        self.buckets.iter().take(n_buckets as usize).map(|it| u64::from(*it)).sum()
    }

    /// Returns the sum of all times, in ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    pub fn add(&mut self, other: &Self) {
        for (own, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *own = own.saturating_add(*others);
        }
        self.sum_ns += other.sum_ns;
    }

    /// Returns the increase since `earlier`, if both histograms come from the same kernel program; the counts may wrap
    /// around.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.buckets.iter().zip(&earlier.buckets);
        Self {
            buckets: pairs.map(|(now, before)| now.wrapping_sub(*before)).collect(),
            sum_ns: self.sum_ns.wrapping_sub(earlier.sum_ns),
        }
    }
}

/// Times in the form in which they are saved: only the buckets that are not empty.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TimesForm {
    /// Sum of all times, in ns.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    sum_ns: u64,
    /// The number of a bucket, and its count. Buckets 0 to 15 are 64 ns wide, and each later bucket is 1/16 of an
    /// octave wide. Bucket `16 + 16 * k + i` begins at `64 * 2^k * (16 + i)` ns.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "Vec<[SmallCount; 2]>")]
    buckets: Vec<[u32; 2]>,
}

impl From<Times> for TimesForm {
    fn from(times: Times) -> Self {
        let buckets = (0..).zip(times.buckets).filter(|it| it.1 > 0).map(|(idx, n)| [idx, n]).collect();
        Self { sum_ns: times.sum_ns, buckets }
    }
}

impl TryFrom<TimesForm> for Times {
    type Error = String;

    fn try_from(form: TimesForm) -> Result<Self, String> {
        let mut times = Self { sum_ns: form.sum_ns, ..Self::default() };
        for [idx, n] in form.buckets {
            let bucket = times.buckets.get_mut(idx as usize);
            *bucket.ok_or_else(|| format!("bucket {idx} of {N_TIME_BUCKETS}"))? = n;
        }
        Ok(times)
    }
}

/// Returns the start and the width of a bucket, in units of 64 ns.
fn bounds(idx: u32) -> (u64, u64) {
    let Some(above) = idx.checked_sub(PER_OCTAVE) else {
        return (idx.into(), 1);
    };
    let width = 1 << (above / PER_OCTAVE);
    (width * u64::from(PER_OCTAVE + above % PER_OCTAVE), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for idx in 1..N_TIME_BUCKETS as u32 {
            let (before, width) = bounds(idx - 1);
            assert_eq!(bounds(idx).0, before + width, "{idx}");
        }
    }

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        let mut words = vec![0; N_TIME_BUCKETS / 2];
        // Bucket 20 holds times from 20 to 21 units.
        words[10] = 4;
        let times = Times::of_words(&words, 4 * 1_300);
        assert_eq!(times.n(), 4);
        assert_eq!(times.quantile_ns(0.5), Some(64.0 * 20.5));
        assert_eq!(times.quantile_ns(1.0), Some(64.0 * 21.0));
        assert_eq!(times.mean_ns(), Some(1_300.0));
        assert_eq!(Times::default().quantile_ns(0.5), None);
    }

    #[test]
    fn what_took_less_than_a_power_of_two_is_counted_exactly() {
        for idx in 16..N_TIME_BUCKETS as u32 {
            let form = TimesForm { sum_ns: 1, buckets: vec![[idx, 3]] };
            let times = Times::try_from(form).unwrap();
            for octave in 4..=24 {
                let is_below = bounds(idx).0 < 1 << octave;
                assert_eq!(times.n_below(octave), if is_below { 3 } else { 0 }, "bucket {idx}, octave {octave}");
            }
        }
    }

    #[test]
    fn what_was_saved_is_read_again() {
        let mut words = vec![0; N_TIME_BUCKETS / 2];
        (words[10], words[255]) = (4, 7 << 32);
        let times = Times::of_words(&words, 99);
        let text = serde_json::to_string(&times).unwrap();
        assert_eq!(text, r#"{"sum_ns":99,"buckets":[[20,4],[511,7]]}"#);
        assert_eq!(serde_json::from_str::<Times>(&text).unwrap(), times);
        assert!(serde_json::from_str::<Times>(r#"{"sum_ns":9,"buckets":[[512,1]]}"#).is_err());
    }

    #[test]
    fn counts_that_wrapped_around_in_the_kernel_still_differ_by_what_came() {
        let mut words = vec![0; N_TIME_BUCKETS / 2];
        words[0] = u64::from(u32::MAX);
        let before = Times::of_words(&words, u64::MAX);
        words[0] = 2;
        let since = Times::of_words(&words, 9).since(&before);
        assert_eq!((since.n(), since.sum_ns), (3, 10));
    }
}
