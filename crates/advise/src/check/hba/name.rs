//! A name in a line, and whether it matches the wanted name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Yes,
    No,
    /// It depends on facts that looptax cannot see: roles, files, names of hosts.
    Maybe,
}

/// A name in a list; if it is quoted, it is never a keyword.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub text: String,
    pub is_quoted: bool,
}

/// The text between white space: names separated by commas.
pub(super) type Word = Vec<Name>;

impl Fit {
    /// Whether both match.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            _ => Self::Yes,
        }
    }
}

impl Name {
    /// The keyword that it may be; `None` if it is quoted.
    pub(super) fn keyword(&self) -> Option<&str> {
        (!self.is_quoted).then_some(&*self.text)
    }

    /// Whether a server reads it as written: it is neither a list in a file, which may be missing, nor a pattern, which
    /// may be invalid.
    pub(super) fn is_readable(&self) -> bool {
        let is_list = self.keyword().is_some_and(|text| text.starts_with('@'));
        let is_harmless = |c: char| c.is_alphanumeric() || "_-^$. ".contains(c);
        let pattern = self.text.strip_prefix('/');
        !is_list && pattern.is_none_or(|pattern| pattern.chars().all(is_harmless))
    }

    /// Whether it matches this name. `/pattern` is a regular expression from version 16 on, also in quotes; looptax
    /// does not evaluate it.
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
