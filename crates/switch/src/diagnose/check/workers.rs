//! Determines how many connections an application's workers open at the same time: counts running processes, or reads
//! the application's own files.
//!
//! Reads files as the process sees them, and only files that the process's user may read. Called by `queue`.

use std::path::{Path, PathBuf};

use looptax_advise::app::{Pool, Section};
use looptax_host::discover::{Process, any_process, process};
use looptax_host::{View, kernel};

use super::sources::environment;
use crate::diagnose::gunicorn::{GUNICORN, OWN_FILE, option, script, setting};

/// The maximum number of bytes of a file that are read; a pool's file is shorter.
const MOST_BYTES: u64 = 1 << 20;

/// How many connections may be opened at the same time, and how looptax counted them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    pub(crate) n: u32,
    pub(crate) words: String,
}

impl Count {
    pub(crate) fn typed(n: u32) -> Self {
        Self { n, words: "from --connections".to_owned() }
    }
}

/// Counts a process, its sibling workers, and the connections of each; `None` if looptax finds no number.
pub(super) fn count(pid: u32, pool: Option<&Pool>) -> Option<Count> {
    let one = process(pid)?;
    if let Some(count) = of_fpm(&one) {
        return Some(count);
    }
    let (above, n) = beside(&one);
    let name = one.program_name();
    let whose =
        if n == 1 { format!("{name} {pid}") } else { format!("each of {n} processes of {name} (parent {above})") };
    if let Some(pool) = pool {
        return Some(Count { n: pool.size.saturating_mul(n), words: format!("{} of {whose}", said(pool)) });
    }
    let threads = process(above).and_then(|it| threads_of_gunicorn(&it).or_else(|| threads_of_uwsgi(&it)));
    match threads {
        Some(threads) => Some(Count { n: threads.saturating_mul(n), words: format!("{threads} threads of {whose}") }),
        None if n > 1 => Some(Count { n, words: format!("a connection of {whose}") }),
        None => None,
    }
}

/// Returns the size of a single process's pool, if no running processes can be counted.
pub(super) fn of_pool(pool: &Pool) -> Count {
    Count { n: pool.size, words: format!("{} of one process", said(pool)) }
}

/// Returns a text such as `pool = 12 (line 8)`.
fn said(pool: &Pool) -> String {
    format!("{} = {} (line {})", pool.name, pool.size, pool.line)
}

/// Returns the parent process of a program's workers, and how many workers there are. A process without such siblings
/// counts as the only worker.
fn beside(one: &Process) -> (u32, u32) {
    let name = one.program_name();
    let is_above = process(one.parent).is_some_and(|it| it.program_name() == name);
    let above = if is_above { one.parent } else { one.pid };
    let mut n = 0;
    any_process(|it| {
        n += u32::from(it.parent == above && it.program_name() == name);
        false
    });
    (above, n.max(1))
}

/// Reads `pm.max_children` of the pool to which a PHP-FPM worker belongs, or the global `process.max` if it is smaller.
fn of_fpm(worker: &Process) -> Option<Count> {
    let title = worker.arguments().join(" ");
    let (_, name) = title.split_once(": pool ")?;
    let name = name.trim();
    let master = process(worker.parent)?;
    let main = PathBuf::from(main_file_of_fpm(&master)?);
    let view = master.view().ok()?;
    let text = |path: &Path| Some(String::from_utf8_lossy(&view.read(path, MOST_BYTES).ok()?).into_owned());
    let own = text(&main)?;
    let beside = own.lines().filter_map(|it| it.trim().strip_prefix("include")?.trim_start().strip_prefix('='));
    let beside = beside.flat_map(|it| fitting(&view, Path::new(it.trim())));
    let files = std::iter::once(main.clone()).chain(beside).filter_map(|path| Some((text(&path)?, path)));
    let files: Vec<(String, PathBuf)> = files.collect();
    let said = |section: &str, key: &str, whose: &str| {
        files.iter().find_map(|(text, path)| {
            let n: u32 = Section::find(text, section)?.value(key)?.parse().ok()?;
            Some(Count { n, words: format!("{key} of {whose}, {}", path.display()) })
        })
    };
    let of_pool = said(name, "pm.max_children", &format!("pool {name}"))?;
    // Zero means unlimited.
    let of_all = said("global", "process.max", "all pools").filter(|it| it.n > 0 && it.n < of_pool.n);
    Some(of_all.unwrap_or(of_pool))
}

/// Returns the files that an include refers to: one file, or all files in a folder whose names begin and end with the
/// given texts.
fn fitting(view: &View, pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let (Some((head, tail)), Some(folder)) = (name.split_once('*'), pattern.parent()) else {
        return vec![pattern.to_owned()];
    };
    let names = view.names(folder).unwrap_or_default().into_iter();
    let fits = |it: &String| it.len() >= head.len() + tail.len() && it.starts_with(head) && it.ends_with(tail);
    names.filter_map(|it| it.into_string().ok()).filter(fits).map(|it| folder.join(it)).collect()
}

/// Returns the file with which PHP-FPM was started, from a process title such as `php-fpm: master process
/// (/etc/php/8.2/fpm/php-fpm.conf)`.
pub(crate) fn main_file_of_fpm(master: &Process) -> Option<String> {
    let shown = master.arguments().join(" ");
    let own = shown.split_once('(').and_then(|it| it.1.rsplit_once(')'));
    own.map(|(path, _)| path.to_owned())
}

/// Returns the number of threads of each uWSGI worker, from its command line or the ini file in the command line;
/// `None` for another program.
fn threads_of_uwsgi(master: &Process) -> Option<u32> {
    if !master.program_name().starts_with("uwsgi") {
        return None;
    }
    let words = master.arguments();
    let said = |name: &str| {
        let long = format!("--{name}");
        let at = words.iter().rposition(|it| it.split('=').next() == Some(&long))?;
        let value = words[at].split_once('=').map(|it| it.1.to_owned());
        value.or_else(|| words.get(at + 1).cloned())
    };
    let is_ini = |it: &&String| Path::new(it).extension().is_some_and(|end| end == "ini");
    let of_file = || {
        let folder = kernel::link(master.file("cwd")).unwrap_or_default();
        let named = said("ini").or_else(|| words.iter().skip(1).find(is_ini).cloned())?;
        let bytes = master.view().ok()?.read(&folder.join(named), MOST_BYTES).ok()?;
        Section::find(&String::from_utf8_lossy(&bytes), "uwsgi")?.value("threads")
    };
    said("threads").or_else(of_file).map_or(Some(1), |it| it.parse().ok())
}

/// Returns the number of threads of each Gunicorn worker, from its command line, its environment or its file; `None`
/// for another program, and for a Gunicorn that hides its command line.
fn threads_of_gunicorn(master: &Process) -> Option<u32> {
    let arguments = master.arguments();
    let words = &arguments[script(&arguments)? + 1..];
    let of_environment = || {
        let variables = environment(master.pid).ok()?;
        let words: Vec<String> = variables.get(GUNICORN)?.split_whitespace().map(str::to_owned).collect();
        option(&words, "threads")
    };
    let of_file = || {
        let folder = kernel::link(master.file("cwd")).unwrap_or_default();
        let named = option(words, "config").unwrap_or_else(|| OWN_FILE.to_owned());
        let bytes = master.view().ok()?.read(&folder.join(named.trim_start_matches("file:")), MOST_BYTES).ok()?;
        setting(&String::from_utf8_lossy(&bytes), "threads")
    };
    let said = option(words, "threads").or_else(of_environment).or_else(of_file);
    said.map_or(Some(1), |it| it.parse().ok())
}
