//! A program that connects, changes its identity, root or namespaces, and connects again.

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
    ("groups-by-thread", groups_by_thread),
    ("fenced", fenced),
    ("filtered", filtered),
    ("other-filters", other_filters),
];

fn arrive(told: &Told<'_>) {
    println!("way {}", raw::read(connected(told.to)).trim_end());
}

fn set_groups(groups: &[u32]) {
    // This system call changes only this thread.
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

/// The first thread has groups that another thread does not have. The other thread then executes a program, and so gets
/// the first thread's number.
fn groups_by_thread(told: &Told<'_>) {
    set_groups(&[]);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let to = told.to.to_string();
    let thread = std::thread::spawn(move || {
        wait.recv().unwrap();
        let exe = std::env::current_exe().unwrap();
        let error = Command::new(exe).args(["client", "account", &to]).exec();
        panic!("{error}");
    });
    set_groups(&[27, 42]);
    arrive(told);
    go.send(()).unwrap();
    let _ = thread.join();
}

fn give_up_new_rights() {
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
}

/// Forbids itself to connect over TCP: `LANDLOCK_ACCESS_NET_CONNECT_TCP` in linux/landlock.h.
fn fenced(told: &Told<'_>) {
    println!("before {}", raw::connect(raw::tcp(told.to), told.to));
    give_up_new_rights();
    let rules: [u64; 2] = [0, 2];
    let fenced = unsafe {
        let domain = libc::syscall(444, rules.as_ptr(), 16, 0);
        libc::syscall(446, domain, 0)
    };
    println!("fenced {fenced}");
    println!("after {}", raw::connect(raw::tcp(told.to), told.to));
}

/// Installs a filter that forbids `connect` if `is_strict`, and otherwise `swapon`.
fn filter(is_strict: bool) {
    give_up_new_rights();
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let forbidden = if is_strict { libc::SYS_connect } else { libc::SYS_swapon };
    let program = [
        step(load, 0, 0),
        step(equal, 1, forbidden as u32),
        step(libc::BPF_RET, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let filtered = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    println!("filtered {filtered}");
}

fn filtered(told: &Told<'_>) {
    println!("before {}", raw::connect(raw::tcp(told.to), told.to));
    filter(true);
    println!("after {}", raw::connect(raw::tcp(told.to), told.to));
}

/// A child installs a filter for itself; its parent does not.
fn other_filters(told: &Told<'_>) {
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        filter(false);
        arrive(told);
        std::process::exit(0);
    }
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    arrive(told);
}

/// A thread moves to other mounts, in which the server's folder is empty, and executes a program. It then has the
/// number of the process's first thread.
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
            libc::mount(tmpfs.as_ptr(), folder.as_ptr(), tmpfs.as_ptr(), 0, nothing.cast())
        };
        assert_eq!(mounted, 0);
        let exe = std::env::current_exe().unwrap();
        let error = Command::new(exe).args(["client", "account", &to]).exec();
        panic!("{error}");
    });
    let _ = thread.join();
}
