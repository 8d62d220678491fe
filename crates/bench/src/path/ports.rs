//! How many local ports TCP connections from this machine can use, and how many sockets wait in `TIME_WAIT`.
//!
//! Reads the host, changes nothing. Used for records, and for the hint if the ports run out.

use looptax_host::kernel;

const SYSCTL: &str = "/proc/sys/net/ipv4";

/// The local ports of this network namespace, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPorts {
    /// Sockets in `TIME_WAIT`, IPv4 and IPv6 together.
    pub n_time_wait: u64,
    /// Number of ports that the kernel chooses from.
    pub n_ports: u64,
    /// `net.ipv4.tcp_tw_reuse`: 0 never, 1 always, 2 on loopback after a second.
    pub reuse: u64,
}

impl LocalPorts {
    /// Reads the figures from the kernel; `None` if `/proc` does not have them.
    ///
    /// # Source
    /// `/proc/net/sockstat`; Linux documentation, "IP Sysctl", `ip_local_port_range` and
    /// `tcp_tw_reuse`.
    pub fn read() -> Option<Self> {
        let sockets = kernel::text("/proc/net/sockstat").ok()?;
        let range = kernel::text(format!("{SYSCTL}/ip_local_port_range")).ok()?;
        let reuse = kernel::text(format!("{SYSCTL}/tcp_tw_reuse")).ok()?;
        Some(Self {
            n_time_wait: time_wait_of(&sockets)?,
            n_ports: ports_of(&range)?,
            reuse: reuse.trim().parse().ok()?,
        })
    }
}

/// Returns the number after `tw` in a line such as `TCP: inuse 5 orphan 0 tw 2 alloc 6 mem 1`.
fn time_wait_of(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

fn ports_of(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some((high + 1).saturating_sub(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_where_the_kernel_writes_them() {
        let sockstat = "sockets: used 83\nTCP: inuse 5 orphan 0 tw 12 alloc 6 mem 1\nUDP: inuse 1 mem 0\n";
        assert_eq!(time_wait_of(sockstat), Some(12));
        assert_eq!(time_wait_of("UDP: inuse 1"), None);
        assert_eq!(ports_of("32768\t60999\n"), Some(28_232));
        assert_eq!(ports_of("32768"), None);
    }

    #[test]
    fn this_machine_has_ports() {
        assert!(LocalPorts::read().is_some_and(|ports| ports.n_ports > 0));
    }
}
