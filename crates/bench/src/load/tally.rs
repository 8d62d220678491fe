//! The counts of one client thread in one slice: plain numbers, written in the hot loop.

use std::time::Duration;

use looptax_model::record::Slice;

/// How many answers at the start of a slice are compared with the other side's answers: a power of two.
pub(crate) const PREFIX: u8 = 64;
/// Number of digests: one after 1, 2, 4 … 64 answers.
const N_DIGESTS: usize = 7;
/// The part of a slice that shows whether the guard was long enough.
const EARLY_NS: u64 = looptax_model::stats::EARLY_NS;

/// Digests of a connection's first answers in a slice, kept at every power of two, so that two slices of different
/// lengths can be compared over their longest common prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digests {
    at: [u64; N_DIGESTS],
    /// The highest power of two that the number of answers reached, or 0.
    n_answers: u8,
}

impl Digests {
    /// Keeps the digest of the first `n_answers` answers, if that number is a power of two.
    #[inline]
    pub(crate) fn keep(&mut self, n_answers: u8, digest: u64) {
        if n_answers.is_power_of_two() {
            self.at[n_answers.trailing_zeros() as usize] = digest;
            self.n_answers = n_answers;
        }
    }

    /// Returns whether both slices received the same answers in their common prefix; true if there is no common prefix.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        match self.n_answers.min(other.n_answers).checked_ilog2() {
            Some(power) => self.at[power as usize] == other.at[power as usize],
            None => true,
        }
    }

    /// Returns the digest of the longest prefix that was kept.
    pub(crate) fn last(&self) -> u64 {
        self.n_answers.checked_ilog2().map_or(0, |power| self.at[power as usize])
    }
}

/// Returns the digest of the earlier answers, extended by another answer.
#[inline]
pub(crate) fn digested(answers: u64, data: &[u8]) -> u64 {
    // First mix in the words of eight bytes and the remaining bytes, then the length. With the length, the boundary
    // between two answers changes the digest, too.
    let (words, rest) = data.as_chunks::<8>();
    let start = answers.rotate_left(5);
    let hash = words.iter().fold(start, |hash, word| mixed(hash, u64::from_le_bytes(*word)));
    let hash = rest.iter().fold(hash, |hash, byte| mixed(hash, u64::from(*byte)));
    mixed(hash, data.len() as u64)
}

/// Does one step of a multiplicative hash. The shift lets the high bits influence the low bits in the next step.
#[inline]
fn mixed(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

/// Counts of one thread in one slice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Answers in the counted window.
    pub(crate) completions: u64,
    /// Answers in the first 10 ms of the counted window; `completions` includes them.
    pub(crate) early: u64,
    /// Answers that arrived after the counted window.
    pub(crate) drained: u64,
    /// Latencies of the drained answers in nanoseconds, at most one per connection.
    pub(crate) drained_ns: Vec<u32>,
    /// All answers, including those in the guard and the drain.
    pub(crate) requests: u64,
    /// Sum of the counted answers' latencies.
    pub(crate) latency_sum_ns: u64,
    /// The time at which the last answer had arrived.
    pub(crate) last_answer_ns: u64,
    pub(crate) sends: u64,
    pub(crate) receives: u64,
    pub(crate) waits: u64,
    pub(crate) received_bytes: u64,
    /// CPU time of the client thread.
    pub(crate) cpu_ns: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    /// Time spent in the injected busy wait.
    pub(crate) injected_ns: u64,
    /// Answers in each 100 ms of the counted window; the shape may set another length.
    pub(crate) buckets: Vec<u32>,
    /// Requests of an open loop that waited for a connection.
    pub(crate) n_queued: u64,
    /// Requests of an open loop that still waited at the slice's end and were never sent.
    pub(crate) n_unsent: u64,
    /// How long the oldest request that was never sent had waited at the slice's end.
    pub(crate) behind_ns: u64,
    /// Index of the slice's first latency among its thread's latencies.
    pub(crate) first_sample: usize,
    /// Latencies that did not fit into the buffer.
    pub(crate) n_unsampled: u64,
    window: Window,
}

/// Times of the measuring clock, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    count_from: u64,
    early_until: u64,
    stop_at: u64,
    bucket: u64,
}

impl Tally {
    /// Makes a tally with room for `n_buckets` buckets and `n_connections` drained requests.
    pub(crate) fn with_room(n_buckets: usize, n_connections: usize) -> Self {
        Self { buckets: vec![0; n_buckets], drained_ns: Vec::with_capacity(n_connections), ..Self::default() }
    }

    /// Sets the window before the slice starts.
    pub(crate) fn open(&mut self, count_from_ns: u64, stop_at_ns: u64, bucket: Option<Duration>) {
        self.window = Window {
            count_from: count_from_ns,
            early_until: count_from_ns + EARLY_NS,
            stop_at: stop_at_ns,
            bucket: bucket.map_or(0, |width| width.as_nanos() as u64),
        };
    }

    /// Records one answer. If the answer counts, its latency is added to `samples`.
    ///
    /// The first answer of a connection in a slice (`is_first`) never counts: its latency includes waking all threads
    /// of the arm.
    #[inline]
    pub(crate) fn record(&mut self, sent_ns: u64, answered_ns: u64, is_first: bool, samples: &mut Vec<u32>) {
        self.requests += 1;
        self.last_answer_ns = answered_ns;
        let latency_ns = answered_ns.saturating_sub(sent_ns);
        if answered_ns >= self.window.stop_at {
            self.drained += 1;
            if self.drained_ns.len() < self.drained_ns.capacity() {
                self.drained_ns.push(u32::try_from(latency_ns).unwrap_or(u32::MAX));
            }
            return;
        }
        if answered_ns < self.window.count_from || is_first {
            return;
        }
        self.count(answered_ns, latency_ns, samples);
    }

    /// Counts a request; `at_ns` is inside the window.
    #[inline]
    fn count(&mut self, at_ns: u64, latency_ns: u64, samples: &mut Vec<u32>) {
        self.completions += 1;
        self.latency_sum_ns += latency_ns;
        self.early += u64::from(at_ns < self.window.early_until);
        let bucket = (at_ns - self.window.count_from).checked_div(self.window.bucket);
        if let Some(count) = bucket.and_then(|idx| self.buckets.get_mut(idx as usize)) {
            *count += 1;
        }
        if samples.len() < samples.capacity() {
            samples.push(u32::try_from(latency_ns).unwrap_or(u32::MAX));
        } else {
            self.n_unsampled += 1;
        }
    }

    /// Records one answer of an open loop. The answer counts if its request was due in the window, however late the
    /// answer came.
    #[inline]
    pub(crate) fn record_due(&mut self, due_ns: u64, answered_ns: u64, samples: &mut Vec<u32>) {
        self.requests += 1;
        self.last_answer_ns = answered_ns;
        if due_ns < self.window.count_from {
            return;
        }
        self.count(due_ns, answered_ns.saturating_sub(due_ns), samples);
    }

    /// Adds a thread's counts to the counts of the whole slice. The slice ends at `stop_at_ns`.
    pub(crate) fn add_to(&self, slice: &mut Slice, stop_at_ns: u64) {
        let add = |sum: &mut Option<u64>, n: u64| *sum = Some(sum.unwrap_or(0) + n);
        let after_end_ns = self.last_answer_ns.saturating_sub(stop_at_ns);
        slice.drain_ns = slice.drain_ns.max(after_end_ns);
        slice.completions += self.completions;
        slice.early += self.early;
        slice.drained += self.drained;
        slice.drained_ns.extend_from_slice(&self.drained_ns);
        slice.requests += self.requests;
        slice.latency_sum_ns += self.latency_sum_ns;
        slice.n_unsampled += self.n_unsampled;
        slice.queued += self.n_queued;
        slice.unsent += self.n_unsent;
        slice.behind_ns = slice.behind_ns.max(self.behind_ns);
        slice.sends += self.sends;
        slice.receives += self.receives;
        slice.waits += self.waits;
        if self.received_bytes > 0 {
            // For one-shot connections bytes are not counted.
            add(&mut slice.received_bytes, self.received_bytes);
        }
        slice.injected_ns += self.injected_ns;
        add(&mut slice.client_cpu_ns, self.cpu_ns);
        add(&mut slice.client_voluntary_switches, self.voluntary);
        add(&mut slice.client_involuntary_switches, self.involuntary);
        let buckets = &mut slice.completions_per_100ms;
        buckets.resize(buckets.len().max(self.buckets.len()), 0);
        for (total, count) in buckets.iter_mut().zip(&self.buckets) {
            *total += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::with_room(2, 1);
        tally.open(1_000, 2_000, Some(Duration::from_nanos(500)));
        tally
    }

    #[test]
    fn only_answers_inside_the_window_count_and_the_first_never() {
        let mut tally = tally();
        let mut samples = Vec::with_capacity(8);
        tally.record(900, 999, false, &mut samples); // guard
        tally.record(950, 1_000, false, &mut samples); // first instant of the window
        tally.record(1_000, 1_100, true, &mut samples); // first of its connection
        tally.record(1_100, 1_999, false, &mut samples);
        tally.record(1_999, 2_000, false, &mut samples); // drained
        assert_eq!((tally.requests, tally.completions, tally.drained), (5, 2, 1));
        assert_eq!(samples, [50, 899]);
        assert_eq!(tally.latency_sum_ns, 949);
        assert_eq!(tally.drained_ns, [1]);
        assert_eq!(tally.buckets, [1, 1]);
    }

    #[test]
    fn requests_of_a_schedule_count_when_they_were_due_in_the_window() {
        let mut tally = tally();
        let mut samples = Vec::with_capacity(8);
        tally.record_due(999, 1_500, &mut samples); // due in the guard
        tally.record_due(1_000, 1_200, &mut samples);
        tally.record_due(1_900, 7_900, &mut samples); // answered long after the window
        assert_eq!((tally.requests, tally.completions), (3, 2));
        assert_eq!(samples, [200, 6_000]);
        assert_eq!((tally.drained, tally.last_answer_ns), (0, 7_900));
    }

    #[test]
    fn a_full_buffer_is_counted_not_grown() {
        let mut tally = tally();
        let mut samples = Vec::new();
        tally.record(1_000, 1_100, false, &mut samples);
        assert_eq!((tally.completions, tally.n_unsampled, samples.capacity()), (1, 1, 0));
    }

    #[test]
    fn adding_adds_counts_and_keeps_the_latest_answer() {
        let mut slice = Slice::default();
        for answered_ns in [1_100, 1_700] {
            let mut tally = tally();
            tally.record(1_000, answered_ns, false, &mut Vec::new());
            tally.add_to(&mut slice, 1_500);
        }
        assert_eq!((slice.completions, slice.drain_ns), (2, 200));
        assert_eq!(slice.completions_per_100ms, [1, 1]);
    }

    #[test]
    fn digests_compare_at_the_longest_common_power_of_two() {
        let digests = |answers: &[&[u8]]| {
            let mut digests = Digests::default();
            let mut digest = 0;
            for (n_before, answer) in (0..).zip(answers) {
                digest = digested(digest, answer);
                digests.keep(n_before + 1, digest);
            }
            digests
        };
        assert!(digests(&[b"a", b"b", b"c"]).agrees_with(&digests(&[b"a", b"b"])));
        assert!(!digests(&[b"a", b"x", b"c"]).agrees_with(&digests(&[b"a", b"b"])));
        assert!(digests(&[]).agrees_with(&digests(&[b"a"])));
        assert!(!digests(&[b"ab", b"c"]).agrees_with(&digests(&[b"a", b"bc"])));
    }
}
