//! The files that a program includes, and the settings that these files set.

use super::Language;
use super::walk::{Sets, walked};
use crate::app::setting::Read;

#[derive(Debug, Clone)]
pub struct Included {
    /// The name of the file, as written in the including file.
    pub words: String,
    pub text: String,
}

/// Words of code that sets variables without an assignment.
const HIDDEN: [&str; 8] = ["eval", "extract", "exec(", "GLOBALS", "globals()", "locals()", "setattr", "$$"];

/// The included files whose names are literals. Each has the words that name the file, and its path, which is absolute
/// or relative to the folder of the including file.
pub(crate) fn files(text: &str, language: Language) -> Vec<(String, String)> {
    let walk = walked(text, language);
    let named = walk.includes.into_iter().filter_map(|(_, words)| {
        let file = file(&words, language)?;
        Some((words, file))
    });
    named.collect()
}

fn file(words: &str, language: Language) -> Option<String> {
    if language == Language::Python {
        let module = words.strip_suffix("import *")?.trim();
        let module = module.strip_prefix('.').unwrap_or(module);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_plain = !module.is_empty() && module.chars().all(is_name);
        return is_plain.then(|| format!("{module}.py"));
    }
    let words = words.trim_end_matches(';').trim();
    let words = match words.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')')?.trim(),
        None => words,
    };
    let beside = ["__DIR__", "dirname(__FILE__)"];
    let beside = beside.iter().find_map(|it| words.strip_prefix(it));
    let literal = match beside {
        Some(rest) => rest.trim().strip_prefix('.')?.trim(),
        None => words,
    };
    let quote = literal.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    let name = literal[1..].strip_suffix(quote)?;
    if name.contains(['\'', '"', '$', '\\']) {
        return None;
    }
    Some(match beside {
        Some(_) => name.trim_start_matches('/').to_owned(),
        None => name.to_owned(),
    })
}

/// Reads the settings of a program's text. If an included file may also set a setting, the setting becomes doubtful.
pub(crate) fn read(text: &str, language: Language, included: &[Included]) -> Read {
    let mut walk = walked(text, language);
    let sets = |(_, words): &(usize, String)| {
        let own = included.iter().find(|it| it.words == *words)?;
        sets(own, language)
    };
    let sets: Vec<Option<Sets>> = walk.includes.iter().map(sets).collect();
    walk.doubt_by_includes(&sets);
    (walk.settings, walk.problems)
}

/// The settings that an included file sets; `None` if the file may set anything.
fn sets(included: &Included, language: Language) -> Option<Sets> {
    if HIDDEN.iter().any(|it| included.text.contains(it)) {
        return None;
    }
    let walk = walked(&included.text, language);
    let is_whole = walk.includes.is_empty() && walk.problems.is_empty();
    is_whole.then(|| Sets { paths: walk.settings.into_iter().map(|it| it.path).collect(), text: included.text.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_a_literal_name_are_known() {
        let found =
            |text: &str, language| -> Vec<String> { files(text, language).into_iter().map(|it| it.1).collect() };
        let text = "<?php require 'a.php'; include(__DIR__ . '/b.php'); require_once dirname(__FILE__).\"/c.php\";\ninclude $x; include __DIR__ . \"/$y\"; include ROOT . 'z.php'; include '/etc/d.php';";
        assert_eq!(found(text, Language::Php), ["a.php", "b.php", "c.php", "/etc/d.php"]);
        let text = "from .local import *\nfrom os import path\nfrom a.b import *\nfrom base import *\n";
        assert_eq!(found(text, Language::Python), ["local.py", "base.py"]);
    }
}
