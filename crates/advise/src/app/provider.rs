//! Files that set environment variables: `.env` and files like it, systemd's units, PHP-FPM's pools.

use super::lines::{self, Lines};
use super::quotes::{Bare, Dialect, Quotes};
use super::rewrite::{self, Rewrite, Variable, replaced};
use super::setting::{Setting, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// `NAME=value`.
    Dotenv,
    /// `Environment=NAME=value`.
    Unit,
    /// `env[NAME] = value`.
    Pool,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Assigned {
    pub name: String,
    /// The value; `None` if it contains a variable or an expression.
    pub value: Option<String>,
    pub line: usize,
}

/// The variables that a text sets, in the order of the text.
pub fn assigned(text: &str, provider: Provider) -> Vec<Assigned> {
    let settings = settings(text, provider).into_iter();
    let all = settings.map(|(name, setting)| Assigned {
        name,
        line: setting.line,
        value: match setting.value {
            Value::Text(text) if setting.doubt.is_none() => Some(text),
            _ => None,
        },
    });
    all.collect()
}

/// Changes variables where the text sets them. A variable that the text does not set is added below the first variable
/// of `near` that the text sets. `None` if a variable is set twice, depends on other variables, or has a value that
/// cannot be written at its place.
pub fn assign(text: &str, provider: Provider, wanted: &[Variable], near: &[String]) -> Option<Vec<Rewrite>> {
    let settings = settings(text, provider);
    let mut found = Vec::new();
    // PHP-FPM does not start if a variable is empty.
    let is_empty = |it: &Variable| it.1.is_empty();
    if provider == Provider::Pool && wanted.iter().any(is_empty) {
        return None;
    }
    for (name, value) in wanted {
        let own: Vec<&Setting> = { settings.iter() }.filter(|it| it.0 == *name).map(|it| &it.1).collect();
        match own[..] {
            [] => {
                let mut anchors = near.iter();
                let set = |name: &String| settings.iter().rfind(|it| it.0 == *name);
                let (_, anchor) = anchors.find_map(set)?;
                let key = match provider {
                    Provider::Pool => format!("env[{name}]"),
                    Provider::Dotenv | Provider::Unit => name.clone(),
                };
                let item = anchor.can_hold(value).then(|| anchor.with(Some(&key), value))?;
                found.push(rewrite::added(text, anchor, &item)?);
            }
            [setting] => {
                let is_plain = matches!(setting.value, Value::Text(_)) && setting.doubt.is_none();
                if !is_plain || !setting.can_hold(value) {
                    return None;
                }
                if setting.value != Value::Text(value.clone()) {
                    found.push(replaced(setting, setting.with(None, value)));
                }
            }
            _ => return None,
        }
    }
    Some(found)
}

/// Makes a systemd drop-in that sets the variables and unsets the names in `unset`. `None` if a drop-in cannot contain
/// one of the values.
pub fn drop_in(variables: &[Variable], unset: &[String]) -> Option<String> {
    let mut text = String::from("[Service]\n");
    for (name, value) in variables {
        if value.contains(['\n', '\r']) {
            return None;
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        let value = value.replace('%', "%%");
        text.extend(["Environment=\"", name, "=", &value, "\"\n"]);
    }
    for name in unset {
        text.extend(["UnsetEnvironment=", name, "\n"]);
    }
    Some(text)
}

fn settings(text: &str, provider: Provider) -> Vec<(String, Setting)> {
    let kind = match provider {
        Provider::Dotenv => Lines::Dotenv,
        Provider::Unit => Lines::Unit,
        Provider::Pool => Lines::Ini,
    };
    let (settings, _) = lines::read(text, kind);
    let named = settings.iter().filter_map(|it| {
        let name = it.path.last()?;
        let name = match provider {
            Provider::Pool => name.strip_prefix("env[")?.strip_suffix(']')?,
            Provider::Dotenv | Provider::Unit => name,
        };
        let it = match provider {
            Provider::Pool => as_php_has_it(it.clone()),
            Provider::Dotenv | Provider::Unit => it.clone(),
        };
        Some((name.to_owned(), it))
    });
    named.collect()
}

/// Interprets a pool's setting as PHP does. If a value without quotes contains one of the characters in
/// `is_taken_apart`, PHP splits or calculates the value (`php-fpm -tt` of 8.2 shows the result).
fn as_php_has_it(setting: Setting) -> Setting {
    if setting.quotes != Quotes::Bare(Bare::Ini) {
        return setting;
    }
    let is_taken_apart =
        |it: &Value| matches!(it, Value::Text(text) if text.contains(|c| "\"'$;=|&~^!(){}".contains(c)));
    let value = match setting.value {
        it if is_taken_apart(&it) => Value::Hidden,
        it => it,
    };
    Setting { value, quotes: Quotes::AsNeeded(Dialect::Ini), ..setting }
}

#[cfg(test)]
mod tests {
    use super::super::rewrite::rewritten;
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<Variable> {
        let own = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
        pairs.iter().map(own).collect()
    }

    #[track_caller]
    fn check(text: &str, provider: Provider, wanted: &[(&str, &str)], new: Option<&str>) {
        let near = ["DB_HOST".to_owned()];
        let rewrites = assign(text, provider, &variables(wanted), &near);
        let found = rewrites.and_then(|it| rewritten(text, &it));
        assert_eq!(found.as_deref(), new, "{text}");
    }

    #[test]
    fn a_variable_is_changed_where_it_is_set_and_a_new_one_stands_beside_it() {
        check(
            "# x\nexport DB_HOST='127.0.0.1' # y\r\nA=b\r\n",
            Provider::Dotenv,
            &[("DB_HOST", "localhost"), ("DB_SOCKET", "/run/a b")],
            Some("# x\nexport DB_HOST='localhost' # y\nexport DB_SOCKET='/run/a b'\r\nA=b\r\n"),
        );
        check(
            "[www]\nenv[DB_HOST] = 127.0.0.1\n",
            Provider::Pool,
            &[("DB_HOST", "localhost"), ("DB_SOCKET", "/run/s")],
            Some("[www]\nenv[DB_HOST] = localhost\nenv[DB_SOCKET] = /run/s\n"),
        );
        check(
            "[Service]\nEnvironment=A=b DB_HOST=127.0.0.1\n",
            Provider::Unit,
            &[("DB_HOST", "/run/x")],
            Some("[Service]\nEnvironment=A=b DB_HOST=/run/x\n"),
        );
        let twice = "DB_HOST=a\nDB_HOST=b\n";
        check(twice, Provider::Dotenv, &[("DB_HOST", "x")], None);
        check("DB_HOST=$A\n", Provider::Dotenv, &[("DB_HOST", "x")], None);
        check("A=b\n", Provider::Dotenv, &[("DB_HOST", "x")], None);
    }

    #[test]
    fn a_pool_has_quotes_around_what_php_would_calculate_with() {
        let pool = "[www]\nenv[DB_HOST] = mysql://r:p@127.0.0.1/rc ; x\n";
        let check_pool = |value: &str, new: Option<&str>| {
            let new = new.map(|it| format!("[www]\nenv[DB_HOST] = {it} ; x\n"));
            check(pool, Provider::Pool, &[("DB_HOST", value)], new.as_deref());
        };
        let dsn = "mysql://r:p@unix(/run/m.sock)/rc?a=b&c";
        check_pool(dsn, Some(&format!("\"{dsn}\"")));
        check_pool("/run/m.sock", Some("/run/m.sock"));
        check_pool("a\"b", None);
        check_pool("a$b", None);
        check_pool("", None);
        // PHP has already cut the value off at the `;`, so the intended value is not known.
        let cut = "[www]\nenv[DB_HOST] = mysql://127.0.0.1/rc;charset=utf8\n";
        check(cut, Provider::Pool, &[("DB_HOST", "x")], None);
    }

    #[test]
    fn a_drop_in_says_what_its_unit_reads_again() {
        let values = variables(&[("A", "x://%2F\"\\"), ("B", "c d")]);
        let text = drop_in(&values, &["C".to_owned()]).unwrap();
        let expected = "[Service]\nEnvironment=\"A=x://%%2F\\\"\\\\\"\nEnvironment=\"B=c d\"\nUnsetEnvironment=C\n";
        assert_eq!(text, expected);
        let plain = drop_in(&variables(&[("A", "x://%2F"), ("B", "c d")]), &[]).unwrap();
        let found = assigned(&plain, Provider::Unit);
        let found: Vec<&str> = found.iter().filter_map(|it| it.value.as_deref()).collect();
        assert_eq!(found, ["x://%2F", "c d"]);
        assert_eq!(drop_in(&variables(&[("A", "b\nc")]), &[]), None);
    }
}
