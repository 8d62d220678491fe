//! Configuration in a programming language: PHP, Perl, Python, Ruby, JavaScript, JSON. Also programs in these
//! languages, in Go, and in Java and similar languages.
//!
//! Nothing is executed. `lexer` splits the text into strings, words and signs, and handles comments and escapes;
//! `condition` finds the parts that do not always run; `walk` follows assignments, `define` and nested lists to their
//! literals; `expression` reads an expression that is used as a value; `calls` finds the calls of database drivers.
//! looptax has its own lexer, because none of the existing lexers covers all these languages, and none reads only their
//! literals.

mod calls;
mod condition;
mod expression;
mod include;
mod lexer;
mod walk;

pub(crate) use calls::{Call, MARK, REST, calls};
pub use include::Included;
pub(crate) use include::{files, read};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// PHP, between `<?php` and `?>`.
    Php,
    Perl,
    Python,
    Ruby,
    Script,
    Go,
    /// Also Kotlin, Scala and C#.
    Java,
}

impl Language {
    /// The signs that begin a comment up to the end of the line.
    const fn line_comments(self) -> &'static [&'static str] {
        match self {
            Self::Php => &["//", "#"],
            Self::Python | Self::Ruby | Self::Perl => &["#"],
            Self::Script | Self::Go | Self::Java => &["//"],
        }
    }

    const fn has_block_comments(self) -> bool {
        matches!(self, Self::Php | Self::Script | Self::Go | Self::Java)
    }

    /// Characters that, after a backslash in a string, begin an escape which only the language's own parser can
    /// evaluate.
    const fn knows_alone(self) -> &'static str {
        match self {
            Self::Php | Self::Perl => "efvux01234567",
            Self::Python => "abfvuxNU01234567\n\r",
            Self::Ruby => "abefvscCMux01234567\n\r",
            Self::Script | Self::Java => "bfvux0123456789\n\r",
            Self::Go => "abfvuxU01234567",
        }
    }

    /// Whether a statement may end at the end of its line.
    const fn ends_with_line(self) -> bool {
        !matches!(self, Self::Php | Self::Perl)
    }
}
