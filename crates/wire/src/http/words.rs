//! Extracts the first words of a page, without tags, for error messages.

/// Highest number of words that are returned: enough to recognise an error page.
const MOST_WORDS: usize = 30;
const HIDDEN: [&str; 3] = ["style", "script", "title"];

/// Returns the first words of a page; empty if the page has no text. The page may be cut at any byte.
pub fn first_words(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let mut text = String::new();
    let mut rest = &*page;
    while let Some(at) = rest.find('<') {
        text += &rest[..at];
        text.push(' ');
        let hidden = { HIDDEN.iter() }.find(|tag| rest[at + 1..].starts_with(**tag));
        let end = match hidden {
            Some(tag) => rest[at..].find(&format!("</{tag}")).map(|it| at + it + 1),
            None => Some(at),
        };
        let Some(end) = end.and_then(|end| Some(end + rest[end..].find('>')?)) else {
            rest = "";
            break;
        };
        rest = &rest[end + 1..];
    }
    text += rest;
    let words = text.split_whitespace().take(MOST_WORDS);
    let words: Vec<String> = words.map(|word| crate::error::printable(word.as_bytes())).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_page_are_those_a_person_reads() {
        let page = "<html><head><title>x</title><style>a { b }</style></head><body><h1>Error establishing</h1>\n<p>a database connection</p>";
        for (page, words) in [
            (page, "Error establishing a database connection"),
            ("plain \u{1b}[2J words", "plain \\x1b[2J words"),
            ("<p", ""),
            ("", ""),
        ] {
            assert_eq!(first_words(page.as_bytes()), words);
        }
        assert_eq!(first_words(b"caf\xc3"), "caf\u{fffd}");
    }
}
