//! One core for everybody: this process is pinned, and what it starts inherits that.
//!
//! So the server has no thread that was ever elsewhere; that it stays so is checked, not assumed.

use std::fs;

use anyhow::{Context, Result, bail};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread, and with it all later children, to the last core that it may use: the
/// first one serves the most interrupts. Gives the core's number.
pub(crate) fn pin_self() -> Result<usize> {
    let allowed = sched_getaffinity(None).context("cannot read which cores may be used")?;
    let core = (0..CpuSet::MAX_CPU)
        .rfind(|core| allowed.is_set(*core))
        .context("the kernel allows no core")?;
    let only = only(core);
    sched_setaffinity(None, &only).with_context(|| format!("cannot move to core {core}"))?;
    Ok(core)
}

/// Fails when a thread of the server may run on another core.
pub(crate) fn check_server(pid: u32, core: usize) -> Result<()> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&folder).with_context(|| format!("cannot list {folder}"))?;
    for thread in threads {
        let name = thread?.file_name();
        let tid = name.to_str().and_then(|name| name.parse().ok());
        let tid = tid.and_then(Pid::from_raw).context("a thread without id")?;
        match sched_getaffinity(Some(tid)) {
            Ok(set) if set != only(core) => {
                bail!("the server's thread {tid:?} is not pinned to core {core}")
            }
            // A thread that has ended meanwhile runs nowhere.
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error).context("cannot read the server's cores"),
        }
    }
    Ok(())
}

fn only(core: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core);
    set
}
