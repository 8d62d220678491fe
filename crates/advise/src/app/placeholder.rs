//! Values that a template leaves open: `{{ db_host }}`, `__DB_USER__`, `%%PORT%%`, `$(PORT)`, `PH_DB_HOST`, `<port>`.
//!
//! Such a text is not a host, a port or a password: another program fills in the value later. Called by `read` and
//! `compose` for all settings of a file.

use super::setting::{Setting, Value};
use super::url::is_go;

/// The reason why the value of a setting with a placeholder is not known. In messages, the words `it is` precede the
/// reason.
const DOUBT: &str = "a placeholder that another program replaces";

/// Marks settings whose values are placeholders, so that looptax does not interpret the placeholders.
pub(super) fn doubt_placeholders(settings: &mut [Setting]) {
    for setting in settings {
        let Value::Text(text) = &setting.value else {
            continue;
        };
        if !is_placeholder(text) {
            continue;
        }
        setting.doubt.get_or_insert_with(|| DOUBT.to_owned());
        // The scheme of a URL still shows the kind of server.
        if !is_address(text) {
            setting.value = Value::Hidden;
        }
    }
}

fn is_address(text: &str) -> bool {
    text.contains("://") || is_go(text)
}

/// Whether a text is a placeholder or contains one.
fn is_placeholder(text: &str) -> bool {
    let is_within = |open: &str, close: &str, is_name: &dyn Fn(&str) -> bool| {
        let mut starts = text.match_indices(open).map(|(at, _)| &text[at + open.len()..]);
        starts.any(|rest| rest.split_once(close).is_some_and(|(inside, _)| is_name(inside)))
    };
    let is_any = |it: &str| !it.trim().is_empty();
    let is_upper =
        |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let is_word = |it: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || " _-.".contains(c);
        it.starts_with(|c: char| c.is_ascii_alphabetic()) && it.chars().all(is_part)
    };
    let is_whole = |open: &str, close: &str, is_name: &dyn Fn(&str) -> bool| {
        let inside = text.trim().strip_prefix(open).and_then(|it| it.strip_suffix(close));
        inside.is_some_and(is_name)
    };
    // A password may contain any character, so only a whole password can be a placeholder, and never a part of a
    // password. In an address, brackets and parentheses can only belong to a placeholder.
    let is_part = |open: &str, close: &str, is_name: &dyn Fn(&str) -> bool| {
        if is_address(text) { is_within(open, close, is_name) } else { is_whole(open, close, is_name) }
    };
    is_within("{{", "}}", &is_any)
        || is_whole("%%", "%%", &is_word)
        || is_within("__", "__", &is_upper)
        || is_part("#{", "}", &is_word)
        || is_part("$(", ")", &is_any)
        || is_part("%(", ")s", &is_word)
        || is_part("<", ">", &is_word)
        || is_whole("#{", "}#", &is_word)
        || is_whole("_DBC_", "_", &is_upper)
        || is_whole("@", "@", &is_word)
        || is_whole("%", "%", &is_word)
        || is_whole("PH_", "", &is_upper)
        || is_whole("YOUR_", "", &is_upper)
        // Values that SOPS, eyaml or Jasypt encrypted.
        || is_whole("ENC[", "]", &is_any)
        || is_whole("ENC(", ")", &is_any)
        || has_variable_as_host(text)
}

/// Whether the host of a URL is a variable that nothing has replaced: `mysql://$USER:$PASSWORD@$HOST/shop`.
fn has_variable_as_host(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.starts_with('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_template_leaves_open_is_not_a_value() {
        for text in [
            "{{ mysql_host }}",
            "{{- .Values.db.host -}}",
            "mysql://__DB_USER__:__DB_PWD__@127.0.0.1/__DB_NAME__",
            "__PORT__",
            "%%DB_HOST%%",
            "$(DB_HOST)",
            "PH_DB_HOST",
            "YOUR_DB_HOST",
            "ENC[AES256_GCM,data:c2Fs,type:str]",
            "<PORT>",
            "postgres://<user>:<password>@<host>/db",
            "#{DbHost}#",
            "@DB_HOST@",
            "%database_host%",
            "%(db_host)s",
            "_DBC_DBSERVER_",
            "mysql://$USER:$PASSWORD@$HOST/shop",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in [
            "127.0.0.1",
            "localhost",
            "PHOTOS",
            "/var/run/mysqld/mysqld.sock",
            "postgres://u:p@%2Frun%2Fpostgresql/d",
            "mysql://u:p%40$x@127.0.0.1/d",
            "p__q",
            "100%",
            "@abstract",
            "my_db",
            "",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
