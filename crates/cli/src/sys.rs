//! Functions that no safe library offers: hiding passwords from the process list and from the programs that looptax
//! starts, raising the limit of open files, and finding out which signals are ignored.
//!
//! In this crate, only this file has unsafe code.

use looptax_host::kernel;
use looptax_model::failure::Failure;

/// Overwrites the passwords in addresses in the command line of this process, so that `ps` and `/proc/<pid>/cmdline` do
/// not show them. Parse the arguments before calling this. Returns unchanged copies of the arguments that contained a
/// password.
pub(crate) fn hide_passwords() -> Vec<String> {
    let mut found = Vec::new();
    change_arguments(|_, argument| {
        let before = String::from_utf8_lossy(argument).into_owned();
        if hide(argument) {
            found.push(before);
        }
    });
    found
}

/// Overwrites the secrets in one argument; returns whether it contained any.
fn hide(argument: &mut [u8]) -> bool {
    // The search works on bytes, whatever the encoding: all characters that separate the parts of an address are ASCII.
    let text: String = { argument.iter() }.map(|byte| if byte.is_ascii() { char::from(*byte) } else { 'x' }).collect();
    let secrets = looptax_model::dsn::secrets_in(&text);
    for secret in &secrets {
        argument[secret.clone()].fill(b'x');
    }
    !secrets.is_empty()
}

/// Empties the last `n` arguments in the command line of this process. They belong to a program that may hide its own
/// arguments, and this process must not show them in the process list either.
pub(crate) fn hide_last_arguments(n: usize) {
    let first = std::env::args_os().count().saturating_sub(n);
    change_arguments(|idx, argument| {
        if idx >= first {
            argument.fill(0);
        }
    });
}

/// Removes a variable from the environment of this process, so that programs started by this process do not get it and
/// no user can read it in `/proc/<pid>/environ`. Call this while the process has only one thread.
pub(crate) fn forget_variable(name: &str) {
    // SAFETY: no other thread reads the environment at this time.
    unsafe { std::env::remove_var(name) };
    change_strings(ENVIRONMENT_FIELD, |_, variable| {
        let value = variable.strip_prefix(name.as_bytes());
        if value.is_some_and(|it| it.starts_with(b"=")) {
            variable.fill(0);
        }
    });
}

/// Passes each argument of this process to `change`, which may overwrite it.
fn change_arguments(change: impl FnMut(usize, &mut [u8])) {
    change_strings(ARGUMENTS_FIELD, change);
}

/// Calls `change` with each string in an area that the kernel filled at the start of this process. `change` may
/// overwrite the string.
fn change_strings(field: usize, mut change: impl FnMut(usize, &mut [u8])) {
    let Some((start, end)) = string_area(field) else {
        return;
    };
    // SAFETY: the kernel reports this range as the argument or environment strings on our own initial stack: it is
    // mapped and writable for the life of the process, and no Rust reference points into it (the standard library
    // returns copies).
    let area = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
    let strings = area.split_mut(|byte| *byte == 0).enumerate();
    strings.for_each(|(idx, string)| change(idx, string));
}

/// The numbers of the fields `arg_start` and `env_start` of `stat` in proc(5). The field that follows each of these two
/// fields has the end of the area.
const ARGUMENTS_FIELD: usize = 48;
const ENVIRONMENT_FIELD: usize = 50;

/// Returns the start and the end of an area.
fn string_area(field: usize) -> Option<(usize, usize)> {
    let stat = kernel::text("/proc/self/stat").ok()?;
    // The process name is the second field, and may itself contain blanks.
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace().skip(field - 3);
    let start: usize = fields.next()?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start != 0 && end > start).then_some((start, end))
}

/// Text for an error message: the data that a search for servers needs from `/proc`.
pub(crate) const FOUND: &str = "processes and their connections";

/// Fails if `/proc` cannot be read. `what` names the data that looptax needs from `/proc`.
pub(crate) fn require_proc(what: &str) -> Result<(), Failure> {
    if kernel::metadata("/proc/self/stat").is_ok() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("/proc is not mounted; it is needed for {what}"),
        "run `mount -t proc proc /proc` as root, or start the container with /proc mounted",
    ))
}

/// Returns the load average of the last minute, divided by the number of online processors.
///
/// # Errors
/// If the kernel does not report it.
pub(crate) fn load_per_processor() -> Result<f64, Failure> {
    let read = |path: &str| kernel::text(path).unwrap_or_default();
    load_in(&read("/proc/loadavg"), &read("/proc/stat")).ok_or_else(|| {
        Failure::usage(
            "cannot determine the machine's load: /proc/loadavg or /proc/stat cannot be read",
            "leave out --max-load; looptax then measures at any load",
        )
    })
}

/// Computes [`load_per_processor`] from the texts of `/proc/loadavg` and `/proc/stat`. The load is the load of the
/// whole machine, so all processors of the machine count, even if a container or `taskset` lets looptax use only some
/// of them.
///
/// # Source
/// `proc_stat(5)`: a line `cpuN` for each online processor, after a line for all of them.
fn load_in(loadavg: &str, stat: &str) -> Option<f64> {
    let load: f64 = loadavg.split_whitespace().next()?.parse().ok()?;
    let is_one = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|it| it.starts_with(|first: char| first.is_ascii_digit()))
    };
    let n_processors = u32::try_from(stat.lines().filter(is_one).count()).ok()?;
    (n_processors > 0).then(|| load / f64::from(n_processors))
}

/// Fails if looptax cannot start its own servers, or cannot read anything about them.
pub(crate) fn require_measurable() -> Result<(), Failure> {
    require_proc("the figures of this process and of the servers")?;
    if kernel::metadata("/dev/null").is_ok() {
        return Ok(());
    }
    Err(Failure::usage(
        "/dev/null is missing, and the programs that a run starts need it",
        "run `mount --rbind /dev ROOT/dev` before you enter this root folder, or start the container with /dev mounted",
    ))
}

/// Whether the parent process has set a signal to be ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null pointer as the new action changes nothing, and the place for the old action is live.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Raises the soft limit of open files to the hard limit. Returns the soft limit that is then in effect.
pub(crate) fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(argument: &[u8], expected: &[u8]) {
        let mut found = argument.to_owned();
        hide(&mut found);
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(&found));
    }

    #[test]
    fn secrets_are_overwritten_byte_for_byte() {
        check(b"mysql://root:geheim@127.0.0.1:3306/db", b"mysql://root:xxxxxx@127.0.0.1:3306/db");
        check(b"redis://:p%40ss@localhost", b"redis://:xxxxxx@localhost");
        check(b"mysql://root:a@b@127.0.0.1", b"mysql://root:xxx@127.0.0.1");
        check("mysql://ü:ä@h".as_bytes(), "mysql://ü:xx@h".as_bytes());
        check(b"mysql://\xff:\xfe\xfd@h", b"mysql://\xff:xx@h");
        check(b"postgres://u@h/d?password=x", b"postgres://u@h/d?password=x");
        check(b"host=h password='a b'", b"host=h password=xxxxx");
        check(b"mysql://root@127.0.0.1:3306/db", b"mysql://root@127.0.0.1:3306/db");
        check(b"private:mariadb", b"private:mariadb");
    }

    #[test]
    fn the_load_is_spread_over_all_processors_of_the_machine() {
        let stat = "cpu  9 9 9\ncpu0 3 3 3\ncpu2 3 3 3\ncpu13 3 3 3\nintr 7\nctxt 8\n";
        assert_eq!(load_in("1.50 0.70 0.40 2/345 6789\n", stat), Some(0.5));
        assert_eq!(load_in("", stat), None);
        assert_eq!(load_in("1.50 0.70 0.40 2/345 6789\n", ""), None);
    }

    #[test]
    fn our_own_arguments_are_where_the_kernel_says() {
        let (start, end) = string_area(ARGUMENTS_FIELD).unwrap();
        assert!(end - start >= std::env::args().next().unwrap().len());
    }
}
