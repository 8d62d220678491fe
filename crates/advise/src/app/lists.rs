//! Values that are lists of settings themselves: `host=127.0.0.1 dbname=mail`, `Server=…;Database=…`.

use super::setting::{Joins, Setting, UNKNOWN, Value};

/// The parts of such a value as settings below it. Parts with escapes or quotes are left out.
pub(crate) fn parts(setting: &Setting) -> Vec<Setting> {
    let Value::Text(value) = &setting.value else {
        return Vec::new();
    };
    // With escapes the places of the parts are not known.
    let Some(base) = setting.item[setting.literal.clone()].find(&**value) else {
        return Vec::new();
    };
    let base = setting.literal.start + base;
    let separators: &[char] = if value.contains(';') { &[';'] } else { &[' ', '\t', ','] };
    let joins = Joins::With(match separators {
        [';'] => ";",
        _ => " ",
    });
    let mut found = Vec::new();
    let mut at = 0;
    for piece in value.split(separators) {
        let blank = piece.len() - piece.trim_start().len();
        let trimmed = piece.trim();
        let from = base + at + blank;
        if let Some((name, text)) = trimmed.split_once('=') {
            let (name, text) = (name.trim_end(), text.trim_start());
            let is_quoted = text.starts_with(['"', '\'']);
            if !is_quoted {
                let mut part = setting.part(name, text, from..from + trimmed.len(), name.len(), joins);
                if text.contains(UNKNOWN) {
                    part.value = Value::Hidden;
                }
                found.push(part);
            }
        } else if at == 0 && !trimmed.is_empty() {
            // StackExchange.Redis: the first part is the address.
            found.push(setting.part("", trimmed, from..from + trimmed.len(), 0, joins));
        }
        at += piece.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines::{Lines, read};
    use super::*;

    #[test]
    fn each_part_is_changed_without_the_others() {
        let (settings, _) = read("connect = host=127.0.0.1 user=m password=p\n", Lines::Pairs);
        let found = parts(&settings[0]);
        assert_eq!(found[0].path, ["connect", "host"]);
        assert_eq!(found[0].with(None, "/s"), "host=/s");
        assert_eq!(found.len(), 3);
        let (settings, _) = read("a = \"Server=h;User ID=u;\"\n", Lines::Ini);
        let found = parts(&settings[0]);
        assert_eq!((&*found[1].path[1], &*found[1].item), ("User ID", "User ID=u"));
    }
}
