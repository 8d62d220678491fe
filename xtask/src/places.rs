//! What only some places may do: reading the clock, writing files at once, printing.
//!
//! Data for `source`, which finds the calls. Everything else that is forbidden is so everywhere.

/// Something that only some places may do.
pub(crate) struct Reserved {
    /// Completes the sentence “this call …”.
    pub(crate) what: &'static str,
    /// The last two segments of the path that is called.
    pub(crate) calls: &'static [(&'static str, &'static str)],
    pub(crate) places: &'static [Place],
}

/// A place that may, and why.
pub(crate) struct Place {
    /// Start of the path from the workspace's root; a lone file name counts in any `crates/*/src`.
    pub(crate) start: &'static str,
    #[allow(dead_code, reason = "read by people")]
    reason: &'static str,
}

/// The exceptions are data: a new one is a line here, with its reason.
pub(crate) const RESERVED: &[Reserved] = &[
    Reserved {
        what: "reads the clock",
        calls: &[("Instant", "now"), ("SystemTime", "now")],
        places: &[
            Place {
                start: "crates/bench/",
                reason: "measures",
            },
            Place {
                start: "crates/testkit/",
                reason: "waits for processes under test",
            },
            Place {
                start: "crates/cli/",
                reason: "dates the record and draws progress",
            },
            Place {
                start: "crates/experiment/",
                reason: "ends a comparison whose time is over",
            },
            Place {
                start: "crates/replay/",
                reason: "gives each step a deadline",
            },
            Place {
                start: "xtask/",
                reason: "says how long a step took",
            },
            Place {
                start: "lab/",
                reason: "measures",
            },
            Place {
                start: "deadline.rs",
                reason: "time limits go through this module",
            },
        ],
    },
    Reserved {
        what: "writes a file at once, without temporary name and fsync,",
        calls: &[("fs", "write")],
        places: &[
            Place {
                start: "crates/servers/",
                reason: "files in its own scratch folder",
            },
            Place {
                start: "crates/testkit/",
                reason: "files in a scratch folder",
            },
            Place {
                start: "xtask/",
                reason: "generated docs, which git keeps",
            },
            Place {
                start: "lab/",
                reason: "generated data, which git keeps",
            },
            Place {
                start: "crates/report/build.rs",
                reason: "a generated table for the compiler, in cargo's own folder",
            },
        ],
    },
];

/// Where output to the terminal may be printed directly.
pub(crate) const PRINTING: [&str; 5] = [
    "crates/cli/src/terminal",
    "xtask/",
    "lab/",
    // Drivers say on stdout what the server saw.
    "clients/dialects/",
    // Cargo reads what a build script prints.
    "crates/report/build.rs",
];

impl Place {
    /// Whether a file, by its path from the root, is in this place.
    pub(crate) fn holds(&self, path: &str) -> bool {
        if self.start.contains('/') {
            return path.starts_with(self.start);
        }
        path.starts_with("crates/") && path.ends_with(&format!("/src/{}", self.start))
    }
}
