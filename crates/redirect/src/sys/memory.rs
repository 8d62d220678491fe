//! Memory that several processes share.

use std::io;

use super::checked;

/// Maps a new `T`, all zeroes, shared with the processes that are forked from now on, and never unmapped.
///
/// # Safety
/// All zeroes is a valid `T`, and every process may change any of it at any time.
pub(crate) unsafe fn share<T>() -> io::Result<&'static T> {
    // SAFETY: an anonymous mapping at a place of the kernel's choice.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is as large, page-aligned, zeroed, and never unmapped; the rest is the caller's promise.
    Ok(unsafe { &*place.cast::<T>() })
}

/// Makes what [`share`] gave all zeroes again, for every process that shares it.
///
/// # Safety
/// `shared` came from [`share`], and no process works with it now.
///
/// # Source
/// madvise(2), `MADV_REMOVE`: works on shared memory, whatever it was made of.
pub(crate) unsafe fn clear<T>(shared: &'static T) -> io::Result<()> {
    let place = std::ptr::from_ref(shared).cast_mut().cast();
    // SAFETY: the place is that of a mapping of this size, which the kernel rounds up to whole pages.
    checked(unsafe { libc::madvise(place, size_of::<T>(), libc::MADV_REMOVE) }.into()).map(drop)
}
