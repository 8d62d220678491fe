//! Makes the text of PHP-FPM's private copy: the same pool twice, on a port and on a socket, or only on a socket.
//!
//! Works on text only; the includes of the original have been replaced before.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use looptax_advise::app::Section;

/// The global settings that the copy keeps. These settings contain no log, no file and no other process.
const KEPT: [&str; 6] =
    ["rlimit_files", "rlimit_core", "events.mechanism", "process.priority", "log_limit", "log_buffering"];
/// The beginnings of the names of a pool's settings that the copies replace or drop.
const DROPPED: [&str; 11] = [
    "listen",
    "access.",
    "slowlog",
    "request_slowlog_",
    "pm.status_",
    "pm.start_servers",
    "pm.min_spare_servers",
    "pm.max_spare_servers",
    "pm.max_spawn_rate",
    "pm.process_idle_timeout",
    "pm.max_children",
];
/// The number of workers with which the copy starts, if the original pool starts its workers only when requests come.
const FEW: u32 = 2;

/// The facts from which the text of the copy is made.
pub(super) struct Wanted<'a> {
    /// The address of the pool that listens on TCP; `None` if the copy has only a pool on the socket.
    pub(super) pool: Option<SocketAddr>,
    pub(super) socket: &'a Path,
    /// The user that connects to the socket; `None` if this is the pool's own user.
    pub(super) user: Option<&'a str>,
    /// How many pages are requested at the same time.
    pub(super) at_once: u32,
}

#[derive(Debug)]
pub(super) struct PoolText {
    pub(super) text: String,
    /// The number of workers in each of the two pools.
    pub(super) n_workers: u32,
    /// The original's settings for its workers, such as `pm = dynamic, pm.max_children = 5`.
    pub(super) was: String,
    /// Whether the copy uses a variable of PHP-FPM's own environment.
    pub(super) has_variables: bool,
}

/// Makes the text of the copy.
///
/// # Errors
/// The reason if the pool cannot be copied.
pub(super) fn copied(text: &str, label: &str, wanted: &Wanted<'_>) -> Result<PoolText, String> {
    let section = Section::find(text, label).ok_or_else(|| format!("pool [{label}] was not found"))?;
    let number = |key: &str| section.value(key).and_then(|it| it.parse::<u32>().ok());
    let pm = section.value("pm").unwrap_or_default();
    let most = number("pm.max_children").ok_or_else(|| format!("pool [{label}] has no pm.max_children"))?;
    let n_workers = match &*pm {
        "static" => most,
        "dynamic" => {
            let spare = number("pm.min_spare_servers").zip(number("pm.max_spare_servers"));
            // PHP-FPM uses this default.
            let usual = spare.map(|(low, high)| low + high.saturating_sub(low) / 2);
            number("pm.start_servers").or(usual).unwrap_or(FEW)
        }
        _ => FEW,
    };
    let n_workers = n_workers.max(wanted.at_once).min(most);
    let mut copy = String::from("[global]\nerror_log = /proc/self/fd/2\ndaemonize = no\n");
    for line in lines(text, "global").into_iter().filter(|it| key(it).is_some_and(|it| KEPT.contains(&it))) {
        let _ = writeln!(copy, "{line}");
    }
    let kept: Vec<&str> = lines(text, label).into_iter().filter(|it| key(it).is_some_and(is_kept)).collect();
    let own = kept.iter().fold(String::new(), |all, it| all + &it.replace("$pool", label) + "\n");
    let backlog = section.value("listen.backlog").map(|it| format!("listen.backlog = {it}\n")).unwrap_or_default();
    let rights = match wanted.user {
        Some(user) => format!("listen.owner = {user}\nlisten.mode = 0600\n"),
        None => "listen.mode = 0600\n".to_owned(),
    };
    let pm = format!("pm = static\npm.max_children = {n_workers}\n");
    if let Some(address) = wanted.pool {
        let _ = write!(copy, "[{label}]\nlisten = {address}\n{backlog}{pm}{own}");
    }
    let socket = wanted.socket.display();
    let _ = write!(copy, "[{label}-socket]\nlisten = {socket}\n{rights}{backlog}{pm}{own}");
    let was = format!("pm = {}, pm.max_children = {most}", section.value("pm").unwrap_or_default());
    let has_variables = own.contains('$');
    Ok(PoolText { text: copy, n_workers, was, has_variables })
}

/// Returns the lines of all sections with this name.
fn lines<'a>(text: &'a str, named: &str) -> Vec<&'a str> {
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line.trim().strip_prefix('[').and_then(|it| it.split(']').next()) {
            Some(name) => is_inside = name.trim() == named,
            None if is_inside => found.push(line),
            None => {}
        }
    }
    found
}

/// Returns the name of the setting in a line; `None` for a comment.
fn key(line: &str) -> Option<&str> {
    let name = line.split_once('=')?.0.trim();
    (!name.starts_with([';', '#'])).then_some(name)
}

fn is_kept(key: &str) -> bool {
    key != "pm" && !DROPPED.iter().any(|it| key.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "\
[global]
error_log = /var/log/fpm.log
rlimit_files = 4096
[www]
listen = 9000
[shop] ; ours
user = shop
listen = /run/$pool.sock ; here
listen.owner = www-data
listen.backlog = 64
;slowlog = x
pm = dynamic
pm.max_children = 50
pm.start_servers = 5
pm.max_requests = 500
slowlog = /var/log/slow
access.log = /var/log/$pool.log
env[NAME] = $pool
php_admin_value[memory_limit] = \"128M\"
";

    fn copy(text: &str, user: Option<&str>, at_once: u32) -> PoolText {
        let wanted = Wanted { pool: "127.0.0.1:9100".parse().ok(), socket: Path::new("/f/s"), user, at_once };
        copied(text, "shop", &wanted).unwrap()
    }

    #[test]
    fn a_pool_is_there_twice_and_writes_no_file_of_the_original() {
        let own = "listen.backlog = 64\npm = static\npm.max_children = 5\nuser = shop\npm.max_requests = 500\n\
                   env[NAME] = shop\nphp_admin_value[memory_limit] = \"128M\"\n";
        let head = "[global]\nerror_log = /proc/self/fd/2\ndaemonize = no\nrlimit_files = 4096\n";
        let rights = "listen.owner = www-data\nlisten.mode = 0600\n";
        let found = copy(POOL, Some("www-data"), 1);
        let expected =
            format!("{head}[shop]\nlisten = 127.0.0.1:9100\n{own}[shop-socket]\nlisten = /f/s\n{rights}{own}");
        assert_eq!(found.text, expected);
        assert_eq!((found.n_workers, &*found.was), (5, "pm = dynamic, pm.max_children = 50"));
        assert!(!found.has_variables);
    }

    #[test]
    fn there_are_workers_for_all_pages_at_once_and_no_more_than_the_pool_may_have() {
        let ondemand = POOL.replace("dynamic", "ondemand");
        assert_eq!([1, 8, 90].map(|n| copy(&ondemand, None, n).n_workers), [2, 8, 50]);
        let alike = POOL.replace("dynamic", "static");
        assert_eq!(copy(&alike, None, 1).n_workers, 50);
    }
}
