//! Where in a JSON text an error is, as the path of the innermost field that had begun: `comparisons[0].tax`.

use std::fmt::Write;

/// What is open at a place of the text.
enum Open {
    /// With the name of the value that is being read; empty between two.
    Object { key: String },
    /// With the number of values that have begun.
    Array { n_begun: usize },
}

/// The path at this line and column, both counted from one as `serde_json` does; `.` for the whole, `the end` behind it.
pub(crate) fn path_at(text: &[u8], line: usize, column: usize) -> String {
    let before = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(line - line.min(1));
    let start: usize = before.map(<[u8]>::len).sum();
    let end = (start + column).min(text.len());
    let mut open: Vec<Open> = Vec::new();
    let mut is_closed = false;
    let mut at = 0;
    while at < end {
        let byte = text[at];
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if is_closed {
            return "the end".to_owned();
        }
        if !matches!(byte, b',' | b']')
            && let Some(Open::Array {
                n_begun: n_begun @ 0,
            }) = open.last_mut()
        {
            *n_begun = 1;
        }
        match byte {
            b'{' => open.push(Open::Object { key: String::new() }),
            b'[' => open.push(Open::Array { n_begun: 0 }),
            b'}' | b']' => {
                // Something was missing in what ends here.
                let is_last = at + 1 == end;
                if !is_last {
                    open.pop();
                    is_closed = open.is_empty();
                }
                forget_key(&mut open);
            }
            b',' => match open.last_mut() {
                Some(Open::Array { n_begun }) => *n_begun += 1,
                _ => forget_key(&mut open),
            },
            b'"' => {
                let word = &text[at + 1..end];
                let length = string_length(word);
                // A name that is cut off is nobody's.
                if let Some(Open::Object { key }) = open.last_mut()
                    && key.is_empty()
                    && length < word.len()
                {
                    *key = String::from_utf8_lossy(&word[..length]).into_owned();
                }
                at += length + 1;
            }
            _ => {}
        }
        at += 1;
    }
    shown(&open)
}

fn forget_key(open: &mut [Open]) {
    if let Some(Open::Object { key }) = open.last_mut() {
        key.clear();
    }
}

/// Bytes of a string up to its closing quote, or up to where the text ends.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != b'"' {
        at += 1 + usize::from(text[at] == b'\\');
    }
    at.min(text.len())
}

fn shown(open: &[Open]) -> String {
    let mut path = String::new();
    for part in open {
        match part {
            Open::Object { key } if key.is_empty() => {}
            Open::Object { key } if path.is_empty() => path.clone_from(key),
            Open::Object { key } => {
                path.push('.');
                path += key;
            }
            Open::Array { n_begun: 0 } => {}
            Open::Array { n_begun } => {
                let _ = write!(path, "[{}]", n_begun - 1);
            }
        }
    }
    if path.is_empty() {
        ".".to_owned()
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Whole {
        list: Vec<Part>,
        name: String,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Part {
        n: u8,
        deep: Option<Box<Part>>,
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = serde_json::from_slice::<Whole>(text.as_bytes())
            .err()
            .unwrap();
        let found = path_at(text.as_bytes(), error.line(), error.column());
        assert_eq!(found, expected, "{error} in {text}");
    }

    #[test]
    fn the_innermost_field_that_had_begun_is_named() {
        check(r#"{"list":[{"n":1},{"n":"x"}],"name":"a"}"#, "list[1].n");
        check(
            r#"{"list":[{"n":1,"deep":{"n":300}}],"name":"a"}"#,
            "list[0].deep.n",
        );
        check(
            "{\"name\": \"a \\\" { [ , b\",\n \"list\": [\n {\"n\": true}]}",
            "list[0].n",
        );
        check(r#"{"list":[],"name":7}"#, "name");
        check(r#"{"list":[{"n":1"#, "list[0].n");
        check(r#"{"list":["#, "list");
        check(r#"{"list":[{"n"#, "list[0]");
        check(r#"{"list":[],"name":"a"}{"#, "the end");
        check("[1]", "[0]");
        check("", ".");
    }

    #[test]
    fn what_is_missing_is_told_where_its_object_ends() {
        check(r#"{"list":[{"n":1},{"deep":null}],"name":"a"}"#, "list[1]");
        check(r#"{"list":[]}"#, ".");
    }

    #[test]
    fn any_place_of_any_text_has_a_path() {
        let text = br#"{"a":[{"b\"":"x\\"},[[]]],"c":{"d":"e"#;
        for line in 0..4 {
            for column in 0..60 {
                assert!(!path_at(text, line, column).is_empty());
            }
        }
    }
}
