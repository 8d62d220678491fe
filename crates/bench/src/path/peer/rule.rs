//! Decides whether the process at the other end may receive a login. This file contains only the rule, and does not
//! inspect the machine.
//!
//! looptax does not log in to a process under an account of this machine that may be a person's. Even if the password
//! itself is not sent, that process could relay the login to the true server, or guess the password from the exchange.

/// The range from which systemd picks a user for a service whose file does not name a user (`DynamicUser=`).
///
/// # Source
/// systemd.io, "Users, Groups, UIDs and GIDs on systemd systems".
const DYNAMIC: std::ops::RangeInclusive<u32> = 61_184..=65_519;

/// The account `nobody`, which also represents every user that the kernel cannot name in our user namespace.
const NOBODY: u32 = 65_534;

/// The far end of the connection, as far as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FarEnd {
    Account(u32),
    /// Network rules forward connections from an address of this machine to a container. Only root can set such rules.
    Routed,
    /// An address of another machine, or an address in a separate network namespace.
    Elsewhere,
    /// The kernel does not report the far end.
    Untold,
}

/// The kind of process that the account runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// The program of this process has the name of a server of this protocol.
    Server,
    Other,
    /// No process of the account is visible: its processes are in another container, or hidden from us.
    Unseen,
}

/// The facts about this machine's accounts that the rule needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accounts {
    pub(super) own: u32,
    /// The lowest id that is meant for persons; lower ids belong to the system.
    pub(super) first_ordinary: u32,
    /// Id ranges that an account was given for its containers.
    pub(super) lent: Vec<Lent>,
}

/// An id range of `/etc/subuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lent {
    pub(super) to: u32,
    pub(super) first: u32,
    pub(super) n: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ruling {
    /// Log in, by any method that the server asks for.
    Proved,
    /// Log in, but only by methods with which no process on the way could see the password.
    NotInClear,
    Stranger(Why),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The process belongs to a person's account, neither root's nor ours.
    Person(u32),
    /// The process belongs to a system account, but its program is not a server of the protocol.
    Program(u32),
    /// The kernel does not report to which account the process belongs.
    Untold,
}

enum Standing {
    Trusted,
    System,
    Nobody,
    Person,
}

impl Accounts {
    fn standing(&self, uid: u32) -> Standing {
        let lent = { self.lent.iter() }.find(|it| {
            let offset = uid.checked_sub(it.first);
            offset.is_some_and(|offset| offset < it.n)
        });
        match lent.map_or(uid, |it| it.to) {
            0 => Standing::Trusted,
            uid if uid == self.own => Standing::Trusted,
            NOBODY => Standing::Nobody,
            uid if uid < self.first_ordinary || DYNAMIC.contains(&uid) => Standing::System,
            _ => Standing::Person,
        }
    }
}

/// Applies the rule. Calls `process` only if the decision depends on it.
pub(super) fn ruling(far_end: FarEnd, accounts: &Accounts, process: impl FnOnce() -> Process) -> Ruling {
    let uid = match far_end {
        FarEnd::Account(uid) => uid,
        FarEnd::Routed => return Ruling::Proved,
        FarEnd::Elsewhere => return Ruling::NotInClear,
        FarEnd::Untold => return Ruling::Stranger(Why::Untold),
    };
    match accounts.standing(uid) {
        Standing::Trusted => Ruling::Proved,
        Standing::Person => Ruling::Stranger(Why::Person(uid)),
        Standing::System => match process() {
            Process::Server | Process::Unseen => Ruling::Proved,
            Process::Other => Ruling::Stranger(Why::Program(uid)),
        },
        // A user that the kernel cannot name may be a person in another user namespace.
        Standing::Nobody => match process() {
            Process::Server => Ruling::Proved,
            Process::Other | Process::Unseen => Ruling::Stranger(Why::Program(uid)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 1000;

    fn accounts() -> Accounts {
        let lent = |to, first| Lent { to, first, n: 65_536 };
        Accounts {
            own: OWN,
            first_ordinary: 1000,
            lent: vec![lent(OWN, 100_000), lent(1001, 165_536), lent(998, 300_000), lent(0, 400_000)],
        }
    }

    #[track_caller]
    fn check(far_end: FarEnd, process: Process, expected: Ruling) {
        let found = ruling(far_end, &accounts(), || process);
        assert_eq!(found, expected, "{far_end:?} {process:?}");
    }

    #[test]
    fn r44_root_ourselves_and_the_system_s_servers_hear_a_login_and_other_people_do_not() {
        use FarEnd::Account;
        use Process::{Other, Server, Unseen};
        use Ruling::{Proved, Stranger};
        for process in [Server, Other, Unseen] {
            // Docker's port proxy, systemd's sockets, a server that runs as root.
            check(Account(0), process, Proved);
            // Our own tunnel, a developer's server, podman without root.
            check(Account(OWN), process, Proved);
            check(Account(100_999), process, Proved);
            // A server in an LXC container.
            check(Account(400_101), process, Proved);
            // Processes and containers of other people, whatever their programs are called.
            check(Account(1001), process, Stranger(Why::Person(1001)));
            check(Account(165_536), process, Stranger(Why::Person(165_536)));
            check(Account(70_000), process, Stranger(Why::Person(70_000)));
        }
        // The accounts mysql and postgres, a service with DynamicUser=, Docker's containers with their own ids.
        for uid in [27, 999, 61_500, 300_999] {
            check(Account(uid), Server, Proved);
            check(Account(uid), Unseen, Proved);
            check(Account(uid), Other, Stranger(Why::Program(uid)));
        }
        check(Account(65_534), Server, Proved);
        check(Account(65_534), Other, Stranger(Why::Program(65_534)));
        check(Account(65_534), Unseen, Stranger(Why::Program(65_534)));
    }

    #[test]
    fn r44_where_the_network_leads_on_the_way_decides() {
        check(FarEnd::Routed, Process::Other, Ruling::Proved);
        check(FarEnd::Elsewhere, Process::Other, Ruling::NotInClear);
        check(FarEnd::Untold, Process::Server, Ruling::Stranger(Why::Untold));
    }
}
