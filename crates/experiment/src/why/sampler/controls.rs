//! Three ioctl calls on an event for which the library has no function. This is the only unsafe code of `why`.

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;

use perf_event::Counter;

/// `PERF_EVENT_IOC_SET_OUTPUT` of `linux/perf_event.h`: `_IO('$', 5)`.
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// `PERF_EVENT_IOC_PERIOD` of `linux/perf_event.h`: `_IOW('$', 4, __u64)`.
const SET_PERIOD: libc::Ioctl = 0x4008_2404;

/// `PERF_EVENT_IOC_SET_FILTER` of `linux/perf_event.h`: `_IOW('$', 6, char *)`.
const SET_FILTER: libc::Ioctl = 0x4008_2406;

/// Makes an event count only those occurrences of a tracepoint that the filter accepts.
pub(crate) fn set_filter(event: &Counter, filter: &str) -> io::Result<()> {
    let filter = CString::new(filter)?;
    // SAFETY: the kernel reads a string that ends in a zero byte and lives until the call returns.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Sets the CPU time, or the number of occurrences, between two samples.
pub(crate) fn set_period(event: &Counter, period_ns: u64) -> io::Result<()> {
    // SAFETY: the kernel reads eight bytes from a number that lives until the call returns.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), SET_PERIOD, &raw const period_ns) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Makes an event write its records into the buffer of another event on the same core.
pub(crate) fn redirect(event: &Counter, owner: &Counter) -> io::Result<()> {
    // SAFETY: the call gets two open descriptors and touches no memory of ours. The kernel keeps the buffer as long as
    // any event writes into it.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, owner.as_raw_fd()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
