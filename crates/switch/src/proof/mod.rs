//! Whether an application came over the socket: what the kernel and the server saw after the change, and the
//! conclusions.
//!
//! `application` decides whose connections count, and `askers` are the programs that may be the application. `counter`
//! asks the kernel, `eye` the server, `page` requests a page of the application, and `log` reads the server's log.
//! `watch` uses all of them to look again and again at what is `watched`; `seen` holds the results and judges them;
//! `let_in` knows which results show that the server admitted the application. `watches` are the watches over all
//! connections that move. Nothing is written here.

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

/// The evidence that a switch worked, or that everything works again after the old files are back.
///
/// [`carry_out`](crate::carry_out) calls the methods in this order.
pub trait Proof {
    fn applications(&self) -> Vec<&Application> {
        Vec::new()
    }

    /// Whether only a page can prove the switch.
    fn needs_page(&self) -> bool {
        false
    }

    /// Requests a page before the switch.
    ///
    /// # Errors
    /// If the page does not answer, or would prove nothing.
    fn page_before(&self, url: &str) -> Result<Page, Failure> {
        Page::before(url)
    }

    fn moving(&mut self) -> Step;

    /// Called when these files are about to be written.
    fn begin(&mut self, _files: &[PathBuf]) {}

    /// Waits until a server that has read its own file admits the application.
    ///
    /// # Errors
    /// The step that failed.
    fn server_has_read(&mut self, _within: Duration, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Waits until a server that has read its old file listens as before.
    ///
    /// # Errors
    /// If the server does not.
    fn server_is_as_before(&mut self, _within: Duration, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Waits, after the reload with this index, for what the next reload needs.
    ///
    /// # Errors
    /// The step that failed.
    fn after_reload(&mut self, _idx: usize, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Called when a command of looptax has made programs read the files, or when another program does that now.
    fn files_are_read(&mut self, _by_command: bool) {}

    fn look(&mut self);

    /// Judges the state so far; `is_last` if no time is left, `is_asked` if a page of the application is requested
    /// continuously.
    fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judged>;

    /// The page has to stay as before for this long.
    fn page_settles(&self) -> Duration {
        Duration::ZERO
    }

    /// Why a page differs from before, if that is known.
    fn cause(&mut self) -> Option<SwitchStep> {
        None
    }

    /// Returns further facts for a person.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns lines about a refusal that the server has logged since the start.
    fn log_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Called when the old files are back and about to be read; no wait for a peer may be longer than `limit`.
    fn old_files_are_back(&mut self, _limit: Option<Duration>) {}

    /// Returns the command that reloads the old files, for the processes that are running now: a reload may have
    /// replaced them.
    fn reload_now(&self, _idx: usize, line: &Line) -> Line {
        line.clone()
    }

    /// Waits, after a reload of the old files, for what the next reload needs, or for the end of the last reload.
    fn after_old_reload(&mut self, _idx: usize, _is_last: bool) {}

    /// Returns the evidence that everything works again, without a page.
    fn works_again(&mut self) -> Option<&'static str> {
        None
    }
}

/// The conclusion from all observations.
#[derive(Debug)]
pub enum Judged {
    /// The switch works; the steps name the evidence.
    Holds(Vec<SwitchStep>),
    Fails(SwitchStep),
    /// No connection came, so nothing is known.
    Unproved(String),
    /// looptax cannot see the result from where it runs, as the plan said.
    Unseen(String),
}
