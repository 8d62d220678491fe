//! The filter of system calls for a program of root that is run to get its configuration. The filter lists the calls
//! that the supervisor answers, the calls that only report success, and the calls that fail. The program makes all
//! other calls itself.
//!
//! The program belongs to root and contains no other user's code. The filter ensures that a test of the configuration
//! does not change the machine. A call that is newer than this list fails as if the kernel did not have the call.

use std::ffi::c_long;

use crate::seccomp::bpf::{ARCH, AT_ARCH, AT_NUMBER, Step, X32_BIT, assemble, at_argument, sock_filter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Notify,
    /// The call returns 0 and has no effect.
    Done,
    Refuse,
    /// The call fails as if the kernel did not have it.
    Missing,
    /// The call is allowed only for the process itself: the first argument has to be 0.
    OwnFirst,
    /// The call is allowed only for the process itself: the second argument has to be 0.
    OwnSecond,
    Socket,
    Control,
    End,
    Known,
}

/// The number of this call in `asm-generic/unistd.h`, which is the same on all machines. Not every C library has a
/// definition of it.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
/// The first call number that this list does not contain.
const UNKNOWN: u32 = 470;

/// The calls that the supervisor answers: all calls that open a file, execute, connect or send a signal.
const NOTIFIED: [c_long; 6] =
    [libc::SYS_openat, libc::SYS_execve, libc::SYS_execveat, libc::SYS_connect, libc::SYS_kill, libc::SYS_tgkill];
#[cfg(target_arch = "x86_64")]
const NOTIFIED_OLD: [c_long; 2] = [libc::SYS_open, libc::SYS_creat];
#[cfg(not(target_arch = "x86_64"))]
const NOTIFIED_OLD: [c_long; 0] = [];

/// Calls that would change files, or bind an address. They report success, because a test of a configuration continues
/// after them.
const DONE: [c_long; 26] = [
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_fallocate,
    libc::SYS_sync,
    libc::SYS_syncfs,
];
#[cfg(target_arch = "x86_64")]
const DONE_OLD: [c_long; 14] = [
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mknod,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const DONE_OLD: [c_long; 0] = [];

/// Calls that affect other processes or the machine; a test of a configuration does not need them.
const REFUSED: [c_long; 52] = [
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_open_by_handle_at,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_shmget,
    libc::SYS_shmctl,
    libc::SYS_shmat,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

/// Newer calls for opening and sending: if they are missing, programs use older calls.
const MISSING: [c_long; 10] = [
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
];

/// Calls that set limits and priorities; a process of root could set them for any other process.
const OWN_FIRST: [c_long; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];
const OWN_SECOND: [c_long; 2] = [libc::SYS_setpriority, libc::SYS_ioprio_set];

/// The address families that a socket may have; with other families a program could reach the kernel's own services.
const FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
/// Requests that change a file even through a descriptor opened for reading. Source: linux/fs.h: `FS_IOC_SETFLAGS`,
/// `FS_IOC_FSSETXATTR`.
const CHANGING_REQUESTS: [u32; 2] = [0x4008_6602, 0x401c_5820];

/// Builds the filter; `None` if this machine's call numbers are not known.
pub(super) fn program() -> Option<Vec<sock_filter>> {
    if ARCH == 0 {
        return None;
    }
    let refuse = |errno: i32| Step::Return(libc::SECCOMP_RET_ERRNO | errno as u32);
    let mut steps = vec![
        Step::Load(AT_ARCH),
        Step::NotEqual(ARCH, Goal::End),
        Step::Load(AT_NUMBER),
        Step::AtLeast(X32_BIT, Goal::Missing),
        Step::AtLeast(UNKNOWN, Goal::Missing),
    ];
    let mut add = |numbers: &[c_long], goal| {
        steps.extend(numbers.iter().map(|it| Step::Equal(*it as u32, goal)));
    };
    add(&NOTIFIED, Goal::Notify);
    add(&NOTIFIED_OLD, Goal::Notify);
    add(&DONE, Goal::Done);
    add(&DONE_OLD, Goal::Done);
    add(&REFUSED, Goal::Refuse);
    add(&MISSING, Goal::Missing);
    add(&OWN_FIRST, Goal::OwnFirst);
    add(&OWN_SECOND, Goal::OwnSecond);
    add(&[libc::SYS_socket, libc::SYS_socketpair], Goal::Socket);
    add(&[libc::SYS_ioctl], Goal::Control);
    let allow = Step::Return(libc::SECCOMP_RET_ALLOW);
    steps.push(allow);
    steps.extend([
        Step::Here(Goal::OwnFirst),
        Step::Load(at_argument(0)),
        Step::NotEqual(0, Goal::Refuse),
        allow,
        Step::Here(Goal::OwnSecond),
        Step::Load(at_argument(1)),
        Step::NotEqual(0, Goal::Refuse),
        allow,
        Step::Here(Goal::Control),
        Step::Load(at_argument(1)),
    ]);
    steps.extend(CHANGING_REQUESTS.map(|it| Step::Equal(it, Goal::Refuse)));
    steps.extend([allow, Step::Here(Goal::Socket), Step::Load(at_argument(0))]);
    // If the family is in the list, the jump leads to the last step of the filter, which allows the call.
    steps.extend(FAMILIES.map(|it| Step::Equal(it as u32, Goal::Known)));
    steps.extend([
        refuse(libc::EAFNOSUPPORT),
        Step::Here(Goal::Notify),
        Step::Return(libc::SECCOMP_RET_USER_NOTIF),
        Step::Here(Goal::Done),
        refuse(0),
        Step::Here(Goal::Refuse),
        refuse(libc::EPERM),
        Step::Here(Goal::Missing),
        refuse(libc::ENOSYS),
        Step::Here(Goal::End),
        Step::Return(libc::SECCOMP_RET_KILL_PROCESS),
        Step::Here(Goal::Known),
        allow,
    ]);
    Some(assemble(&steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::bpf::decide;

    #[track_caller]
    fn check(number: c_long, args: [u64; 2], expected: u32) {
        let program = program().unwrap();
        let [first, second] = args;
        let found = decide(&program, ARCH, number, [first, second, 0, 0, 0, 0]);
        assert_eq!(found, expected, "{number}");
    }

    #[test]
    fn what_opens_is_answered_and_what_changes_is_not_done() {
        let error = |errno: i32| libc::SECCOMP_RET_ERRNO | errno as u32;
        check(libc::SYS_openat, [0, 0], libc::SECCOMP_RET_USER_NOTIF);
        check(libc::SYS_execve, [0, 0], libc::SECCOMP_RET_USER_NOTIF);
        check(libc::SYS_unlinkat, [0, 0], error(0));
        check(libc::SYS_syncfs, [0, 0], error(0));
        check(libc::SYS_ptrace, [0, 0], error(libc::EPERM));
        check(libc::SYS_migrate_pages, [0, 0], error(libc::EPERM));
        check(libc::SYS_openat2, [0, 0], error(libc::ENOSYS));
        check(1_000, [0, 0], error(libc::ENOSYS));
        check(c_long::from(X32_BIT) + 2, [0, 0], error(libc::ENOSYS));
        check(libc::SYS_prlimit64, [0, 7], libc::SECCOMP_RET_ALLOW);
        check(libc::SYS_prlimit64, [1, 7], error(libc::EPERM));
        check(libc::SYS_setpriority, [0, 0], libc::SECCOMP_RET_ALLOW);
        check(libc::SYS_setpriority, [0, 1], error(libc::EPERM));
        check(libc::SYS_socket, [libc::AF_INET6 as u64, 0], libc::SECCOMP_RET_ALLOW);
        check(libc::SYS_socket, [libc::AF_NETLINK as u64, 0], error(libc::EAFNOSUPPORT));
        check(libc::SYS_ioctl, [0, 0x4008_6602], error(libc::EPERM));
        check(libc::SYS_ioctl, [0, libc::TCGETS], libc::SECCOMP_RET_ALLOW);
        check(libc::SYS_read, [0, 0], libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn another_architecture_s_calls_end_the_program() {
        let program = program().unwrap();
        let found = decide(&program, ARCH ^ 1, libc::SYS_read, [0; 6]);
        assert_eq!(found, libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn every_jump_is_short_enough() {
        assert!(program().unwrap().len() < 250);
    }
}
