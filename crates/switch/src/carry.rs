//! Carries out a switch, and undoes it: writes and tests the files, makes the programs read them, and proves that the
//! switch works or puts the old files back.
//!
//! Every kind of switch runs through this module: its files are [`Edited`], the commands that test and reload the files
//! are [`Commands`], and a [`Proof`] determines whether the switch worked. The journal (`work`) records every step
//! before the step is done. Called by the command line.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_host::waiting;
use looptax_model::dsn::Address;
use looptax_model::failure::with_causes;
use looptax_model::record::{StepCode, SwitchOutcome, SwitchStep};

use crate::SwitchError;
use crate::burst::Burst;
use crate::clock::Since;
use crate::data_folder::Kept;
use crate::fix::{self, FixError};
use crate::journal::{End, ServerOf, Step};
use crate::line::{Commands, Line, ServerCommands};
use crate::list::sweep;
use crate::plan::Restart;
use crate::proof::{Judged, Page, Proof, Watches};
use crate::server::is_back_at_its_port;
use crate::stack::Way;
use crate::step::{Tell, run, step, stopped};
use crate::visits::{Visitor, Visits};
use crate::work::{Edited, Named, Work};

const LEAST_PAUSE: Duration = Duration::from_millis(3);
/// After each check, looptax pauses for this many times the duration of the check.
const PAUSE_PER_LOOK: u32 = 4;
/// How long a page has to differ before the difference counts: while a program restarts, its pages may fail.
const PAGE_MAY_FAIL: Duration = Duration::from_secs(5);
/// How long looptax waits until the application works again, after the old files are back.
const WORKS_AGAIN_WITHIN: Duration = Duration::from_secs(15);
/// How long looptax waits until the application works again if somebody stops looptax. The time is short, because an
/// application that does not answer now may not have answered before the switch either.
const WORKS_AGAIN_WHEN_STOPPED: Duration = Duration::from_secs(2);

/// How looptax treats the new files if nothing shows that the application works with them.
#[derive(Debug, Clone, Copy)]
pub enum Unproved {
    Stays,
    IsPutBack,
    /// Asks a person whether the new files stay; the function's argument is the reason for the missing proof.
    IsAsked(fn(&str) -> bool),
}

impl Unproved {
    fn stays(self, why: &str) -> bool {
        match self {
            Self::Stays => true,
            Self::IsPutBack => false,
            Self::IsAsked(ask) => ask(why),
        }
    }
}

#[derive(Debug)]
pub struct Order<'a> {
    /// The folder in which the switch's journal and files are kept.
    pub kept: &'a Kept,
    pub named: Named<'a>,
    pub edited: &'a [Edited],
    /// The commands that test the files, and the commands that reload them.
    pub commands: &'a Commands,
    /// A page of the application, as it was before the switch. The proof compares later answers with this page.
    pub page: Option<Page>,
    /// The bursts of connections to open after the application was seen over the socket.
    pub bursts: &'a [Burst],
    /// How a person makes the application read its file.
    pub by_hand: Option<&'a str>,
    /// The time limit of the proof, and of each command.
    pub within: Duration,
    pub unproved: Unproved,
    /// Whether somebody has stopped looptax.
    pub stop: &'a AtomicBool,
}

#[derive(Debug)]
pub struct Carried {
    pub id: String,
    pub outcome: SwitchOutcome,
}

/// Carries out a switch. If a step fails, looptax puts the old files back, or the error says that they are not back.
///
/// # Errors
/// If a file or the journal cannot be written; in this case nothing has changed.
pub fn carry_out(order: &Order<'_>, proof: &mut dyn Proof, tell: Tell<'_>) -> Result<Carried, SwitchError> {
    let _lock = order.kept.lock()?;
    sweep(order.kept);
    let moving = proof.moving();
    let mut work = Work::plan(order.kept, order.named, order.edited)?;
    let id = work.id().to_owned();
    work.note(moving)?;
    if let Some(words) = order.by_hand {
        work.note(Step::ByHand { words: words.to_owned() })?;
    }
    let files: Vec<PathBuf> = order.edited.iter().map(|it| it.original.path().to_owned()).collect();
    proof.begin(&files);
    let kept = waiting::Kept::begin();
    let (visitor, is_over) = (Visitor::new(), AtomicBool::new(false));
    let carrying =
        Carrying { order, proof, work, tell, kept, visitor: &visitor, is_restarted: false, is_reloaded: false };
    let outcome = thread::scope(|scope| {
        if let Some(page) = order.page.clone() {
            scope.spawn(|| visitor.ask(page, &is_over));
        }
        let _ends = Ends(&is_over);
        carrying.carry_out()
    })?;
    Ok(Carried { id, outcome })
}

/// Ends a thread's work when this value is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The options for undoing an earlier switch.
#[derive(Debug)]
pub struct Undo<'a> {
    /// The command that makes the application read the old files. A web server and its upstream have their own
    /// commands.
    pub reload: Option<&'a str>,
    /// Whether looptax may restart a server whose own old file is put back, and with which command.
    pub restart: Restart<'a>,
    /// An administrator's login, for a switch that changed a server.
    pub admin: Option<&'a Address>,
    /// The time limit of each command.
    pub within: Duration,
}

/// Puts back the files of an earlier switch, as a person requested, and makes the same programs read them. If the
/// switch changed something on a server, undoes that change too.
///
/// # Errors
/// [`SwitchError::Rewritten`] if somebody has changed the switched lines after the switch; every error of writing;
/// every error of [`fix::undo`].
pub fn undo(mut work: Work, order: &Undo<'_>, tell: Tell<'_>) -> Result<(), FixError> {
    let why = "on request";
    if work.fix().is_some() {
        return fix::undo(&mut work, order.admin, why, End::Undone);
    }
    let Undo { reload, within, .. } = *order;
    // A signal does not end an undo half way.
    let stop = &AtomicBool::new(false);
    let kept = waiting::Kept::begin();
    kept.go_back();
    put_back(&mut work, why, End::Undone, tell)?;
    let Some(stack) = work.stack() else {
        let reloads = Vec::from_iter(reload.map(Line::from));
        read_again(&reloads, within, stop, &mut Watches::default(), tell);
        if let Some(of) = work.server() {
            server_without_socket(&of, order, stop, tell);
        }
        return Ok(());
    };
    let by_hand = |why: &str| {
        let words = format!("{why}: reload {}", stack.titles());
        step(StepCode::ReloadByHand, words)
    };
    let (mut way, commands) = match Way::of_earlier(&stack, reload) {
        Ok(found) => found,
        Err(why) => {
            tell(by_hand(&why));
            return Ok(());
        }
    };
    for line in &commands.tests {
        match run(line, within, stop) {
            Ok(done) => tell(done),
            Err(failed) => {
                tell(failed);
                tell(by_hand("nothing was reloaded; fix the files first"));
                return Ok(());
            }
        }
    }
    way.old_files_are_back(None);
    read_again(&commands.reloads, within, stop, &mut way, tell);
    Ok(())
}

/// Restarts a server whose old file is back, if the person agreed to the restart, and removes the application's user
/// from the server's group again.
fn server_without_socket(of: &ServerOf, order: &Undo<'_>, stop: &AtomicBool, tell: Tell<'_>) {
    let restart = match order.restart {
        Restart::By(command) => Some(command),
        Restart::ByItsService => Some(&*of.restart),
        Restart::NotAgreed => None,
    };
    for line in restart.into_iter().chain(of.leave.as_deref()) {
        let said = run(&Line::from(line), order.within, stop);
        tell(said.unwrap_or_else(|failed| failed));
    }
    let name = &of.name;
    match restart {
        None => {
            let words = format!(
                "restart {name}, which keeps {} until then: {} (or pass --restart with --undo)",
                of.gain(),
                of.restart
            );
            tell(step(StepCode::ReloadByHand, words));
        }
        Some(_) if is_back_at_its_port(of, order.within, stop) => {
            tell(step(StepCode::WorksAsBefore, format!("{name} listens at {} as before", of.tcp)));
        }
        Some(_) => tell(step(StepCode::ServerGone, format!("{name} does not listen at {}", of.tcp))),
    }
}

/// Makes the programs read the old files, and waits until they have read them.
fn read_again(reloads: &[Line], within: Duration, stop: &AtomicBool, proof: &mut dyn Proof, tell: Tell<'_>) {
    for (idx, line) in reloads.iter().enumerate() {
        let said = run(&proof.reload_now(idx, line), within, stop);
        tell(said.unwrap_or_else(|failed| failed));
        proof.after_old_reload(idx, idx + 1 == reloads.len());
    }
}

/// Makes a server read its old file, after the applications have read their old files, and waits until the server
/// listens as before.
fn server_reads_again(back: &[Line], within: Duration, stop: &AtomicBool, proof: &mut dyn Proof, tell: Tell<'_>) {
    for line in back {
        let said = run(line, within, stop);
        tell(said.unwrap_or_else(|failed| failed));
    }
    if let Err(failed) = proof.server_is_as_before(within, stop) {
        tell(failed);
    }
}

/// Puts the old files back, and reports that they are back. Also reports if the journal cannot be written.
fn put_back(work: &mut Work, why: &str, how: End, tell: Tell<'_>) -> Result<(), SwitchError> {
    match work.put_back(why, how) {
        Err(unnoted @ SwitchError::Unnoted { .. }) => {
            tell(back(work));
            tell(step(StepCode::ProofNote, with_causes(&unnoted)));
            Ok(())
        }
        done => done.map(|()| tell(back(work))),
    }
}

/// Reports that the old files are back, and lists the files in which another person's later changes stay.
fn back(work: &Work) -> SwitchStep {
    let shared = { work.shared().iter() }.map(|it| it.display().to_string());
    let words = match &*shared.collect::<Vec<_>>() {
        [] => "the old files are back".to_owned(),
        shared => {
            format!("the old lines are back; later changes by others stay in {}", shared.join(", "))
        }
    };
    step(StepCode::FilesPutBack, words)
}

struct Carrying<'a, 'b> {
    order: &'a Order<'b>,
    proof: &'a mut dyn Proof,
    work: Work,
    tell: Tell<'a>,
    kept: waiting::Kept,
    visitor: &'a Visitor,
    /// Whether the server may have read its new file.
    is_restarted: bool,
    /// Whether another program may have read the new files.
    is_reloaded: bool,
}

impl Carrying<'_, '_> {
    fn carry_out(mut self) -> Result<SwitchOutcome, SwitchError> {
        let order = self.order;
        let written = match &order.commands.server {
            None => {
                self.work.write(order.edited)?;
                let what = if order.edited.len() == 2 { "both written" } else { "written" };
                self.tell_written(StepCode::FilesWritten, what);
                Ok(())
            }
            Some(server) => self.write_after_server(server)?,
        };
        let outcome = match written.and_then(|()| self.have_read()) {
            Err(why) => self.put_back(why)?,
            Ok(()) => self.prove()?,
        };
        if let Some(visited) = order.page.as_ref().and_then(|it| self.visitor.seen().step(it.url())) {
            (self.tell)(visited);
        }
        Ok(outcome)
    }

    fn tell_written(&mut self, code: StepCode, what: &str) {
        let words = format!("{what}; to undo the switch: looptax switch --undo {}", self.work.id());
        (self.tell)(step(code, words));
    }

    /// Writes the server's own file, makes the server read it, and only then writes the other files. The socket has to
    /// exist before the other files are written, because an application may read its file at any time. If the inner
    /// result is an error, the caller puts the old files back.
    ///
    /// # Errors
    /// If the server's file cannot be written; in this case nothing has changed.
    fn write_after_server(&mut self, server: &ServerCommands) -> Result<Result<(), SwitchStep>, SwitchError> {
        let edited = self.order.edited;
        self.work.write_first(edited)?;
        self.tell_written(StepCode::ServerFileWritten, "the server's file is written");
        Ok(self.have_server_read(server).and_then(|()| {
            let written = self.work.write_these(edited, 1..).map_err(|(_, error)| error);
            let written = written.and_then(|()| self.work.all_is_written());
            written.map_err(|error| not_written(&error))?;
            self.tell_written(StepCode::FilesWritten, "the application's file is written");
            Ok(())
        }))
    }

    fn have_server_read(&mut self, server: &ServerCommands) -> Result<(), SwitchStep> {
        for line in &server.tests {
            self.run(line)?;
        }
        for line in &server.reloads {
            self.is_restarted = true;
            self.run(line)?;
        }
        self.proof.server_has_read(self.order.within, self.order.stop)
    }

    /// Runs the commands that test the files, then the commands that reload them.
    fn have_read(&mut self) -> Result<(), SwitchStep> {
        let commands = self.order.commands;
        for line in &commands.tests {
            self.run(line)?;
        }
        for (idx, line) in commands.reloads.iter().enumerate() {
            self.is_reloaded = true;
            self.run(line)?;
            self.proof.after_reload(idx, self.order.stop)?;
        }
        self.proof.files_are_read(self.is_reloaded);
        Ok(())
    }

    fn run(&mut self, line: &Line) -> Result<(), SwitchStep> {
        let command = line.text().to_owned();
        self.note(Step::Running { command })?;
        let said = run(line, self.order.within, self.order.stop);
        let code = said.is_ok().then_some(0);
        self.note(Step::Ran { code })?;
        (self.tell)(said?);
        Ok(())
    }

    /// Notes a step in the journal after the files were written. If the journal cannot be written, the step counts as
    /// failed.
    fn note(&mut self, noted: Step) -> Result<(), SwitchStep> {
        self.work.note(noted).map_err(|error| not_written(&error))
    }

    fn prove(&mut self) -> Result<SwitchOutcome, SwitchError> {
        let judged = match self.look_until_decided() {
            Judged::Holds(steps) => self.burst(steps),
            judged => judged,
        };
        for note in self.proof.notes() {
            (self.tell)(step(StepCode::ProofNote, note));
        }
        let (outcome, how, steps) = match judged {
            Judged::Holds(steps) => (SwitchOutcome::Moved, End::Moved, steps),
            Judged::Unproved(why) if !self.order.unproved.stays(&why) => {
                let hint = if matches!(self.order.unproved, Unproved::IsPutBack) {
                    " (--keep-unproved keeps the new file)"
                } else {
                    ""
                };
                return self.put_back(step(StepCode::NothingConnected, format!("not proved: {why}{hint}")));
            }
            Judged::Unproved(why) | Judged::Unseen(why) => {
                let why = step(StepCode::NothingConnected, why);
                (SwitchOutcome::Unproved, End::Unproved, vec![why])
            }
            Judged::Fails(why) => return self.put_back(why),
        };
        let words: Vec<&str> = steps.iter().map(|it| &*it.words).collect();
        let (holds, words) = (outcome == SwitchOutcome::Moved, words.join("; "));
        steps.into_iter().for_each(&mut *self.tell);
        let noted = self.note(Step::Proof { holds, words });
        let ended = noted.and_then(|()| self.work.end(how).map_err(|error| not_written(&error)));
        match ended {
            Err(why) => self.put_back(why),
            Ok(()) => Ok(outcome),
        }
    }

    fn burst(&self, mut steps: Vec<SwitchStep>) -> Judged {
        for burst in self.order.bursts {
            match burst.run() {
                Ok(answered) => steps.push(answered),
                Err(failed) => return Judged::Fails(failed),
            }
        }
        Judged::Holds(steps)
    }

    /// Repeats the check until the proof is decided or the time is over.
    fn look_until_decided(&mut self) -> Judged {
        let start = Since::now();
        self.visitor.files_are_read();
        loop {
            let began = Since::now();
            self.proof.look();
            if let Some(judged) = self.decide(&self.visitor.seen(), start.elapsed() >= self.order.within) {
                return judged;
            }
            waiting::pause(LEAST_PAUSE.max(began.elapsed() * PAUSE_PER_LOOK));
        }
    }

    fn decide(&mut self, page: &Visits, is_last: bool) -> Option<Judged> {
        let (order, now) = (self.order, self.visitor.now());
        if order.stop.load(Ordering::Relaxed) {
            return Some(Judged::Fails(stopped()));
        }
        if let Some((since, how)) = &page.differs
            && (is_last || now >= *since + PAGE_MAY_FAIL)
        {
            let cause = self.proof.cause();
            let why = cause.unwrap_or_else(|| step(StepCode::PageDiffers, how.clone()));
            return Some(Judged::Fails(why));
        }
        let mut judged = self.proof.judge(is_last, order.page.is_some())?;
        let Some(asked) = { order.page.as_ref() }.filter(|_| !matches!(judged, Judged::Fails(_))) else {
            return Some(judged);
        };
        let settles = self.proof.page_settles();
        if page.fine_since.is_none_or(|since| now < since + settles) {
            let words = format!("{} did not answer as before within the time limit", asked.url());
            return is_last.then(|| Judged::Fails(step(StepCode::PageDiffers, words)));
        }
        if let Judged::Holds(steps) = &mut judged {
            let words = format!("{} is as it was before", asked.url());
            steps.push(step(StepCode::PageAsBefore, words));
        }
        Some(judged)
    }

    /// Puts the old files back, makes the programs read them if they may have read the new files, and checks whether
    /// everything works.
    fn put_back(&mut self, why: SwitchStep) -> Result<SwitchOutcome, SwitchError> {
        // Even if a signal is the reason, the application still has to read the old files.
        self.kept.go_back();
        let words = why.words.clone();
        (self.tell)(why);
        for line in self.proof.log_lines() {
            (self.tell)(step(StepCode::ServerLog, line));
        }
        if let Err(error) = put_back(&mut self.work, &words, End::PutBack, self.tell) {
            let (kept, id) = (self.work.folder().display(), self.work.id());
            let words = format!(
                "{}; fix the cause, then run: looptax switch --undo {id}; the old files are in {kept}, as 0.old and \
                 so on",
                with_causes(&error)
            );
            (self.tell)(step(StepCode::FilesNotPutBack, words));
            return Err(error);
        }
        let go_on = AtomicBool::new(false);
        let is_stopped = self.order.stop.load(Ordering::Relaxed);
        (self.proof).old_files_are_back(is_stopped.then_some(WORKS_AGAIN_WHEN_STOPPED));
        let (commands, within) = (self.order.commands, self.order.within);
        if self.is_reloaded {
            read_again(&commands.reloads, within, &go_on, self.proof, self.tell);
        }
        if let Some(server) = commands.server.as_ref().filter(|_| self.is_restarted) {
            server_reads_again(&server.back, within, &go_on, self.proof, self.tell);
        }
        let seen = self.works_as_before();
        (self.tell)(seen);
        Ok(SwitchOutcome::PutBack)
    }

    fn works_as_before(&mut self) -> SwitchStep {
        let start = Since::now();
        let mut differs = None;
        let mut page = self.order.page.clone();
        let mut limit = WORKS_AGAIN_WITHIN.min(self.order.within);
        if self.order.stop.load(Ordering::Relaxed) {
            limit = limit.min(WORKS_AGAIN_WHEN_STOPPED);
            if let Some(page) = &mut page {
                page.hurry(limit);
            }
        }
        while start.elapsed() < limit {
            if let Some(page) = &mut page {
                differs = page.differs().map(|it| it.how);
                if differs.is_none() {
                    let words = format!("{} is as it was before", page.url());
                    return step(StepCode::WorksAsBefore, words);
                }
            }
            self.proof.look();
            if page.is_none()
                && let Some(words) = self.proof.works_again()
            {
                return step(StepCode::WorksAsBefore, words);
            }
            thread::sleep(LEAST_PAUSE);
        }
        let words = differs.unwrap_or_else(|| {
            "the application has not connected since the old files were put back; if you reloaded it with the new \
             files, reload it again"
                .to_owned()
        });
        step(StepCode::NotSeenAgain, words)
    }
}

fn not_written(error: &SwitchError) -> SwitchStep {
    step(StepCode::FilesNotWritten, with_causes(error))
}
