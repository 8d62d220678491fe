//! How many rows of each part are printed: as many as fit a screen, or all.

/// The maximum number of rows of each part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most([usize; 11]);

/// The parts that are shortened if the text does not fit the screen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// Clients that use TCP.
    Paying,
    /// Clients of listening sockets whose process looptax does not see.
    Open,
    /// Clients that use the socket.
    OnSocket,
    Chains,
    /// Hops, which are printed below the line of their chain.
    Hops,
    /// Sentences about chains and about how requests are counted.
    Explanations,
    Servers,
    /// Lines with the addresses of a server.
    Addresses,
    Listeners,
    Sources,
    Notes,
}

/// The parts in the order in which they are shortened, each with the number of rows to which it is shortened.
const CUTS: [(Part, usize); 22] = [
    (Part::Hops, 0),
    (Part::OnSocket, 3),
    (Part::Addresses, 1),
    (Part::Chains, 3),
    (Part::Listeners, 3),
    (Part::Open, 3),
    (Part::Explanations, 3),
    (Part::Paying, 6),
    (Part::Sources, 2),
    (Part::OnSocket, 1),
    (Part::Explanations, 0),
    (Part::Notes, 4),
    (Part::Chains, 1),
    (Part::Listeners, 1),
    (Part::Open, 1),
    (Part::OnSocket, 0),
    (Part::Paying, 3),
    (Part::Sources, 1),
    (Part::Listeners, 0),
    (Part::Chains, 0),
    (Part::Notes, 2),
    (Part::Servers, 6),
];

impl Most {
    pub(super) const ALL: Self = Self([usize::MAX; 11]);
    /// The limits before any part is shortened.
    const SCREEN: Self = Self([12, 12, 12, 8, 12, 6, 30, 2, 12, 6, 12]);

    pub(super) fn of(self, part: Part) -> usize {
        self.0[part as usize]
    }

    pub(super) fn is_all(self) -> bool {
        self.0 == Self::ALL.0
    }

    /// Returns the largest limits with which the text fits, or the smallest limits if it never fits.
    pub(super) fn fitting(fits: impl Fn(Self) -> bool) -> Self {
        let mut most = Self::SCREEN;
        for (part, least) in CUTS {
            while most.of(part) > least {
                if fits(most) {
                    return most;
                }
                // Either all hops of a chain are printed or none: the chain's own line tells the reader more than a few
                // of its hops would.
                let is_hops = matches!(part, Part::Hops);
                most.0[part as usize] = if is_hops { 0 } else { most.of(part) - 1 };
            }
        }
        most
    }
}
