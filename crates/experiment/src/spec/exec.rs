//! The meaning of `--exec` and related options: splits the words and recognizes the tool, but runs nothing yet.

use std::time::Duration;

use looptax_model::failure::Failure;

use super::tool::{self, Tool};

/// The placeholder for the flags that looptax adds for a tool.
pub const TRANSPORT: &str = "{transport}";

/// Whole commands that are measured instead of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    pub given: Given,
    /// Time limit for a single run of a command.
    pub timeout: Duration,
    /// Each command line as it was typed, and the same line without passwords.
    pub typed: Vec<(String, String)>,
}

/// Limits of `--exec-timeout`.
const LEAST_TIMEOUT: Duration = Duration::from_secs(1);
const MOST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Template(Template),
    /// A command line for unix and another for tcp.
    PerArm {
        unix: Vec<String>,
        tcp: Vec<String>,
    },
}

/// A command line that contains [`TRANSPORT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub words: Vec<String>,
    /// The index of the word that is the program.
    pub program_idx: usize,
    pub tool: Tool,
}

impl Exec {
    /// Makes a plan of one command line, which contains [`TRANSPORT`] and is used for both arms.
    ///
    /// # Errors
    /// A usage failure for a line that cannot be run, or for a time that cannot be parsed.
    pub fn one_line(line: &str, timeout: &str) -> Result<Self, Failure> {
        Ok(Self { timeout: self::timeout(timeout)?, given: Given::Template(template(line)?), typed: vec![shown(line)] })
    }

    /// Makes a plan of two command lines: one for unix, and the other for tcp.
    ///
    /// # Errors
    /// The same as those of [`Exec::one_line`].
    pub fn line_per_arm(unix: &str, tcp: &str, timeout: &str) -> Result<Self, Failure> {
        Ok(Self {
            timeout: self::timeout(timeout)?,
            given: Given::PerArm { unix: per_arm("--exec-unix", unix)?, tcp: per_arm("--exec-tcp", tcp)? },
            typed: vec![shown(unix), shown(tcp)],
        })
    }
}

/// Returns a line as it was typed, and the same line without passwords.
fn shown(line: &str) -> (String, String) {
    let words = shell_words::split(line).unwrap_or_default();
    (line.to_owned(), joined(&tool::without_passwords(&words)))
}

/// Joins the words to one line, which a shell splits into the same words.
pub fn joined(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-{}".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            shell_words::quote(word).into_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn template(line: &str) -> Result<Template, Failure> {
    let words = split("--exec", line)?;
    let (program_idx, tool) = tool::recognise(&words).map_err(|program| {
        Failure::usage(
            format!("looptax does not know how to pass a transport to `{program}`"),
            format!(
                "use --exec-unix CMD and --exec-tcp CMD for any program, with `sh -c '…'` for pipes; --exec knows {}",
                tool::names()
            ),
        )
    })?;
    if !words.iter().any(|word| word == TRANSPORT) {
        return Err(Failure::usage(
            "the command of --exec does not contain {transport}: both arms would run the same command",
            format!(
                "write {{transport}} in place of the address options: --exec '{} {TRANSPORT} …'; or pass a command \
                 for each arm with --exec-unix and --exec-tcp",
                words[program_idx]
            ),
        ));
    }
    if let Some(why) = tool.runs_for_a_time(&words[program_idx..]) {
        return Err(Failure::usage(
            format!("`{}` would run for a fixed time, so its run time shows no difference", words[program_idx]),
            why,
        ));
    }
    Ok(Template { words, program_idx, tool })
}

fn per_arm(option: &str, line: &str) -> Result<Vec<String>, Failure> {
    let words = split(option, line)?;
    if words.iter().any(|word| word.contains(TRANSPORT)) {
        return Err(Failure::usage(
            format!("{option} contains {TRANSPORT}, which looptax replaces only in --exec"),
            "write the arm's own flags into this option, or use --exec for both arms",
        ));
    }
    Ok(words)
}

/// Splits a line into words as a POSIX shell does.
///
/// # Errors
/// A usage failure for a quote that is not closed, or a line without words.
pub fn split(option: &str, line: &str) -> Result<Vec<String>, Failure> {
    let words = shell_words::split(line).map_err(|_| {
        Failure::usage(
            format!("{option} has a quote that is not closed"),
            "close the quote; looptax splits words as a POSIX shell does",
        )
    })?;
    if words.is_empty() {
        return Err(Failure::usage(
            format!("{option} has no command"),
            "for example --exec 'mysqldump {transport} looptax'",
        ));
    }
    Ok(words)
}

/// Parses `90s`, `10m`.
fn timeout(typed: &str) -> Result<Duration, Failure> {
    match super::typed::time(typed) {
        Some(limit) if (LEAST_TIMEOUT..=MOST_TIMEOUT).contains(&limit) => Ok(limit),
        _ => Err(Failure::usage(format!("`--exec-timeout {typed}` is not a time"), "for example 90s or 10m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(line: &str) -> Result<Exec, Failure> {
        Exec::one_line(line, "10m")
    }

    #[test]
    fn words_are_split_as_a_shell_would() {
        let Given::Template(found) = exec("psql -c 'select 1' {transport} -v \"a b\"=c\\ d").unwrap().given else {
            panic!("a template");
        };
        assert_eq!(found.words, ["psql", "-c", "select 1", TRANSPORT, "-v", "a b=c d"]);
        assert_eq!(joined(&found.words), "psql -c 'select 1' {transport} -v 'a b=c d'");
    }

    #[track_caller]
    fn refused(line: &str, words: &str) {
        let failure = exec(line).unwrap_err();
        let text = format!("{failure:#} {:?}", failure.hint());
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        refused("mysqldump looptax", "does not contain {transport}");
        refused("mysqldump --x={transport}", "does not contain {transport}");
        refused("./page.sh {transport}", "--exec-unix CMD");
        refused("sh -c 'mysqldump {transport}'", "`sh`");
        refused("psql 'x {transport}", "not closed");
        refused("", "no command");
        refused("pgbench -T 10 {transport}", "--transactions");
        refused("sysbench oltp_point_select {transport} run", "--events");
    }

    #[track_caller]
    fn check_timeout(typed: &str, expected: Option<u64>) {
        assert_eq!(timeout(typed).ok(), expected.map(Duration::from_secs), "{typed}");
    }

    #[test]
    fn a_timeout_has_a_unit() {
        check_timeout("90s", Some(90));
        check_timeout("10m", Some(600));
        check_timeout("10", None);
        check_timeout("0s", None);
        check_timeout("soon", None);
    }

    #[test]
    fn a_typed_password_is_not_shown() {
        let found = exec("mysqldump -pgeheim {transport} x").unwrap();
        assert_eq!(found.typed[0].1, "mysqldump '-p****' {transport} x");
    }
}
