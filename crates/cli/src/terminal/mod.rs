//! The output for the user: data on stdout, messages and progress on stderr. Only this module prints.

pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod stage;
pub(crate) mod stopping;
pub(crate) mod stream;

use std::error::Error;
use std::fmt;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use looptax_experiment::Claim;
use looptax_model::dsn::masked;
use looptax_model::failure::Failure;
use looptax_report::terminal::{Style, cleaned, fitted};
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::args::{ColorWhen, GlobalArgs};

/// The width of output that is not printed to a terminal: lines are not wrapped, and no column is left out.
const UNLIMITED: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether the user asked for only the result, without messages.
    pub(crate) is_quiet: bool,
    is_colored: bool,
    are_words_colored: bool,
}

impl Terminal {
    /// Reads the settings from the options and from the kind of stdout.
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        let may_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let is_colored = |is_terminal: bool| match global.color {
            ColorWhen::Auto => is_terminal && may_color,
            ColorWhen::Always => true,
            ColorWhen::Never => false,
        };
        Self {
            is_quiet: global.quiet,
            is_colored: is_colored(io::stdout().is_terminal()),
            are_words_colored: is_colored(io::stderr().is_terminal()),
        }
    }

    pub(crate) fn style(self) -> Style {
        Self::style_in(width_of(io::stdout()).unwrap_or_else(width_asked_for), self.is_colored)
    }

    /// Returns the style for text that is shown during a run.
    pub(crate) fn style_of_words(self) -> Style {
        Self::style_in(width_of(io::stderr()).unwrap_or_else(width_asked_for), self.are_words_colored)
    }

    fn style_in(width: usize, color: bool) -> Style {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let is_plain = locale.is_some_and(|locale| locale == "C" || locale == "POSIX");
        Style { width, color, unicode: !is_plain }
    }

    /// Prints a message to stderr, unless quiet.
    pub(crate) fn words(self, text: &str) {
        self.words_for(false, text);
    }

    /// Prints a message. With `is_asked`, the user requested the message with a separate option, so it is printed even
    /// if the output is quiet.
    pub(crate) fn words_for(self, is_asked: bool, text: &str) {
        if self.is_quiet && !is_asked {
            return;
        }
        let columns = width_of(io::stderr()).unwrap_or(UNLIMITED);
        let text = fitted(&harmless(text), columns);
        let _ = write!(io::stderr().lock(), "{text}");
    }
}

/// Removes control characters. Messages, errors and plans contain text from other sources (names of files and servers,
/// records), which must not control the terminal.
fn harmless(text: &str) -> String {
    let style = Style { width: UNLIMITED, color: false, unicode: true };
    cleaned(text, style)
}

/// Prints text that is the result of a command to stdout.
pub(crate) fn words_as_data(text: &str) -> io::Result<()> {
    data(&harmless(text))
}

/// Prints data to stdout. It is not an error if the reader of stdout has ended.
pub(crate) fn data(text: &str) -> io::Result<()> {
    data_while_read(text).map(drop)
}

/// Prints data to stdout; returns whether its reader still exists.
fn data_while_read(text: &str) -> io::Result<bool> {
    print(text.as_bytes())
}

/// Prints the bytes of a file unchanged, to stdout.
pub(crate) fn bytes_as_data(bytes: &[u8]) -> io::Result<()> {
    print(bytes).map(drop)
}

/// Prints bytes; returns whether the reader of stdout still exists.
fn print(bytes: &[u8]) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    // Without this flush, an error in writing the rest of the buffer would not be reported.
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(io::Error::new(error.kind(), NotPrinted(error))),
    }
}

/// The error that the result cannot be written to stdout.
#[derive(Debug)]
struct NotPrinted(io::Error);

impl fmt::Display for NotPrinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot print the result to stdout")
    }
}

impl Error for NotPrinted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Prints data as JSON to stdout, like [`data`].
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    data(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Prints a value as one line of JSON; returns whether the reader of stdout still exists.
pub(crate) fn json_line(value: &impl Serialize) -> io::Result<bool> {
    data_while_read(&format!("{}\n", serde_json::to_string(value)?))
}

/// Whether stderr is a terminal that can move its cursor.
pub(crate) fn can_be_drawn_on() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Arguments that contain secrets; error messages about arguments leave them out.
static SECRET: OnceLock<Vec<String>> = OnceLock::new();

/// Makes all later error messages leave out the secrets of these arguments.
pub(crate) fn keep_secret(arguments: Vec<String>) {
    SECRET.get_or_init(|| arguments);
}

fn without_secrets(mut text: String) -> String {
    for argument in SECRET.get().into_iter().flatten() {
        let value = argument.split_once('=').map_or("", |(_, value)| value);
        for word in [argument, value].into_iter().filter(|it| !it.is_empty()) {
            text = text.replace(word, &masked(word));
        }
    }
    text
}

/// Prints clap's message about wrong arguments without secrets and control characters, if the message contains any.
/// Otherwise prints nothing and returns false.
pub(crate) fn usage(error: &clap::Error) -> bool {
    let text = error.render().to_string();
    let shown = harmless(&without_secrets(text.clone()));
    if shown == text {
        return false;
    }
    let _ = write!(io::stderr().lock(), "{shown}");
    true
}

/// Prints an error, its causes and the next step.
pub(crate) fn failure(failure: &Failure) {
    let mut chain = failure.chain();
    let first = chain.next().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("error: {first}\n");
    for cause in chain {
        let _ = writeln!(text, "caused by: {cause}");
    }
    let hint = limit_hint(failure).or_else(|| failure.hint().map(str::to_owned));
    if let Some(hint) = hint {
        let _ = writeln!(text, "hint: {hint}");
    }
    let columns = width_of(io::stderr()).unwrap_or(UNLIMITED);
    let _ = write!(io::stderr().lock(), "{}", fitted(&harmless(&without_secrets(text)), columns));
}

/// Returns a hint if a limit of this process may have caused the failure.
fn limit_hint(failure: &Failure) -> Option<String> {
    let mut causes = failure.chain();
    let errno = causes.find_map(|it| it.downcast_ref::<io::Error>()?.raw_os_error())?;
    match errno {
        libc::EMFILE => {
            let limit = getrlimit(Resource::Nofile).current;
            let limit = limit.map_or_else(|| "more".to_owned(), |it| it.to_string());
            Some(format!(
                "this process may have {limit} files open, and each connection needs one file: use fewer \
                 connections (-c), or raise the limit (ulimit -n; root raises the hard limit in limits.conf or a \
                 unit's LimitNOFILE)"
            ))
        }
        libc::EAGAIN if failure.hint().is_none() => Some(
            "the limit of processes and threads is reached: end some processes, or raise the limit (ulimit -u, a \
            unit's TasksMax)"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns the width of output that is not printed to a terminal: the value of the variable `COLUMNS`, which `ps` and
/// `ls` use too, or no limit.
fn width_asked_for() -> usize {
    std::env::var("COLUMNS").ok().and_then(|it| it.parse().ok()).filter(|it| *it > 0).unwrap_or(UNLIMITED)
}

fn width_of(fd: impl IsTerminal + AsFd) -> Option<usize> {
    size_of(fd).map(|(columns, _)| columns)
}

/// Returns the number of columns and rows; `None` if `fd` is not a terminal, or if the terminal does not report them.
fn size_of(fd: impl IsTerminal + AsFd) -> Option<(usize, usize)> {
    if !fd.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    (size.ws_col > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Marks this run as measuring. If another run is measuring already, prints a warning, or with `waits` waits until the
/// other run ends or `stop` is set.
pub(crate) fn claim(terminal: Terminal, waits: bool, stop: &AtomicBool) -> Claim {
    let mut claim = Claim::take();
    if waits && claim.has_other() {
        let other = Claim::other();
        terminal.words(&format!("{other} is measuring on this machine: waiting until it ends; Ctrl-C stops waiting\n"));
        drop(claim);
        claim = Claim::wait(stop);
    }
    if !waits && let Some(warning) = claim.warning() {
        terminal.words(warning);
    }
    claim
}

/// Asks the user for a server's password; `shown` is the server's name in the question. `None` without a terminal.
pub(crate) fn password(shown: &str) -> Option<io::Result<String>> {
    // The progress line is still on the screen, without a line break.
    let clear = if can_be_drawn_on() { "\r\x1b[K" } else { "" };
    let ask = || rpassword::prompt_password(format!("{clear}password for {shown}: "));
    io::stdin().is_terminal().then(ask)
}

/// Whether looptax can ask a person at the terminal.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks a yes-or-no question on the terminal; returns false without a terminal.
pub(crate) fn agrees(question: &str) -> bool {
    if !can_ask() {
        return false;
    }
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{question} [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
