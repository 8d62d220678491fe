//! A program that connects, becomes somebody else or goes somewhere else, and connects again.

use std::ffi::CString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{Case, Told, connected};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    ("other-groups", other_groups),
    ("other-user", other_user),
    ("fewer-rights", fewer_rights),
    ("other-root", other_root),
    ("other-users", other_users),
    ("other-thread", other_thread),
];

fn arrive(told: &Told<'_>) {
    println!("way {}", raw::read(connected(told.to)).trim_end());
}

fn set_groups(groups: &[u32]) {
    // The kernel's own call changes this thread alone.
    let result = unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
    assert_eq!(result, 0);
}

fn other_groups(told: &Told<'_>) {
    set_groups(&[5]);
    arrive(told);
    set_groups(&[4, 7]);
    arrive(told);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            arrive(told);
            set_groups(&[]);
            arrive(told);
        });
    });
    arrive(told);
}

fn other_user(told: &Told<'_>) {
    set_groups(&[5]);
    arrive(told);
    assert_eq!(unsafe { libc::setresuid(65_534, 65_534, 0) }, 0);
    arrive(told);
    assert_eq!(unsafe { libc::setresuid(0, 0, 0) }, 0);
    arrive(told);
}

fn fewer_rights(told: &Told<'_>) {
    arrive(told);
    let header = [0x2008_0522_u32, 0];
    let none = [0_u32; 6];
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(result, 0);
    arrive(told);
}

fn other_root(told: &Told<'_>) {
    arrive(told);
    let folder = CString::new(&*told.words[0]).unwrap();
    assert_eq!(unsafe { libc::chroot(folder.as_ptr()) }, 0);
    arrive(told);
}

fn other_users(told: &Told<'_>) {
    arrive(told);
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, 0);
    arrive(told);
}

/// A thread goes among other mounts, where the server's folder is empty, and executes: it then is the
/// process's first thread, by its number.
fn other_thread(told: &Told<'_>) {
    arrive(told);
    let folder = CString::new(&*told.words[0]).unwrap();
    let to = told.to.to_string();
    let thread = std::thread::spawn(move || {
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        let (none, tmpfs) = (CString::default(), c"tmpfs");
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        let nothing = std::ptr::null();
        let mounted = unsafe {
            libc::mount(none.as_ptr(), c"/".as_ptr(), nothing, flags, nothing.cast());
            libc::mount(
                tmpfs.as_ptr(),
                folder.as_ptr(),
                tmpfs.as_ptr(),
                0,
                nothing.cast(),
            )
        };
        assert_eq!(mounted, 0);
        let exe = std::env::current_exe().unwrap();
        let error = Command::new(exe).args(["client", "account", &to]).exec();
        panic!("{error}");
    });
    let _ = thread.join();
}
