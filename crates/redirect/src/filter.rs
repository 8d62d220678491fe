//! The filter, a BPF program for the kernel: it decides which system calls stop and wait for the supervisor.
//!
//! It stops as few calls as possible:
//! - `connect`, except with Unix addresses of full length;
//! - the two calls for names;
//! - calls for options that a Unix socket does not have, for options that would reveal a Unix socket, and for rare
//!   options;
//! - receiving with flags that a Unix socket does not support;
//! - calls that make event queues and rings;
//! - calls that give a thread other groups, another root or other namespaces;
//! - calls that confine a thread.
//!
//! All other calls are allowed whatever their arguments; the kernel caches this decision per call, and does not run the
//! filter for them again. 32-bit programs make the calls of another architecture; of these calls, only the last two
//! kinds are stopped.
//!
//! # Source
//! seccomp(2); linux/filter.h.

use std::ffi::c_long;

use looptax_host::seccomp::bpf::{ARCH, AT_ARCH, AT_NUMBER, X32_BIT, assemble, at_argument, sock_filter};

type Step = looptax_host::seccomp::bpf::Step<Goal>;

/// The architecture of 32-bit programs on this machine. Source: linux/audit.h, `AUDIT_ARCH_I386`, `AUDIT_ARCH_ARM`.
#[cfg(target_arch = "aarch64")]
const SMALL_ARCH: u32 = 0x4000_0028;
#[cfg(not(target_arch = "aarch64"))]
const SMALL_ARCH: u32 = 0x4000_0003;
/// Numbers of calls that give a thread other groups, another root or other namespaces, in that architecture: `chroot`,
/// `setgroups16`, `setgroups`, `pivot_root`, `unshare`, `setns`.
///
/// # Source
/// arch/x86/entry/syscalls/syscall_32.tbl, arch/arm/tools/syscall.tbl.
#[cfg(target_arch = "aarch64")]
const SMALL_CALLS: [u32; 6] = [61, 81, 206, 218, 337, 375];
#[cfg(not(target_arch = "aarch64"))]
const SMALL_CALLS: [u32; 6] = [61, 81, 206, 217, 310, 346];

/// Numbers of `seccomp` and `landlock_restrict_self` in that architecture; `SMALL_PRCTL` is the number of `prctl`.
#[cfg(target_arch = "aarch64")]
const SMALL_CONFINING: [u32; 2] = [383, 446];
#[cfg(not(target_arch = "aarch64"))]
const SMALL_CONFINING: [u32; 2] = [354, 446];
const SMALL_PRCTL: u32 = 172;

/// Length of an address that has only a family, as for `AF_UNSPEC`; a shorter value is not an address.
const MIN_ADDRESS_BYTES: u32 = 2;
/// Length of a whole `sockaddr_un`, which most programs pass.
const UNIX_BYTES: u32 = 110;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Connect,
    Options,
    SocketOptions,
    Receive,
    ReceiveMessage,
    Control,
    OtherArch,
    Allow,
    Notify,
}

pub(crate) fn program() -> Vec<sock_filter> {
    let mut steps = vec![Step::Load(AT_ARCH), Step::NotEqual(ARCH, Goal::OtherArch), Step::Load(AT_NUMBER)];
    steps.extend(calls().map(|(number, goal)| Step::Equal(number as u32, goal)));
    let as_x32 = |number: c_long| number as u32 | X32_BIT;
    steps.extend(CHANGING.map(|number| Step::Equal(as_x32(number), Goal::Notify)));
    steps.extend(CONFINING.map(|number| Step::Equal(as_x32(number), Goal::Notify)));
    steps.push(Step::Equal(as_x32(libc::SYS_prctl), Goal::Control));
    steps.push(Step::Return(libc::SECCOMP_RET_ALLOW));
    steps.extend([Step::Here(Goal::OtherArch), Step::NotEqual(SMALL_ARCH, Goal::Allow), Step::Load(AT_NUMBER)]);
    steps.extend(SMALL_CALLS.map(|number| Step::Equal(number, Goal::Notify)));
    steps.extend(SMALL_CONFINING.map(|number| Step::Equal(number, Goal::Notify)));
    steps.push(Step::Equal(SMALL_PRCTL, Goal::Control));
    steps.push(Step::Return(libc::SECCOMP_RET_ALLOW));
    steps.extend(ARGUMENTS);
    let options = SEEN_SOCKET_OPTIONS.into_iter();
    steps.extend(options.map(|name| Step::Equal(name as u32, Goal::Notify)));
    steps.extend(ENDS);
    assemble(&steps)
}

/// Calls that give a thread other groups, another root or other namespaces. If other threads share the root or the
/// namespaces with this thread, a call may apply to them, too.
const CHANGING: [c_long; 5] =
    [libc::SYS_setgroups, libc::SYS_chroot, libc::SYS_pivot_root, libc::SYS_unshare, libc::SYS_setns];

/// Calls by which a thread restricts what it and its descendants may do.
const CONFINING: [c_long; 2] = [libc::SYS_seccomp, LANDLOCK_RESTRICT_SELF];
/// Source: asm-generic/unistd.h; the same number on every architecture.
const LANDLOCK_RESTRICT_SELF: c_long = 446;

/// Returns whether a confining call enters a Landlock domain.
pub(crate) fn is_landlock(number: i32) -> bool {
    c_long::from(number as u32 & !X32_BIT) == LANDLOCK_RESTRICT_SELF
}

/// Flags for receiving that a Unix socket does not support: the first receives from the error queue, the second
/// discards data.
pub(crate) const UNKNOWN_FLAGS: i32 = libc::MSG_ERRQUEUE | libc::MSG_TRUNC;

/// Options of all kinds of sockets for which calls are stopped: options that would reveal a Unix socket, and rare
/// options, which looptax checks only after a program has set one of them.
const SEEN_SOCKET_OPTIONS: [i32; 16] = [
    libc::SO_DOMAIN,
    libc::SO_PROTOCOL,
    libc::SO_REUSEPORT,
    libc::SO_OOBINLINE,
    libc::SO_RCVLOWAT,
    libc::SO_PRIORITY,
    libc::SO_MARK,
    libc::SO_DONTROUTE,
    libc::SO_ZEROCOPY,
    libc::SO_TIMESTAMP,
    libc::SO_TIMESTAMPNS,
    libc::SO_TIMESTAMPING,
    libc::SO_TIMESTAMP_NEW,
    libc::SO_TIMESTAMPNS_NEW,
    libc::SO_TIMESTAMPING_NEW,
    libc::SO_TXTIME,
];

/// The kind of a call that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Connect,
    Name,
    Option,
    /// An event queue or a ring is made.
    Queue,
    Receive,
    Groups,
    /// A seccomp filter is installed, or a Landlock domain entered.
    Confinement,
    /// A call that gives another root or other namespaces; for 32-bit programs, also a call that gives other groups.
    World,
}

/// Returns the kind of a call, from its architecture and number.
pub(crate) fn kind(arch: u32, number: i32) -> Kind {
    let plain = number as u32 & !X32_BIT;
    let is_confining = match arch {
        SMALL_ARCH => SMALL_CONFINING.contains(&plain) || plain == SMALL_PRCTL,
        _ => [CONFINING[0], CONFINING[1], libc::SYS_prctl].contains(&plain.into()),
    };
    if is_confining {
        return Kind::Confinement;
    }
    if arch != ARCH || number as u32 & X32_BIT != 0 {
        return Kind::World;
    }
    match c_long::from(number) {
        libc::SYS_connect => Kind::Connect,
        libc::SYS_getsockname | libc::SYS_getpeername => Kind::Name,
        libc::SYS_getsockopt | libc::SYS_setsockopt => Kind::Option,
        libc::SYS_recvfrom | libc::SYS_recvmsg => Kind::Receive,
        libc::SYS_setgroups => Kind::Groups,
        number if CHANGING.contains(&number) => Kind::World,
        _ => Kind::Queue,
    }
}

fn calls() -> impl Iterator<Item = (c_long, Goal)> {
    let old = [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_epoll_create, Goal::Notify),
    ];
    let everywhere = [
        (libc::SYS_recvfrom, Goal::Receive),
        (libc::SYS_recvmsg, Goal::ReceiveMessage),
        (libc::SYS_connect, Goal::Connect),
        (libc::SYS_setsockopt, Goal::Options),
        (libc::SYS_getsockopt, Goal::Options),
        (libc::SYS_getsockname, Goal::Notify),
        (libc::SYS_getpeername, Goal::Notify),
        (libc::SYS_epoll_create1, Goal::Notify),
        (libc::SYS_io_uring_setup, Goal::Notify),
        (libc::SYS_prctl, Goal::Control),
    ];
    let changing = CHANGING.into_iter().chain(CONFINING);
    let changing = changing.map(|number| (number, Goal::Notify));
    everywhere.into_iter().chain(old).chain(changing)
}

const ARGUMENTS: [Step; 26] = [
    Step::Here(Goal::Receive),
    Step::Load(at_argument(3)),
    Step::AnyBit(UNKNOWN_FLAGS as u32, Goal::Notify),
    Step::Return(libc::SECCOMP_RET_ALLOW),
    Step::Here(Goal::ReceiveMessage),
    Step::Load(at_argument(2)),
    Step::AnyBit(UNKNOWN_FLAGS as u32, Goal::Notify),
    Step::Return(libc::SECCOMP_RET_ALLOW),
    Step::Here(Goal::Control),
    Step::Load(at_argument(0)),
    Step::Equal(libc::PR_SET_SECCOMP as u32, Goal::Notify),
    Step::Return(libc::SECCOMP_RET_ALLOW),
    Step::Here(Goal::Connect),
    Step::Load(at_argument(2)),
    Step::Equal(UNIX_BYTES, Goal::Allow),
    Step::AtLeast(MIN_ADDRESS_BYTES, Goal::Notify),
    Step::Return(libc::SECCOMP_RET_ALLOW),
    Step::Here(Goal::Options),
    Step::Load(at_argument(1)),
    Step::Equal(libc::IPPROTO_IP as u32, Goal::Notify),
    Step::Equal(libc::IPPROTO_TCP as u32, Goal::Notify),
    Step::Equal(libc::IPPROTO_IPV6 as u32, Goal::Notify),
    Step::Equal(libc::SOL_SOCKET as u32, Goal::SocketOptions),
    Step::Return(libc::SECCOMP_RET_ALLOW),
    Step::Here(Goal::SocketOptions),
    Step::Load(at_argument(2)),
];

const ENDS: [Step; 4] = [
    Step::Here(Goal::Allow),
    Step::Return(libc::SECCOMP_RET_ALLOW),
    Step::Here(Goal::Notify),
    Step::Return(libc::SECCOMP_RET_USER_NOTIF),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn action(arch: u32, number: c_long, args: [u64; 6]) -> u32 {
        looptax_host::seccomp::bpf::decide(&program(), arch, number, args)
    }

    #[track_caller]
    fn check(number: c_long, args: [u64; 3], is_seen: bool) {
        let [a, b, c] = args;
        let wanted = if is_seen { libc::SECCOMP_RET_USER_NOTIF } else { libc::SECCOMP_RET_ALLOW };
        assert_eq!(action(ARCH, number, [a, b, c, 0, 0, 0]), wanted);
        let elsewhere = action(ARCH ^ 1, number, [a, b, c, 0, 0, 0]);
        assert_eq!(elsewhere, libc::SECCOMP_RET_ALLOW);
        let x32 = action(ARCH, number | c_long::from(X32_BIT), [a, b, c, 0, 0, 0]);
        let is_x32_seen = is_seen && ([&CHANGING[..], &CONFINING, &[libc::SYS_prctl]].concat().contains(&number));
        assert_eq!(x32 == libc::SECCOMP_RET_USER_NOTIF, is_x32_seen);
    }

    #[test]
    fn only_what_may_concern_a_moved_socket_is_seen() {
        for (n_bytes, is_seen) in [(1, false), (2, true), (16, true), (28, true), (110, false), (128, true)] {
            check(libc::SYS_connect, [3, 0x7fff, n_bytes], is_seen);
        }
        for call in [libc::SYS_setsockopt, libc::SYS_getsockopt] {
            for (level, is_seen) in [(0, true), (6, true), (41, true), (17, false), (1, false)] {
                check(call, [3, level, libc::SO_ERROR as u64], is_seen);
            }
            for name in SEEN_SOCKET_OPTIONS {
                check(call, [3, libc::SOL_SOCKET as u64, name as u64], true);
            }
        }
        check(libc::SYS_getsockname, [3, 0, 0], true);
        check(libc::SYS_getpeername, [3, 0, 0], true);
        check(libc::SYS_epoll_create1, [0, 0, 0], true);
        for call in CHANGING {
            check(call, [0, 0, 0], true);
        }
        check(libc::SYS_prctl, [libc::PR_SET_SECCOMP as u64, 2, 0], true);
        check(libc::SYS_prctl, [libc::PR_SET_NAME as u64, 0, 0], false);
        let message = |flags: i32| [3, 0x7fff, flags as u64];
        check(libc::SYS_recvmsg, message(libc::MSG_PEEK), false);
        check(libc::SYS_recvmsg, message(libc::MSG_ERRQUEUE), true);
        for call in [libc::SYS_read, libc::SYS_sendmsg, libc::SYS_close, libc::SYS_dup] {
            check(call, [3, 0, 16], false);
        }
    }

    #[test]
    fn a_32_bit_program_is_seen_when_it_changes_who_it_is_and_else_never() {
        for number in 0..600 {
            let is_seen = action(SMALL_ARCH, number, [3, 0, 16, 0, 0, 0]) != libc::SECCOMP_RET_ALLOW;
            let is_known = |calls: &[u32]| calls.contains(&(number as u32));
            let is_wanted = is_known(&SMALL_CALLS) || is_known(&SMALL_CONFINING);
            assert_eq!(is_seen, is_wanted, "{number}");
        }
    }

    #[test]
    fn what_was_stopped_is_known_by_its_number() {
        let kind = |number: c_long| kind(ARCH, number as i32);
        assert_eq!(kind(libc::SYS_connect), Kind::Connect);
        assert_eq!(kind(libc::SYS_setgroups), Kind::Groups);
        assert_eq!(kind(libc::SYS_chroot), Kind::World);
        assert_eq!(kind(libc::SYS_chroot | c_long::from(X32_BIT)), Kind::World);
        assert_eq!(kind(libc::SYS_epoll_create1), Kind::Queue);
        assert_eq!(super::kind(SMALL_ARCH, libc::SYS_connect as i32), Kind::World);
    }

    #[test]
    fn it_is_short() {
        assert!(program().len() < 110, "{}", program().len());
    }
}
