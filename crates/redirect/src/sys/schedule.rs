//! Controls when the scheduler runs a thread.

use std::io;

use super::checked;

/// The shortest time slice that the kernel accepts. Source: kernel/sched/syscalls.c, `__setparam_fair`.
const SHORTEST_NS: u64 = 100_000;
/// Size of the first version of the structure, in bytes. Source: linux/sched/types.h, `SCHED_ATTR_SIZE_VER0`.
const ATTRIBUTE_BYTES: u32 = 48;

/// Requests short time slices. The kernel schedules a thread with short slices sooner, so a server that is woken on our
/// core does not run first. Needs no rights; kernels before 6.12 do not support it.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn ask_for_short_turns() -> io::Result<()> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is live and has at least this many bytes; thread 0 is this one.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, ATTRIBUTE_BYTES, 0) };
    checked(result)?;
    // If the user runs us in another scheduling class, there is a reason for it.
    if attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    attributes.size = ATTRIBUTE_BYTES;
    attributes.sched_runtime = SHORTEST_NS;
    // SAFETY: as above; the kernel only reads the structure.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    checked(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_class_and_its_nice_value() {
        let before = nice();
        ask_for_short_turns().unwrap();
        assert_eq!(nice(), before);
        // SAFETY: only numbers are passed.
        assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_OTHER);
    }

    fn nice() -> i32 {
        // SAFETY: only numbers are passed.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    }
}
