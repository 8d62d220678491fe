//! A section of an ini file of PHP-FPM or uWSGI: the settings in it, and how settings are written.
//!
//! If a section sets a name several times, both programs use the last line. Takes texts, and returns places.

use std::ops::Range;

use looptax_model::record::Edit;

use super::rewrite::Rewrite;

#[derive(Debug)]
pub struct Section<'a> {
    text: &'a str,
    /// The place of the section in the text.
    at: Range<usize>,
}

impl<'a> Section<'a> {
    pub fn find(text: &'a str, named: &str) -> Option<Self> {
        let mut start = None;
        let mut at = 0;
        for whole in text.split_inclusive('\n') {
            let name = { whole.trim().strip_prefix('[') }.and_then(|it| it.split(']').next());
            if let (Some(start), Some(_)) = (start, name) {
                return Some(Self { text, at: start..at });
            }
            at += whole.len();
            if name.is_some_and(|it| it.trim() == named) {
                start = Some(at);
            }
        }
        start.map(|start| Self { text, at: start..at })
    }

    /// The last line that sets `key`, without its line break.
    fn line_of(&self, key: &str) -> Option<Range<usize>> {
        let mut at = self.at.start;
        let mut found = None;
        for whole in self.text[self.at.clone()].split_inclusive('\n') {
            let name = whole.split_once('=').map(|it| it.0.trim());
            if name == Some(key) {
                found = Some(at..at + whole.trim_end_matches(['\n', '\r']).len());
            }
            at += whole.len();
        }
        found
    }

    /// The value of a setting, without quotes and without the comment after `;`.
    pub fn value(&self, key: &str) -> Option<String> {
        let line = &self.text[self.line_of(key)?];
        let value = line.split_once('=')?.1.split(';').next()?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Writes the settings: as bytes of the text, and as lines for a person. The new settings replace the old settings.
    /// A setting that the section does not have yet is written below the line that sets `anchor`. `None` if no line
    /// sets `anchor`.
    pub fn written(&self, anchor: &str, wanted: &[(&str, String)]) -> Option<(Vec<Rewrite>, Vec<Edit>)> {
        let below = self.line_of(anchor)?;
        let newline = if self.text[below.end..].starts_with('\r') { "\r\n" } else { "\n" };
        let (mut rewrites, mut edits) = (Vec::new(), Vec::new());
        for (key, value) in wanted {
            let new = format!("{key} = {value}");
            let old = self.line_of(key);
            let at = old.clone().unwrap_or(below.end..below.end);
            let number = self.text[..at.start].matches('\n').count() + 1;
            edits.push(Edit {
                line: Some(number),
                before: old.clone().map(|it| self.text[it].to_owned()),
                after: Some(new.clone()),
            });
            let text = if old.is_some() { new } else { format!("{newline}{new}") };
            rewrites.push(Rewrite { at, text });
        }
        Some((rewrites, edits))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rewrite::rewritten;
    use super::*;

    const POOLS: &str = "[one]\nlisten = 127.0.0.1:9000\n;listen.mode = 0600\n\n[two]\r\nlisten.mode = 0600 ; closed\r\nlisten = 9001\r\nlisten.mode = 0640\r\n";

    #[test]
    fn settings_are_written_where_they_stand_or_below_the_address() {
        let written = |pool, wanted: &[(&str, String)]| {
            let (rewrites, _) = Section::find(POOLS, pool).unwrap().written("listen", wanted).unwrap();
            rewritten(POOLS, &rewrites).unwrap()
        };
        let owner = ("listen.owner", "www-data".to_owned());
        let mode = ("listen.mode", "0660".to_owned());
        let expected = POOLS.replace("9000\n", "9000\nlisten.owner = www-data\n");
        assert_eq!(written("one", std::slice::from_ref(&owner)), expected);
        let expected = POOLS
            .replace("9001\r\n", "9001\r\nlisten.owner = www-data\r\n")
            .replace("listen.mode = 0640", "listen.mode = 0660");
        assert_eq!(written("two", &[owner, mode]), expected);
        assert!(Section::find(POOLS, "three").is_none());
    }

    #[test]
    fn a_value_is_the_last_one_of_its_section() {
        let one = Section::find(POOLS, "one").unwrap();
        let two = Section::find(POOLS, "two").unwrap();
        assert_eq!(one.value("listen.mode"), None);
        assert_eq!(two.value("listen.mode").as_deref(), Some("0640"));
        assert_eq!(two.value("listen").as_deref(), Some("9001"));
    }
}
