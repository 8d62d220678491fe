//! Determines whether a pooler authenticates clients over its socket in the same way as over its port, or by different
//! rules.
//!
//! Reads the pooler's configuration. Each kind of pooler has its own setting that decides this. Called by `obstacles`.
//!
//! # Source
//! pgbouncer.org/config.html, `auth_type`, `%include`; pgbouncer.org/usage.html.

use std::path::{Path, PathBuf};

use looptax_host::discover::Process;
use looptax_host::kernel;
use looptax_model::dsn::LoginSetting;

/// The maximum number of bytes read from a configuration; people write shorter ones.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the reason why a login over the socket may end differently from a login over TCP.
pub(super) fn difference(setting: &LoginSetting, process: &Process) -> Option<String> {
    let Some(text) = configuration(setting, process) else {
        return Some("looptax cannot read the pooler's configuration, which may treat sockets differently".to_owned());
    };
    match value(setting, &text) {
        None => Some(
            "the pooler's configuration includes other files, one of which may treat sockets differently".to_owned(),
        ),
        Some(value) if setting.same.contains(&&*value) => None,
        Some(value) => Some(format!(
            "the pooler's configuration has `{} = {value}`: with this setting a login may end differently over the \
             socket than over TCP",
            setting.name
        )),
    }
}

/// Reads the configuration file with which the pooler was started. A relative path starts at the pooler's working
/// folder. If that folder is `/`, the path is unknown, because a daemon changes to `/` from the folder where it
/// started.
fn configuration(setting: &LoginSetting, process: &Process) -> Option<String> {
    let path = PathBuf::from(file(setting, process.arguments())?);
    let path = if path.is_absolute() {
        path
    } else {
        let folder = kernel::link(process.file("cwd")).ok()?;
        (folder != Path::new("/")).then(|| folder.join(path))?
    };
    let bytes = process.view().ok()?.read(&path, MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns the configuration file in the command line, or the usual file.
fn file(setting: &LoginSetting, mut words: Vec<String>) -> Option<String> {
    if setting.option.is_empty() {
        return words.pop();
    }
    let mut words = words.into_iter();
    words.find(|word| word == setting.option);
    let usual = Some(setting.file.to_owned()).filter(|it| !it.is_empty());
    words.next().or(usual)
}

/// Returns the last value of the setting in the text, or its default; `None` if another file may set it.
fn value(setting: &LoginSetting, text: &str) -> Option<String> {
    let mut found = setting.usual.to_owned();
    for line in text.lines().map(str::trim) {
        if line.starts_with(setting.include) {
            return None;
        }
        let is_between = |it: char| it == '=' || it.is_whitespace();
        let pair = line.split_once(is_between);
        if let Some((name, value)) = pair
            && name.eq_ignore_ascii_case(setting.name)
        {
            let value = value.split('#').next().unwrap_or_default();
            let value = value.trim_start_matches(is_between).trim_end();
            value.trim_matches('\'').clone_into(&mut found);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use looptax_model::dsn::Kind;

    use super::*;

    #[track_caller]
    fn check(kind: Kind, text: &str, expected: Option<&str>) {
        let setting = kind.facts().logins.as_ref().unwrap();
        assert_eq!(value(setting, text).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_last_method_counts() {
        let pgbouncer = Kind::Pgbouncer;
        check(pgbouncer, "[pgbouncer]\n;auth_type = hba\n", Some("md5"));
        check(pgbouncer, "auth_type=trust\n auth_type = hba \n", Some("hba"));
        check(pgbouncer, "%include other.ini\nauth_type = md5", None);
        let pgpool = Kind::Pgpool;
        check(pgpool, "#enable_pool_hba = on\n", Some("off"));
        check(pgpool, "enable_pool_hba = 'off' # on\n", Some("off"));
        check(pgpool, "enable_pool_hba on", Some("on"));
    }

    #[test]
    fn the_file_is_named_or_the_usual_one() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        let named = |kind: Kind, text| file(kind.facts().logins.as_ref().unwrap(), words(text));
        let [ini, conf] = ["a.ini", "a.conf"].map(|it| Some(it.to_owned()));
        assert_eq!(named(Kind::Pgbouncer, "pgbouncer -q a.ini"), ini);
        assert_eq!(named(Kind::Pgpool, "pgpool -n -f a.conf -D"), conf);
        let usual = Some("/etc/pgpool2/pgpool.conf".to_owned());
        assert_eq!(named(Kind::Pgpool, "pgpool -n"), usual);
    }
}
