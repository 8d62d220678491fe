//! A process's program and its words, as a person types them.

use std::path::PathBuf;

use looptax_discover::Process;

/// What the kernel writes behind the name of a program that was replaced.
const REPLACED: &str = " (deleted)";

/// Its file, also where a newer one has taken its place.
pub(crate) fn file_of(process: &Process) -> PathBuf {
    let path = process.program.clone().unwrap_or_default();
    let text = path.to_string_lossy();
    PathBuf::from(text.trim_end_matches(REPLACED))
}

/// Words as a shell takes them.
pub(crate) fn line(program: &str, words: &[String]) -> String {
    let words = words.iter().map(|it| &**it);
    let all: Vec<String> = std::iter::once(program).chain(words).map(quoted).collect();
    all.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        let words = ["-g".to_owned(), "user o'x; daemon off;".to_owned()];
        let line = line("/usr/sbin/nginx", &words);
        assert_eq!(line, r"/usr/sbin/nginx -g 'user o'\''x; daemon off;'");
    }
}
