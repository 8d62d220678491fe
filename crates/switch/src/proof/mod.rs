//! Whether an application came over the socket: what the kernel and the server saw since, and what follows from it.
//!
//! `application` says whose connections count, `askers` are the programs that may be it, `counter` asks the kernel,
//! `eye` the server, `page` a page of the application, `log` the server's log; `watch` looks at what is `watched` through
//! all of them again and again, `seen` holds what came of it and judges, by `let_in`, which knows what shows that the
//! server let the application in; `watches` are those of all connections that move. Nothing is written here.

mod application;
mod askers;
mod counter;
mod eye;
mod let_in;
mod log;
mod page;
mod seen;
mod watch;
mod watched;
mod watches;
mod words;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::failure::Failure;
use looptax_model::record::SwitchStep;

use crate::journal::Step;
use crate::line::Line;

pub use application::{Application, Kin};
pub(crate) use page::Differs;
pub use page::Page;
pub use seen::Judgement;
pub use watch::Watch;
pub use watched::Watched;
pub use watches::Watches;

/// The evidence that a switch worked, and that all works again after the old files are back.
///
/// [`carry_out`](crate::carry_out) calls the methods in this order.
pub trait Proof {
    fn applications(&self) -> Vec<&Application> {
        Vec::new()
    }

    /// Whether nothing but a page can prove it.
    fn needs_page(&self) -> bool {
        false
    }

    /// Asks a page as it is before.
    ///
    /// # Errors
    /// That it does not answer, or that it would prove nothing.
    fn page_before(&self, url: &str) -> Result<Page, Failure> {
        Page::before(url)
    }

    fn moving(&mut self) -> Step;

    /// These files are about to be written.
    fn begin(&mut self, _files: &[PathBuf]) {}

    /// Waits until a server that has read its own file lets the application in.
    ///
    /// # Errors
    /// The step that failed.
    fn server_has_read(&mut self, _within: Duration, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Waits until a server that has read its old file listens as before.
    ///
    /// # Errors
    /// That it does not.
    fn server_is_as_before(&mut self, _within: Duration, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Waits, after the reload of this index, for what the next one needs.
    ///
    /// # Errors
    /// The step that failed.
    fn after_reload(&mut self, _idx: usize, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// The files have been read by a command of ours, or somebody else has them read now.
    fn files_are_read(&mut self, _by_command: bool) {}

    fn look(&mut self);

    /// Judges the state so far; `is_last` if no more time is left, `is_asked` if a page of the application is requested
    /// all the time.
    fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judged>;

    /// The page has to be as before for this long.
    fn page_settles(&self) -> Duration {
        Duration::ZERO
    }

    /// Why a page is another one than before, if that is known.
    fn cause(&mut self) -> Option<SwitchStep> {
        None
    }

    /// Returns further facts for the person.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lines of the server's log since then about a refusal.
    fn log_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// The old files are back and about to be read; a peer is not waited for longer than `limit`.
    fn old_files_are_back(&mut self, _limit: Option<Duration>) {}

    /// The command that reloads the old files, for the processes as they run now: a reload may have replaced them.
    fn reload_now(&self, _idx: usize, line: &Line) -> Line {
        line.clone()
    }

    /// Waits, after a reload of the old files, for what the next one needs, or for the end of the last one.
    fn after_old_reload(&mut self, _idx: usize, _is_last: bool) {}

    /// How it is known that all works again, without a page.
    fn works_again(&mut self) -> Option<&'static str> {
        None
    }
}

/// The conclusion from all observations.
#[derive(Debug)]
pub enum Judged {
    /// It works; how that is known.
    Holds(Vec<SwitchStep>),
    Fails(SwitchStep),
    /// Nothing came, so nothing is known.
    Unproved(String),
    /// It is not seen from here, as the plan said.
    Unseen(String),
}
