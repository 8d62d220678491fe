//! A name in a line, and whether it matches a given name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Yes,
    No,
    /// The match depends on facts that looptax cannot see: roles, files, names of hosts.
    Maybe,
}

/// A name in a list. A name in quotes is never a keyword.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub text: String,
    pub is_quoted: bool,
}

/// A word of a line: one or more names, separated by commas.
pub(super) type Word = Vec<Name>;

impl Fit {
    /// Whether both `self` and `other` match.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            _ => Self::Yes,
        }
    }
}

impl Name {
    /// The text, which may be a keyword; `None` if the name is in quotes.
    pub(super) fn keyword(&self) -> Option<&str> {
        (!self.is_quoted).then_some(&*self.text)
    }

    /// Whether a server certainly reads the name as written. `false` for the name of a file with a list, because the
    /// file may be missing, and for a pattern that may be invalid.
    pub(super) fn is_readable(&self) -> bool {
        let is_list = self.keyword().is_some_and(|text| text.starts_with('@'));
        let is_harmless = |c: char| c.is_alphanumeric() || "_-^$. ".contains(c);
        let pattern = self.text.strip_prefix('/');
        !is_list && pattern.is_none_or(|pattern| pattern.chars().all(is_harmless))
    }

    /// Whether the name matches `wanted`. `/pattern` is a regular expression in version 16 and later, also in quotes;
    /// looptax does not evaluate it.
    pub(super) fn is(&self, wanted: &str) -> Fit {
        if self.text.starts_with('/') {
            return Fit::Maybe;
        }
        yes(self.text == wanted)
    }
}

pub(super) fn yes(is_so: bool) -> Fit {
    if is_so { Fit::Yes } else { Fit::No }
}

pub(super) fn any(fits: impl Iterator<Item = Fit>) -> Fit {
    fits.fold(Fit::No, |best, fit| match (best, fit) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::Maybe, _) | (_, Fit::Maybe) => Fit::Maybe,
        _ => Fit::No,
    })
}
