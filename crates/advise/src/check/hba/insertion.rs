//! Finds the place in `pg_hba.conf` at which a line for the socket has to be inserted.

use crate::app::Rewrite;

use super::Hba;

/// A line to be written into `pg_hba.conf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// The number of the line above which the new line is inserted; `None` for the end of a file without rules.
    pub above: Option<u32>,
    /// The insertion, as bytes of the text.
    pub rewrite: Rewrite,
}

impl Hba {
    /// Finds the place of a line for this login: above the line that decides the login over the socket now, or else
    /// above all rules.
    ///
    /// `text` must be the text from which the rules were parsed.
    pub fn insertion(&self, text: &str, line: &str, database: &str, user: &str) -> Insertion {
        let above = if let (Some(line), false) = self.decides(database, user, None) {
            Some(line.number)
        } else {
            let rules = self.lines.iter().map(|it| it.number);
            rules.chain(self.unread.iter().copied()).min()
        };
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let at = above.and_then(|number| start_of(text, number));
        let (at, text) = match at {
            Some(at) => (at, format!("{line}{newline}")),
            None if text.is_empty() || text.ends_with('\n') => (text.len(), format!("{line}{newline}")),
            None => (text.len(), format!("{newline}{line}{newline}")),
        };
        Insertion { above, rewrite: Rewrite { at: at..at, text } }
    }
}

/// The byte at which a line begins; lines are counted from 1.
fn start_of(text: &str, number: u32) -> Option<usize> {
    let Some(n_ends) = number.checked_sub(2) else {
        return Some(0);
    };
    let mut ends = text.match_indices('\n');
    ends.nth(n_ends as usize).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use crate::app::rewritten;

    use super::*;

    #[track_caller]
    fn check(text: &str, above: Option<u32>, new: &str) {
        let placed = Hba::parse(text).insertion(text, "NEW", "shop", "app");
        assert_eq!(placed.above, above, "{text}");
        let found = rewritten(text, &[placed.rewrite]);
        assert_eq!(found.as_deref(), Some(new), "{text}");
    }

    #[test]
    fn it_goes_above_the_line_that_decides_or_above_all() {
        check(
            "# c\nlocal all postgres peer\nlocal all all peer\n",
            Some(3),
            "# c\nlocal all postgres peer\nNEW\nlocal all all peer\n",
        );
        check("# c\r\nlocal all all peer\r\n", Some(2), "# c\r\nNEW\r\nlocal all all peer\r\n");
        // A role to which the user may belong, or an included file, may decide before the new line.
        check(
            "\nlocal all +staff peer\nlocal all all peer\n",
            Some(2),
            "\nNEW\nlocal all +staff peer\nlocal all all peer\n",
        );
        check("include other.conf\nlocal all all peer", Some(1), "NEW\ninclude other.conf\nlocal all all peer");
        check("local \\\n all all peer\n", Some(1), "NEW\nlocal \\\n all all peer\n");
        check("host all all ::1/128 md5", Some(1), "NEW\nhost all all ::1/128 md5");
        check("# nothing", None, "# nothing\nNEW\n");
        check("", None, "NEW\n");
    }
}
