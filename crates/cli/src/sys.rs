//! Two things that no safe library offers: hiding passwords from the process list, and raising the
//! limit of open files.
//!
//! The only file of this room with unsafe code.

use std::fs;

/// Overwrites the passwords of URLs in this process's own command line, so that `ps` and
/// `/proc/<pid>/cmdline` do not show them. The arguments have been read before.
pub(crate) fn hide_passwords() {
    change_arguments(|_, argument| {
        if let Some(password) = password_in(argument) {
            argument[password].fill(b'x');
        }
    });
}

/// Empties the last `n` arguments there: they belong to a program that may hide its own, and whoever is
/// listed beside it must not show them.
pub(crate) fn hide_last_arguments(n: usize) {
    let first = std::env::args_os().count().saturating_sub(n);
    change_arguments(|idx, argument| {
        if idx >= first {
            argument.fill(0);
        }
    });
}

/// Shows each of this process's own arguments, to be written over.
fn change_arguments(change: impl Fn(usize, &mut [u8])) {
    let Some((start, end)) = argument_area() else {
        return;
    };
    // SAFETY: the kernel reports this range as the argument strings on our own initial stack: it is
    // mapped and writable for the life of the process, and no Rust reference points into it (the
    // standard library hands out copies).
    let area = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
    let arguments = area.split_mut(|byte| *byte == 0).enumerate();
    arguments.for_each(|(idx, argument)| change(idx, argument));
}

/// `arg_start` and `arg_end` of proc(5)'s `stat`: fields 48 and 49.
fn argument_area() -> Option<(usize, usize)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace().skip(45);
    let start: usize = fields.next()?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start != 0 && end > start).then_some((start, end))
}

/// Where the password lies in `scheme://user:password@host`.
fn password_in(argument: &[u8]) -> Option<std::ops::Range<usize>> {
    let scheme_end = argument.windows(3).position(|window| window == b"://")? + 3;
    let authority = &argument[scheme_end..];
    let at = authority
        .iter()
        .take_while(|byte| **byte != b'/')
        .enumerate()
        .filter(|(_, byte)| **byte == b'@')
        .last()?
        .0;
    let colon = authority[..at].iter().position(|byte| *byte == b':')?;
    Some(scheme_end + colon + 1..scheme_end + at)
}

/// Raises the soft limit of open files to the hard one, and gives it.
pub(crate) fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(argument: &str, expected: Option<&str>) {
        let found = password_in(argument.as_bytes()).map(|range| &argument[range]);
        assert_eq!(found, expected);
    }

    #[test]
    fn only_the_password_of_a_url_is_found() {
        check("mysql://root:geheim@127.0.0.1:3306/db", Some("geheim"));
        check("redis://:p%40ss@localhost", Some("p%40ss"));
        check("mysql://root:a@b@127.0.0.1", Some("a@b"));
        check("mysql://root@127.0.0.1:3306/db", None);
        check("private:mariadb", None);
    }

    #[test]
    fn our_own_arguments_are_where_the_kernel_says() {
        let (start, end) = argument_area().unwrap();
        assert!(end - start >= std::env::args().next().unwrap().len());
    }
}
