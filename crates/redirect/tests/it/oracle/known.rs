//! The known differences, in the words of the documentation.

/// The difference that only threads show; it is not on the page with the table.
const BETWEEN: Difference = told(
    |calls| matches!(calls.plain, [_, "between", "0"]),
    "two calls of `epoll_ctl` with the exchange between them: the second ended with ENOENT or EEXIST",
);

/// Returns the documented difference between the results of two calls, after the same earlier calls; `None` for any
/// other difference.
pub(super) fn difference(before: &[String], plain: &str, moved: &str) -> Option<&'static Difference> {
    let words = |line: &str| -> Vec<String> {
        let words = line.split_ascii_whitespace();
        words.map(str::to_owned).collect()
    };
    let plain = words(plain);
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let has_shut = |hows: &[&str]| {
        before.iter().map(|line| words(line)).any(|line| {
            matches!(line.iter().map(String::as_str).collect::<Vec<_>>()[..], ["shutdown", _, how, "0"] if hows.contains(&how))
        })
    };
    let calls = Calls {
        plain: &plain,
        moved,
        has_shut_early: before.iter().any(|line| line.starts_with("shutdown ") && line.ends_with(" -107")),
        has_shut_reading: has_shut(&["0:", "2:"]),
        has_shut_writing: has_shut(&["1:", "2:"]),
        has_set_tos: before
            .iter()
            .map(|line| words(line))
            .any(|line| line.len() > 3 && line[0] == "setsockopt" && line[2..4] == ["0", "1"]),
    };
    DIFFERENCES.iter().chain([&BETWEEN]).find(|difference| (difference.is_it)(&calls))
}

pub(super) fn table() -> String {
    let rows = DIFFERENCES.iter().map(|it| format!("| {} |", it.words));
    let head = ["| call of the program | over TCP | moved |", "|---|---|---|"];
    let lines: Vec<String> = head.map(str::to_owned).into_iter().chain(rows).collect();
    lines.join("\n")
}

/// A call in both runs, and facts about the earlier calls.
#[expect(clippy::struct_excessive_bools, reason = "each is something that an earlier call did")]
pub(super) struct Calls<'a> {
    plain: &'a [&'a str],
    moved: &'a str,
    has_shut_early: bool,
    has_shut_reading: bool,
    has_shut_writing: bool,
    has_set_tos: bool,
}

pub(super) struct Difference {
    is_it: fn(&Calls<'_>) -> bool,
    /// Whether the calls after it may differ as well, because the two runs are no longer in the same state.
    pub(super) parts_ways: bool,
    pub(super) words: &'static str,
}

/// Makes a difference in what a call reports, which has no effect on later calls.
const fn told(is_it: fn(&Calls<'_>) -> bool, words: &'static str) -> Difference {
    Difference { is_it, parts_ways: false, words }
}

/// Makes a difference after which the two runs differ.
const fn done(is_it: fn(&Calls<'_>) -> bool, words: &'static str) -> Difference {
    Difference { is_it, parts_ways: true, words }
}

/// The table of the page on `run`, in its order.
pub(super) const DIFFERENCES: &[Difference] = &[
    done(
        |calls| matches!(calls.plain, ["sendto", _, _, _, "16:", ..]),
        "`sendto`, `sendmsg` with an address | the address is ignored | refused (EISCONN)",
    ),
    told(
        |calls| matches!(calls.plain, ["recvfrom", _, _, _, "true:", ..]) && !calls.moved.contains(": 0 "),
        "`recvfrom`, `recvmsg` with room for an address | returns no address | returns the path of the server's socket",
    ),
    told(
        |calls| matches!(calls.plain, ["ioctl", _, "0x894b:", ..]),
        "`ioctl(SIOCOUTQNSD)` | bytes that are not sent yet | refused (ENOTTY)",
    ),
    told(
        |calls| matches!(calls.plain, ["getsockopt", _, "6", "2" | "11" | "12", ..]),
        "reading `TCP_INFO`, `TCP_MAXSEG`, `TCP_QUICKACK` | the current state | that of a new, connected socket",
    ),
    told(
        |calls| matches!(calls.plain, ["getsockopt" | "setsockopt", _, "1", "7" | "8", ..]),
        "`SO_SNDBUF`, `SO_RCVBUF` | sizes of TCP's buffers | those of a Unix socket",
    ),
    told(
        |calls| matches!(calls.plain, ["getsockopt", _, "1", "49", ..]),
        "reading `SO_INCOMING_CPU` | the core of the last packet | -1",
    ),
    told(
        |calls| matches!(calls.plain, ["getsockopt" | "setsockopt", _, "6", "31", ..]),
        "`TCP_ULP` (encryption in the kernel) | accepted if the kernel has it | refused (ENOPROTOOPT)",
    ),
    told(
        |calls| matches!(calls.plain, ["getsockopt" | "setsockopt", _, "1", "60", ..]),
        "`SO_ZEROCOPY` set after `connect` | accepted | refused (EOPNOTSUPP)",
    ),
    told(
        |calls| matches!(calls.plain, ["recvmsg", _, _, "32", ..]) && calls.moved.contains(": 0 "),
        "`SO_TIMESTAMP` set after `connect` | each message has a time | no message has one",
    ),
    told(
        |calls| calls.has_set_tos && matches!(calls.plain, ["getsockopt", _, "1", "12", ..]),
        "reading `SO_PRIORITY` after `IP_TOS` was set | derived from the type of service | unchanged",
    ),
    told(
        |calls| matches!(calls.plain, ["ioctl", _, "0x5411:", ..]),
        "`ioctl(SIOCOUTQ)` | bytes that are not acknowledged | bytes that the server has not read",
    ),
    done(
        |calls| calls.has_shut_early,
        "`shutdown` before `connect` (ENOTCONN) | that side stays shut afterwards | it is open",
    ),
    done(
        |calls| calls.has_shut_reading,
        "`shutdown(SHUT_RD)` | the server does not notice | its next write fails (EPIPE)",
    ),
    done(
        |calls| calls.has_shut_writing,
        "a connection that both ends have shut down | its socket is a new one: ENOTCONN, it can be bound again | it stays connected",
    ),
];
