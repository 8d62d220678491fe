//! The machine's other activity during an epoch: CPU ticks, pressure, throttling.

use std::path::Path;

use looptax_host::kernel;
use looptax_model::record::CpuTicks;

use crate::cpu_group::CpuGroup;

/// The machine's activity between two moments; `None` if the kernel does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MachineDelta {
    pub(crate) ticks: Option<CpuTicks>,
    /// Time in which at least one task waited for a core, in microseconds (`/proc/pressure/cpu`).
    pub(crate) cpu_pressure_us: Option<u64>,
    /// Number of periods in which our control group was throttled.
    pub(crate) n_throttled: Option<u64>,
}

/// The machine's counters at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    ticks: Option<CpuTicks>,
    pressure_us: Option<u64>,
    n_throttled: Option<u64>,
}

impl Snapshot {
    pub(crate) fn read() -> Self {
        Self {
            ticks: cpu_ticks(),
            pressure_us: kernel::text("/proc/pressure/cpu").ok().and_then(|text| number_after(&text, "total=")),
            n_throttled: CpuGroup::find(Path::new("/")).and_then(|group| group.n_throttled()),
        }
    }

    /// Returns the difference to `earlier`.
    pub(crate) fn since(self, earlier: Self) -> MachineDelta {
        let counter = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        MachineDelta {
            ticks: self.ticks.zip(earlier.ticks).map(|(now, then)| now.since(then)),
            cpu_pressure_us: counter(self.pressure_us, earlier.pressure_us),
            n_throttled: counter(self.n_throttled, earlier.n_throttled),
        }
    }
}

/// Returns the counters in the first line of `/proc/stat`; `None` if the line does not have them.
pub fn cpu_ticks() -> Option<CpuTicks> {
    parse(kernel::text("/proc/stat").ok()?.lines().next()?)
}

fn parse(line: &str) -> Option<CpuTicks> {
    let mut columns = line.strip_prefix("cpu ")?.split_whitespace().map(str::parse::<u64>);
    let mut next = || columns.next()?.ok();
    Some(CpuTicks {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next()?,
    })
}

fn number_after(text: &str, mark: &str) -> Option<u64> {
    let rest = &text[text.find(mark)? + mark.len()..];
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_line_is_read_by_column() {
        let ticks = parse("cpu  16185 937 15194 122586 809 0 2859 250 0 0").unwrap();
        assert_eq!((ticks.user, ticks.softirq, ticks.steal), (16_185, 2_859, 250));
        assert_eq!(parse("cpu0 1 2 3"), None);
    }

    #[test]
    fn the_first_number_after_a_mark_is_taken() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=4711\nfull total=9";
        assert_eq!(number_after(text, "total="), Some(4_711));
        assert_eq!(number_after("nothing", "total="), None);
    }
}
