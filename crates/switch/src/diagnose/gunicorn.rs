//! Reads the options and settings in Gunicorn's command line and file.
//!
//! A setting in the command line overrides the same setting in Gunicorn's file. Called by the code that counts an
//! application's workers, and by `stack`.

/// The environment variable in which Gunicorn reads options.
pub(crate) const GUNICORN: &str = "GUNICORN_CMD_ARGS";
/// The file that Gunicorn reads in its working folder if no other file is given.
pub(crate) const OWN_FILE: &str = "gunicorn.conf.py";
/// The options that have a value: short form, long form, and the setting.
const OPTIONS: [(&str, &str, &str); 6] = [
    ("-b", "--bind", "bind"),
    ("-c", "--config", "config"),
    ("-m", "--umask", "umask"),
    ("-u", "--user", "user"),
    ("-g", "--group", "group"),
    ("--threads", "--threads", "threads"),
];

/// Returns the position of Gunicorn's script among the words of the command line.
pub(crate) fn script(words: &[String]) -> Option<usize> {
    let is_it = |it: &String| it.ends_with("/gunicorn") || it == "gunicorn" || it.ends_with("/gunicorn/__main__.py");
    // The script follows an interpreter and its options, or is the first word.
    words.iter().take(4).position(is_it)
}

/// Returns the last value that the command line gives to a setting's option.
pub(crate) fn option(words: &[String], setting: &str) -> Option<String> {
    let (short, long, _) = OPTIONS.iter().find(|it| it.2 == setting)?;
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let next = || words.get(at + 1).cloned();
        let with_long = word.strip_prefix(long);
        let value = match with_long.and_then(|it| it.strip_prefix('=')) {
            Some(value) => Some(value.to_owned()),
            None if word == long || word == short => next(),
            None if word.starts_with("--") => None,
            None => word.strip_prefix(short).map(str::to_owned),
        };
        found = value.or(found);
    }
    found
}

/// Returns the last value that the file's lines give to a setting, without quotes.
pub(crate) fn setting(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| {
        let value = line.strip_prefix(name)?.trim_start().strip_prefix('=')?;
        let value = value.split('#').next()?.trim();
        Some(value.trim_matches(['"', '\'']).to_owned())
    };
    text.lines().filter_map(value).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_command_line_says_is_found() {
        let check = |words: &str, setting, expected: Option<&str>| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let at = script(&words).expect("the script is there");
            let found = option(&words[at + 1..], setting);
            assert_eq!(found.as_deref(), expected, "{words:?}");
        };
        check("/usr/bin/python3 /usr/bin/gunicorn -c a.py b:c", "config", Some("a.py"));
        check("gunicorn --config=a.py b:c", "config", Some("a.py"));
        check("gunicorn -b:80 b:c", "bind", Some(":80"));
        check("gunicorn --backlog 5 b:c", "bind", None);
    }

    #[test]
    fn settings_of_its_file_are_read() {
        let text = "umask = 0o007  # closed\nuser = 'www-data'\n";
        assert_eq!(setting(text, "umask").as_deref(), Some("0o007"));
        assert_eq!(setting(text, "user").as_deref(), Some("www-data"));
        assert_eq!(setting(text, "group"), None);
    }
}
