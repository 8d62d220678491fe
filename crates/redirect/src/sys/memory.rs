//! Memory that several processes share.

use std::io;

use super::checked;

/// Maps a new `T`, all zeroes, which is shared with the processes that are forked from now on and never unmapped.
///
/// # Safety
/// All zeroes must be a valid `T`, and every process may change any part of it at any time.
pub(crate) unsafe fn share<T>() -> io::Result<&'static T> {
    // SAFETY: an anonymous mapping at an address that the kernel chooses.
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
    // SAFETY: the mapping is large enough, page-aligned, zeroed, and never unmapped; the caller ensures the rest.
    Ok(unsafe { &*place.cast::<T>() })
}

/// Makes the memory from [`share`] all zeroes again, for every process that shares it.
///
/// # Safety
/// `shared` must come from [`share`], and no process may be using it.
///
/// # Source
/// madvise(2), `MADV_REMOVE`: works on all shared memory.
pub(crate) unsafe fn clear<T>(shared: &'static T) -> io::Result<()> {
    let place = std::ptr::from_ref(shared).cast_mut().cast();
    // SAFETY: the address is that of a mapping of this size, which the kernel rounds up to whole pages.
    checked(unsafe { libc::madvise(place, size_of::<T>(), libc::MADV_REMOVE) }.into()).map(drop)
}
