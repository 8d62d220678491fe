//! Files with one setting per line: `.env`, INI, `key = value`, arguments, systemd's units.

use std::collections::HashMap;

use super::branches::Branches;
use super::line_parts::{
    assignments, connect_info, dlz_arguments, exim_servers, items, listed_assignments, pam_arguments, with_servers,
};
use super::line_sections::{is_section, labels, loaded_only};
use super::quotes::{Bare, Dialect, Quotes};
use super::setting::{Joins, MOST_SETTINGS, MOST_VALUE_BYTES, Read, Setting, Value, named};

/// The syntax of a file with one setting per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// `NAME=value`, with or without `export` before it.
    Dotenv,
    /// `[section]` and `key = value`.
    Ini,
    /// `key = value` without sections. A `:` or blanks may replace the `=`. An indented line continues the line before
    /// it.
    Pairs,
    /// One argument per line: `-l 127.0.0.1`.
    Arguments,
    /// `Name value value`, as Apache writes it.
    Directives,
    /// `#!define NAME value` and `modparam("module", "name", value)`.
    Kamailio,
    /// A unit of systemd: `Environment=NAME=value "OTHER=value"`.
    Unit,
    /// `ENV NAME=value OTHER="value"`.
    Dockerfile,
}

/// Reads the settings in the lines of a file.
pub(crate) fn read(text: &str, kind: Lines) -> Read {
    let mut settings = Vec::new();
    let mut section: Vec<String> = Vec::new();
    let mut next_start = 0;
    let mut depth = 0_usize;
    let mut is_going_on = false;
    // `n_tables` counts how often each TOML table has occurred; `list` is the list that is still open, with its number
    // of items.
    let mut n_tables: HashMap<String, usize> = HashMap::new();
    let mut list: Option<(Vec<String>, usize)> = None;
    let mut branches = Branches::from_text(text);
    let mut read_until = 0;
    for (idx, whole) in text.split_inclusive('\n').enumerate() {
        let line_start = next_start;
        next_start += whole.len();
        if line_start < read_until {
            continue;
        }
        let line = whole.trim_end_matches(['\n', '\r']);
        let line = if kind == Lines::Pairs { with_servers(text, line_start, line) } else { line };
        read_until = line_start + line.len();
        if settings.len() >= MOST_SETTINGS {
            break;
        }
        let trimmed = line.trim();
        let is_too_long = trimmed.len() > MOST_VALUE_BYTES;
        depth = depth_after(trimmed, depth);
        branches.follow(trimmed);
        if trimmed.is_empty() || is_too_long || is_comment(trimmed, kind) || branches.is_taken() == Some(false) {
            continue;
        }
        if let Some((path, n_items)) = &mut list {
            let line = Setting { path: path.clone(), ..words_of_line(line, [idx + 1, line_start]) };
            let more = listed(&line, *n_items);
            *n_items += more.len();
            settings.extend(more);
            if trimmed.ends_with(']') {
                list = None;
            }
            continue;
        }
        if let Some(name) = section_of(trimmed, kind) {
            let name = named(name.trim_start_matches('['));
            let n_seen = n_tables.entry(name.clone()).or_default();
            *n_seen += usize::from(trimmed.starts_with("[["));
            section = vec![if *n_seen > 1 { format!("{name} {n_seen}") } else { name }];
            continue;
        }
        if kind == Lines::Pairs && is_section(trimmed, idx + 1, &mut section) {
            settings.extend(labels(trimmed, &section, &words_of_line(line, [idx + 1, line_start])));
            continue;
        }
        let goes_on = is_going_on;
        is_going_on = has_more(trimmed, kind, goes_on);
        let found = if goes_on {
            Some(continued(words_of_line(line, [idx + 1, line_start]), &section, kind))
        } else {
            setting(line, [idx + 1, line_start], &section, kind)
        };
        if let Some(found) = found.as_ref().filter(|_| kind == Lines::Ini && !goes_on) {
            let (own, is_open) = begun_list(found);
            list = is_open.then(|| (found.path.clone(), own.len()));
            if list.is_some() || !own.is_empty() {
                settings.extend(own);
                continue;
            }
        }
        // Quarkus writes `%prod.name=value`.
        let is_profile = kind == Lines::Pairs && trimmed.starts_with('%');
        let is_conditional = depth > 0 || is_profile || branches.is_taken().is_none();
        settings.extend(found.map(|found| Setting {
            doubt: is_conditional.then(|| format!("set under a condition (line {})", idx + 1)),
            ..found
        }));
    }
    if kind == Lines::Pairs {
        loaded_only(&mut settings, text);
    }
    (with_parts(settings, kind), Vec::new())
}

/// The items of a list that begins on this line, and whether the list continues on the next line.
fn begun_list(found: &Setting) -> (Vec<Setting>, bool) {
    let own = listed(found, 0);
    let raw = found.item[found.literal.clone()].trim_end();
    let is_open = raw.starts_with('[') && !raw.ends_with(']') && (raw == "[" || !own.is_empty());
    (own, is_open)
}

/// A continuation line of Supervisor's `environment=` or of a unit's `Environment=`, as a setting of that name.
fn continued(line: Setting, section: &[String], kind: Lines) -> Setting {
    let name = if kind == Lines::Ini { "environment" } else { "Environment" };
    let path = section.iter().filter(|_| kind == Lines::Ini).cloned().chain([name.to_owned()]);
    Setting { path: path.collect(), ..line }
}

/// Returns the texts of a TOML list, with the variables in each text replaced: `servers = ["${MONGO_URL}"]`.
fn listed(setting: &Setting, first: usize) -> Vec<Setting> {
    let expand = |it: Setting| match it.value {
        Value::Text(text) => Setting { value: expanded(text, Lines::Ini), ..it },
        _ => it,
    };
    items(setting, first).into_iter().map(expand).collect()
}

/// Whether a list of environment variables continues on the next line.
fn has_more(line: &str, kind: Lines, goes_on: bool) -> bool {
    match kind {
        Lines::Unit => line.ends_with('\\') && (goes_on || line.starts_with("Environment")),
        Lines::Dockerfile => line.ends_with('\\') && (goes_on || line.starts_with("ENV ")),
        // Supervisor's variables continue on indented lines.
        Lines::Ini => {
            let starts = || line.strip_prefix("environment").is_some_and(|it| it.trim_start().starts_with('='));
            line.ends_with([',', '=']) && (goes_on || starts())
        }
        _ => false,
    }
}

/// Returns all settings. If the value of a setting contains several settings, also returns these settings.
fn with_parts(mut settings: Vec<Setting>, kind: Lines) -> Vec<Setting> {
    let parts: Vec<Setting> = match kind {
        Lines::Directives => settings.iter().flat_map(connect_info).collect(),
        Lines::Pairs => {
            let own = settings.iter().flat_map(|it| exim_servers(it).into_iter().chain(pam_arguments(it)));
            own.chain(dlz_arguments(&settings)).collect()
        }
        Lines::Ini => settings.iter().flat_map(listed_assignments).collect(),
        Lines::Unit | Lines::Dockerfile => return settings.iter().flat_map(assignments).collect(),
        _ => return settings,
    };
    settings.extend(parts);
    settings
}

/// Returns the number of branches and loops (of a shell or a template) that are open after `line`.
pub(super) fn depth_after(line: &str, depth: usize) -> usize {
    let tag = ["{%", "<%", "{{"].iter().find_map(|it| line.strip_prefix(it));
    let words = tag.unwrap_or(line).trim_start_matches('-').trim_start();
    let first = words.split([' ', ';', '\t']).next().unwrap_or_default();
    let is_shell = line.ends_with("then") || line.ends_with("do") || line.ends_with(" in");
    match first {
        "if" | "for" | "while" | "case" | "unless" if is_shell || tag.is_some() => depth + 1,
        "range" | "with" | "define" if tag.is_some() => depth + 1,
        "fi" | "done" | "esac" => depth.saturating_sub(1),
        "end" | "endif" | "endfor" if tag.is_some() => depth.saturating_sub(1),
        _ => depth,
    }
}

fn is_comment(line: &str, kind: Lines) -> bool {
    match kind {
        Lines::Dotenv | Lines::Arguments | Lines::Pairs | Lines::Directives | Lines::Dockerfile => {
            line.starts_with('#')
        }
        Lines::Kamailio => !line.starts_with("#!") && !line.starts_with("modparam"),
        Lines::Ini | Lines::Unit => line.starts_with(['#', ';']),
    }
}

fn section_of(line: &str, kind: Lines) -> Option<&str> {
    let is_sectioned = matches!(kind, Lines::Ini | Lines::Unit);
    let inside = line.strip_prefix('[').filter(|_| is_sectioned)?;
    inside.split_once(']').map(|(name, _)| name.trim())
}

/// Reads the setting in a line. `at` has two numbers: that of the line, counted from 1, and that of the byte at which
/// the line begins.
fn setting(line: &str, at: [usize; 2], section: &[String], kind: Lines) -> Option<Setting> {
    let [number, line_start] = at;
    let start = line.len() - line.trim_start().len();
    let body = &line[start..];
    if kind == Lines::Dockerfile {
        let rest = body.strip_prefix("ENV ")?;
        let path = vec!["Environment".to_owned()];
        return Some(Setting { path, ..words_of_line(rest, [number, line_start + line.len() - rest.len()]) });
    }
    let prefix = if kind == Lines::Kamailio {
        let prefixes = ["#!define ", "#!trydef ", "#!redefine ", "modparam("];
        prefixes.into_iter().find(|it| body.starts_with(it))?
    } else {
        "export "
    };
    let key_at = body.strip_prefix(prefix).map_or(0, |rest| body.len() - rest.trim_start().len());
    let body_at = 0;
    // The value of a module's parameter follows the last comma.
    let separator = match body[key_at..].rfind(',').filter(|_| prefix == "modparam(") {
        Some(comma) => comma + 1,
        None => separator(&body[key_at..], kind)?,
    } + key_at;
    let key = body[key_at..separator].trim_end_matches([' ', '\t', ',']);
    let after = &body[separator..];
    let is_sign = after.starts_with(['=', ':']);
    // In Asterisk, `=>` means the same as `=`.
    let is_arrow = after.starts_with("=>") && kind == Lines::Ini;
    let rest = &after[usize::from(is_sign) + usize::from(is_arrow)..];
    let value_at = body.len() - rest.trim_start().len();
    let literal = literal(&body[value_at..], kind);
    let key = key.trim_matches(['\'', '"']);
    if key.is_empty() {
        return None;
    }
    let mut path = section.to_vec();
    let parts = key.split(',').map(|it| it.trim_matches([' ', '\'', '"']));
    match kind {
        Lines::Kamailio => path.extend(parts.map(named)),
        _ => path.push(named(key)),
    }
    Some(Setting {
        path,
        value: literal.value,
        doubt: None,
        line: number,
        start: line_start + start + body_at,
        item: body[body_at..value_at + literal.n_bytes].to_owned(),
        key: key_at..key_at + key.len(),
        literal: value_at..value_at + literal.n_bytes,
        quotes: literal.quotes,
        doubled: None,
        joins: Joins::Line,
    })
}

/// A whole line as the value of a unit's `Environment=`.
fn words_of_line(line: &str, at: [usize; 2]) -> Setting {
    let [number, line_start] = at;
    let start = line.len() - line.trim_start().len();
    let body = line.trim();
    Setting {
        path: vec!["Environment".to_owned()],
        value: Value::Text(body.to_owned()),
        doubt: None,
        line: number,
        start: line_start + start,
        item: body.to_owned(),
        key: 0..0,
        literal: 0..body.len(),
        quotes: Quotes::Bare(Bare::Word),
        doubled: None,
        joins: Joins::Line,
    }
}

fn separator(body: &str, kind: Lines) -> Option<usize> {
    match kind {
        Lines::Arguments => body.find([' ', '=', '\t']),
        Lines::Directives | Lines::Kamailio | Lines::Dockerfile => body.find([' ', '\t']),
        Lines::Pairs => {
            let sign = body.find(['=', ':']);
            let blank = body.find([' ', '\t']);
            let is_in_value = |sign: usize, blank: usize| {
                let (value, behind) = (body[blank..].trim_start(), &body[sign + 1..]);
                let is_glued = body[sign..].starts_with(':') && !behind.is_empty() && !behind.starts_with([' ', '\t']);
                value.starts_with(['"', '\'']) || is_glued && !value.starts_with([':', '='])
            };
            match (sign, blank) {
                (Some(sign), Some(blank)) if blank < sign && is_in_value(sign, blank) => Some(blank),
                _ => sign.or(blank),
            }
        }
        // A line of Munin that sets an environment variable.
        Lines::Ini if body.starts_with("env.") => {
            let at = body.find([' ', '\t', '='])?;
            body[at..].trim_start().find('=').filter(|it| *it == 0).map_or(Some(at), |_| body.find('='))
        }
        // Python's INI parser also accepts a colon.
        Lines::Ini => body.find('=').into_iter().chain(body.find(": ")).min(),
        Lines::Dotenv | Lines::Unit => body.find('='),
    }
}

/// A value as written in its line.
struct Literal {
    value: Value,
    n_bytes: usize,
    quotes: Quotes,
}

/// While a text is searched for variables, this character replaces each dollar that does not begin a variable.
const DOLLAR: char = '\u{e000}';

fn literal(text: &str, kind: Lines) -> Literal {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let quote = quote.filter(|_| kind != Lines::Unit);
    if let Some(quote) = quote
        && let Some((value, n_bytes)) = quoted(text, quote, kind)
    {
        let dialect = match kind {
            Lines::Dotenv => Dialect::Shell,
            _ => Dialect::Ini,
        };
        let value = match expanded(value, kind) {
            Value::Text(text) => Value::Text(text.replace(DOLLAR, "$")),
            other => other,
        };
        return Literal { value, n_bytes, quotes: Quotes::Around(quote, dialect) };
    }
    let end = match kind {
        // A comment has to follow a blank.
        Lines::Dotenv => text.find(" #").unwrap_or(text.len()),
        Lines::Ini => text.find(" ;").or_else(|| text.find(" #")).unwrap_or(text.len()),
        Lines::Kamailio => text.rfind(')').unwrap_or(text.len()),
        // The lines of an Elixir list end with a comma, and pgloader's command ends with a semicolon.
        Lines::Pairs => {
            let of_command = || text.strip_suffix(';').filter(|it| it.contains("://"));
            text.strip_suffix(',').or_else(of_command).map_or(text.len(), str::len)
        }
        Lines::Arguments | Lines::Unit | Lines::Directives | Lines::Dockerfile => text.len(),
    };
    let value = text[..end].trim_end();
    Literal {
        value: expanded(value.to_owned(), kind),
        n_bytes: value.len(),
        quotes: match kind {
            Lines::Dotenv => Quotes::AsNeeded(Dialect::Shell),
            Lines::Ini => Quotes::Bare(Bare::Ini),
            Lines::Pairs => Quotes::Bare(Bare::Line),
            _ => Quotes::Bare(Bare::Word),
        },
    }
}

/// Returns the text between quotes, and its number of bytes including the quotes. In a shell, a backslash is an escape
/// only before a few characters.
fn quoted(text: &str, quote: char, kind: Lines) -> Option<(String, usize)> {
    let is_shell = kind == Lines::Dotenv;
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((value, at + 1)),
            '\\' if quote == '"' => {
                let means_itself = |it: &char| is_shell && !"\\\"$`".contains(*it);
                if chars.peek().is_some_and(|(_, next)| means_itself(next)) {
                    value.push('\\');
                    continue;
                }
                let next = chars.next()?.1;
                let is_dollar = next == '$' && is_shell;
                value.push(if is_dollar { DOLLAR } else { next });
            }
            '$' if quote == '\'' && is_shell => value.push(DOLLAR),
            _ => value.push(c),
        }
    }
    None
}

/// Interprets a text that may contain `${NAME}`, `$NAME`, `${NAME:-default}`, `%env(NAME)%` or ERB's `<%= ENV['NAME']
/// %>`.
pub(super) fn expanded(text: String, kind: Lines) -> Value {
    if kind == Lines::Directives && text.starts_with("ENV") {
        return of_ruby(&text);
    }
    let takes_dollars = matches!(kind, Lines::Dotenv | Lines::Ini | Lines::Pairs);
    if let Some(inside) = text.strip_prefix("%env(").and_then(|it| it.strip_suffix(")%")) {
        let name = inside.rsplit(':').next().unwrap_or(inside).to_owned();
        return Value::Variable { name, fallback: None };
    }
    if text.contains("<%") {
        return embedded(&text);
    }
    // A string of Elixir or Ruby that contains an expression.
    let is_put_together = kind == Lines::Pairs && text.contains("#{");
    if text.contains("{{") || is_put_together {
        return Value::Hidden;
    }
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if let Some(name) = text.strip_prefix('$').filter(|it| !it.is_empty() && it.chars().all(is_name)) {
        return Value::Variable { name: name.to_owned(), fallback: None };
    }
    let Some(inside) = text.strip_prefix("${").filter(|_| takes_dollars) else {
        return if text.contains("${") && takes_dollars { Value::Hidden } else { Value::Text(text) };
    };
    let Some(inside) = inside.strip_suffix('}').filter(|it| !it.contains('}')) else {
        return Value::Hidden;
    };
    let (name, fallback) = match inside.split_once(':') {
        Some((name, fallback)) => (name, Some(str::to_owned(fallback.trim_start_matches(['-', '='])))),
        None => (inside, None),
    };
    Value::Variable { name: name.to_owned(), fallback }
}

/// Reads the variable and its default in Ruby's `ENV.fetch("PORT") { 3000 }` and `ENV["PORT"] || 3000`.
fn of_ruby(text: &str) -> Value {
    let mut quoted = text.split(['"', '\'']).skip(1);
    let Some(name) = quoted.next().map(str::to_owned) else {
        return Value::Hidden;
    };
    let rest: String = quoted.collect();
    let words = rest.split(|c: char| !c.is_ascii_alphanumeric());
    let mut words = words.filter(|it| !it.is_empty());
    let fallback = words.next().map(str::to_owned);
    if words.next().is_some() {
        return Value::Hidden;
    }
    Value::Variable { name, fallback }
}

/// Reads an ERB expression, which may contain only a single environment variable.
fn embedded(text: &str) -> Value {
    let inside = text
        .strip_prefix("<%=")
        .and_then(|it| it.strip_suffix("%>"))
        .filter(|it| it.trim_start().starts_with("ENV") && !it.contains("<%"));
    let mut quoted = inside.into_iter().flat_map(|it| it.split(['\'', '"']).skip(1).step_by(2).map(str::to_owned));
    match quoted.next() {
        Some(name) => Value::Variable { name, fallback: quoted.next() },
        None => Value::Hidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, kind: Lines, expected: &[&str]) {
        let (settings, _) = read(text, kind);
        let found: Vec<String> =
            settings.iter().map(|it| format!("{} {}={:?}", it.line, it.path.join("/"), it.value)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_kind_has_its_comments_quotes_and_sections() {
        check(
            "# A=1\nexport B=\"x # y\" # z\nC=${D:-e}\nF='g\\'",
            Lines::Dotenv,
            &["2 B=Text(\"x # y\")", "3 C=Variable { name: \"D\", fallback: Some(\"e\") }", "4 F=Text(\"g\\\\\")"],
        );
        check(
            "; <?php exit; ?>\n[database]\nhost = \"127.0.0.1\" ; x\n",
            Lines::Ini,
            &["3 database/host=Text(\"127.0.0.1\")"],
        );
        check("-l 127.0.0.1\n-vv\n", Lines::Arguments, &["1 -l=Text(\"127.0.0.1\")"]);
        check(
            "hosts = unix:/s\nmysql x {\n  host = h\n}\nDBHost=a\n",
            Lines::Pairs,
            &[
                "1 hosts=Text(\"unix:/s\")",
                "2 mysql x/host=Text(\"x\")",
                "3 mysql x/host=Text(\"h\")",
                "5 DBHost=Text(\"a\")",
            ],
        );
        check("[Service]\nEnvironment=A=b \"C=d e\"\nUser=x\n", Lines::Unit, &["2 A=Text(\"b\")", "2 C=Text(\"d e\")"]);
        let quoted = "[Service]\nEnvironment=A='b c' B=\"d\"e F=g\n";
        check(quoted, Lines::Unit, &["2 A=Text(\"b c\")", "2 B=Hidden", "2 F=Text(\"g\")"]);
        assert_eq!(read(quoted, Lines::Unit).0[0].with(None, "x y"), "A='x y'");
        check(
            "[Service]\nEnvironment = 'A=b c' \\\n  \"D=e f\" G=h\n",
            Lines::Unit,
            &["2 A=Text(\"b c\")", "3 D=Text(\"e f\")", "3 G=Text(\"h\")"],
        );
    }

    #[test]
    fn escapes_of_a_shell_are_few_and_stay_few() {
        check(
            r#"A="a\$b\"c\\d\qe"
B='${C}\$'
D="${C}""#,
            Lines::Dotenv,
            &[
                r#"1 A=Text("a$b\"c\\d\\qe")"#,
                r#"2 B=Text("${C}\\$")"#,
                r#"3 D=Variable { name: "C", fallback: None }"#,
            ],
        );
        let (settings, _) = read("A=\"x\"\nB='x'\n", Lines::Dotenv);
        assert_eq!(settings[0].with(None, "a$b"), "A='a$b'");
        assert_eq!(settings[1].with(None, "it's"), "B=\"it's\"");
    }

    #[test]
    fn a_units_percent_is_there_twice() {
        let text = "[Service]\nEnvironment=A=postgres://u:p@%%2Frun/x B=%h\n";
        check(text, Lines::Unit, &["2 A=Text(\"postgres://u:p@%2Frun/x\")", "2 B=Hidden"]);
        let (settings, _) = read(text, Lines::Unit);
        assert_eq!(settings[0].with(None, "x://%2F"), "A=x://%%2F");
        assert!(!settings[0].can_hold("a b"));
    }

    #[test]
    fn a_part_of_a_line_is_changed_alone() {
        let (settings, _) = read("  export A=b # c", Lines::Dotenv);
        assert_eq!(settings[0].item, "export A=b");
        assert_eq!(settings[0].with(Some("D"), "e f"), "export D=\"e f\"");
        let (settings, _) = read("[S]\nEnvironment=\"A=b\" C=d", Lines::Unit);
        assert_eq!(settings[0].with(None, "x"), "A=x");
    }
}
