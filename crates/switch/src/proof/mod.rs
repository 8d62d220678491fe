//! Proves whether an application uses the socket, from what the kernel and the server report after the change.
//!
//! `application` decides which processes belong to the application, and `askers` collects the programs that may be the
//! application. `connections` and `counter` ask the kernel, and `eye` asks the server; `page` requests a page of the
//! application, and `log` reads the server's log. `watch` uses these modules to observe a connection repeatedly;
//! `watched` describes this connection. `seen` holds the results and judges them; `let_in` knows which results show
//! that the server admitted the application. `watches` holds the watches over all connections that move. These modules
//! write nothing.

mod application;
mod asked;
mod askers;
mod between;
mod came;
mod connections;
mod counter;
mod eye;
mod learn;
mod let_in;
mod log;
mod page;
mod seen;
mod sessions;
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
pub(crate) use between::Between;
pub(crate) use page::Differs;
pub use page::Page;
pub use seen::Judgement;
pub use watch::Watch;
pub use watched::Watched;
pub use watches::Watches;

/// Collects the evidence that a switch worked, or that everything works again after the old files are back.
///
/// [`carry_out`](crate::carry_out) calls the methods in this order.
pub trait Proof {
    fn applications(&self) -> Vec<&Application> {
        Vec::new()
    }

    /// Whether only a page of the application can prove the switch.
    fn needs_page(&self) -> bool {
        false
    }

    /// Requests a page before the switch.
    ///
    /// # Errors
    /// If the page does not answer, or could not prove anything.
    fn page_before(&self, url: &str) -> Result<Page, Failure> {
        Page::before(url)
    }

    fn moving(&mut self) -> Step;

    /// Is called when these files are about to be written.
    fn begin(&mut self, _files: &[PathBuf]) {}

    /// Waits until a server that has read its own new file admits the application.
    ///
    /// # Errors
    /// The step that failed.
    fn server_has_read(&mut self, _within: Duration, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Waits until a server that has read its old file listens as before.
    ///
    /// # Errors
    /// If the server does not listen as before within the time limit.
    fn server_is_as_before(&mut self, _within: Duration, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Is called after the reload with this index; waits until the programs are ready for the next reload.
    ///
    /// # Errors
    /// The step that failed.
    fn after_reload(&mut self, _idx: usize, _stop: &AtomicBool) -> Result<(), SwitchStep> {
        Ok(())
    }

    /// Is called when a command of looptax has made programs read the files, or when another program is about to do
    /// that.
    fn files_are_read(&mut self, _by_command: bool) {}

    fn look(&mut self);

    /// Judges the observations so far. `is_last` means that no time is left, `is_asked` that a page of the application
    /// is requested continuously.
    fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judged>;

    /// Returns how long the page has to stay as it was before the switch.
    fn page_settles(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the reason why a page differs from before, if it is known.
    fn cause(&mut self) -> Option<SwitchStep> {
        None
    }

    /// Returns further facts about the switch, for a person.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the lines about a refusal that the server has logged since the start.
    fn log_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Is called when the old files are back and about to be read; from then on, no wait for a server or a page may
    /// exceed `limit`.
    fn old_files_are_back(&mut self, _limit: Option<Duration>) {}

    /// Returns the command that reloads the old files, adapted to the processes that run at present: an earlier reload
    /// may have replaced the processes.
    fn reload_now(&self, _idx: usize, line: &Line) -> Line {
        line.clone()
    }

    /// Is called after each reload of the old files; waits until the programs are ready for the next reload. After the
    /// last reload, waits until that reload has ended.
    fn after_old_reload(&mut self, _idx: usize, _is_last: bool) {}

    /// Returns the evidence that everything works again, if there is evidence other than a page.
    fn works_again(&mut self) -> Option<String> {
        None
    }
}

/// The conclusion from all observations.
#[derive(Debug)]
pub enum Judged {
    /// The switch works; the steps contain the evidence.
    Holds(Vec<SwitchStep>),
    Fails(SwitchStep),
    /// Nothing is proved; the text explains why.
    Unproved(String),
    /// looptax runs in a place from which it cannot see the result. The plan announced this.
    Unseen(String),
}
