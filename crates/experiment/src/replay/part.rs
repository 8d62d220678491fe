//! The publications that can be measured again, by name alone.
//!
//! What was published of one is in `publication`, what is measured for it in `step`, how that is done in `run`.

/// One publication that can be measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Zaitsev, 2020.
    Percona,
    /// Kravtchuk, 2018.
    Dimitri,
    Moonen,
    /// Pages of WordPress, 2019.
    WordPress,
    /// Viriyaprasopsook, 2023. The last one: it moves the process into network namespaces of its own.
    Kawin,
}

impl Part {
    /// In the order of measuring.
    pub const ALL: [Self; 5] = [Self::Percona, Self::Dimitri, Self::Moonen, Self::WordPress, Self::Kawin];

    /// These, each once, in the order of measuring.
    pub fn in_order(asked: &[Self]) -> Vec<Self> {
        Self::ALL.into_iter().filter(|it| asked.contains(it)).collect()
    }

    /// Whether it needs network namespaces of looptax's own.
    pub fn needs_network(self) -> bool {
        self == Self::Kawin
    }
}
