//! Joins the files of nginx into one text: each `include` is replaced by the text of the included files.
//!
//! Works on text only; the files are those that `nginx -T` prints.

use std::ops::Range;
use std::path::{Path, PathBuf};

use looptax_advise::app::{Statement, statements};

use super::glob;

/// The largest depth of files that include each other; no real nginx configuration is deeper.
const MOST_DEPTH: usize = 16;

/// The joined text, and the byte ranges that come from the files of the site.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) own: Vec<Range<usize>>,
}

/// Replaces all includes in the first of these files.
///
/// # Errors
/// The file that is missing, or that cannot be split into directives.
pub(super) fn expand(files: &[(PathBuf, String)], is_own: &dyn Fn(&Path) -> bool) -> Result<Expanded, String> {
    let (main, _) = files.first().ok_or("`nginx -T` prints no file")?;
    let expanding = Expanding { files, folder: main.parent().unwrap_or(main), is_own };
    let mut found = Expanded::default();
    expanding.file(main, 0, &mut found)?;
    Ok(found)
}

struct Expanding<'a> {
    files: &'a [(PathBuf, String)],
    /// The folder of the main file, at which the path of an `include` starts.
    folder: &'a Path,
    is_own: &'a dyn Fn(&Path) -> bool,
}

impl Expanding<'_> {
    fn file(&self, path: &Path, depth: usize, into: &mut Expanded) -> Result<(), String> {
        let text = self.files.iter().find(|it| it.0 == path).map(|it| &*it.1);
        let text = text.ok_or_else(|| format!("`nginx -T` does not print {}", path.display()))?;
        if depth > MOST_DEPTH {
            return Err(format!("the includes that lead to {} are nested too deeply", path.display()));
        }
        let whole = statements(text).ok_or_else(|| format!("cannot split {} into directives", path.display()))?;
        let mut includes = Vec::new();
        collect(text, &whole, &mut includes);
        let is_own = (self.is_own)(path);
        let mut done = 0;
        let take = |into: &mut Expanded, at: Range<usize>| {
            let start = into.text.len();
            into.text.push_str(&text[at]);
            if is_own {
                into.own.push(start..into.text.len());
            }
        };
        for statement in includes {
            take(into, done..statement.at.start);
            done = statement.at.end;
            for it in self.named(statement.word(text, 1))? {
                self.file(&it, depth + 1, into)?;
            }
        }
        take(into, done..text.len());
        // Without a line end, the last line would be joined with the first line of the next file.
        into.text.push('\n');
        Ok(())
    }

    fn named(&self, word: &str) -> Result<Vec<PathBuf>, String> {
        let whole = self.folder.join(word);
        if !glob::is_pattern(word) {
            return Ok(vec![whole]);
        }
        let pattern = whole.to_str().ok_or("a path is not UTF-8")?;
        let paths = self.files.iter().map(|it| &it.0);
        let mut found: Vec<PathBuf> = paths.filter(|it| glob::fits(pattern, it)).cloned().collect();
        found.sort();
        Ok(found)
    }
}

fn collect<'a>(text: &str, all: &'a [Statement], into: &mut Vec<&'a Statement>) {
    for it in all {
        match &it.block {
            Some(block) => collect(text, block, into),
            None if it.word(text, 0) == "include" => into.push(it),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_replaced_and_the_bytes_of_one_file_are_known() {
        let files = [
            ("/etc/nginx/nginx.conf", "http { include mime.types; include \"sites/*\"; }\n"),
            ("/etc/nginx/mime.types", "types { }"),
            ("/etc/nginx/sites/b", "server { include /etc/nginx/mime.types; } # b"),
            ("/etc/nginx/sites/a", "server { } # include c;\n"),
        ];
        let files = files.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        let found = expand(&files, &|it| it.ends_with("b")).unwrap();
        let expected = "http { types { }\n server { } # include c;\n\nserver { types { }\n } # b\n }\n\n";
        assert_eq!(found.text, expected);
        let own: Vec<&str> = found.own.iter().map(|it| &found.text[it.clone()]).collect();
        assert_eq!(own, ["server { ", " } # b"]);
        let missing = expand(&files[..1], &|_| false).unwrap_err();
        assert_eq!(missing, "`nginx -T` does not print /etc/nginx/mime.types");
    }
}
