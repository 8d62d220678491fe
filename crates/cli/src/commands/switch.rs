//! `switch`: moves an application to the socket. It makes the plan, asks the user to agree, changes the files, and
//! undoes the changes.

mod doing;
mod earlier;
mod fixes;
mod planned;
mod times;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use looptax_host::discover::{Survey, survey};
use looptax_model::record::{
    FileRemarkCode, StepCode, SwitchOutcome, SwitchStep, Switched, Watched, WatchedChange, WatchedDiff,
};
use looptax_report::terminal as report;
use looptax_switch::diagnose::check::sources;
use looptax_switch::{Burst, Line, Order, Page, Subject, Unproved, Wish, carry_out, files_of, look_at, usual_reload};

use crate::args::SwitchArgs;
use crate::failure::{Exit, Failure};
use crate::signals;
use crate::sys;
use crate::terminal::{self, Terminal};
use doing::{Doing, kept, named};
use times::Times;

const TIMES_CAVEAT: &str = "these times also include everything else that changed on the machine between the two \
    measurements; `looptax trial` measures the two transports alternately";

pub(crate) fn run(args: &SwitchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    sys::require_proc(sys::FOUND)?;
    if args.list {
        return earlier::list(args, terminal);
    }
    if let Some(id) = &args.undo {
        return earlier::undo(id, args, terminal);
    }
    if let Some(id) = &args.finish {
        return earlier::finish(id, args, terminal);
    }
    let file = match (&args.file, args.pid) {
        (Some(file), _) => file.clone(),
        (None, Some(pid)) => file_of(pid)?,
        (None, None) => return Err(Failure::new("no file was given")),
    };
    let doing = Doing { args, terminal };
    if !args.patch {
        earlier::offer(doing)?;
    }
    doing.switch(&file)
}

/// Returns the file that names a connection, from the working folder of the process. Fails if the folder has no such
/// file, or if it has several such files.
fn file_of(pid: u32) -> Result<PathBuf, Failure> {
    if looptax_host::discover::process(pid).is_none() {
        return Err(Failure::usage(
            format!("process {pid} does not exist, or you may not inspect it"),
            "`looptax find` lists the clients",
        ));
    }
    let mut files = files_of(pid);
    match files.len() {
        0 => Err(Failure::usage(
            format!("the working folder of process {pid} has no file that looptax knows"),
            format!("`looptax check {pid}` shows its connections; pass the file: looptax switch FILE --pid {pid}"),
        )),
        1 => Ok(files.remove(0)),
        _ => {
            let names: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
            Err(Failure::usage(
                format!("process {pid} has several files that looptax knows: {}", names.join(", ")),
                format!("pass one of these files: looptax switch FILE --pid {pid}"),
            ))
        }
    }
}

impl Doing<'_> {
    fn switch(self, file: &Path) -> Result<Exit, Failure> {
        let args = self.args;
        self.refuse_while_busy()?;
        let before = survey(None);
        let times = Times::begin(self, &before);
        let mut subject = self.look(file, &before)?;
        if args.patch {
            return planned::print_patch(&subject.plan, self.terminal);
        }
        let prepared = fixes::mend(self, &subject.plan, &before)?;
        if !prepared.is_empty() {
            subject = self.look(file, &survey(Some(&before)))?;
        }
        let mut switched = planned::switched(&subject.plan, args);
        switched.prepared = prepared;
        // The plan has the commands that reload a web server and its upstream. For any other application, the caller
        // gives the command.
        let is_told_by_plan = !subject.commands.reloads.is_empty();
        if is_told_by_plan {
            switched.proof.reload = Some(subject.commands.texts().join(" && "));
        }
        self.hint_at_owner(file, &subject);
        let source = std::path::absolute(&subject.file).unwrap_or_else(|_| file.to_owned());
        let source = source.display().to_string();
        let style = self.terminal.style();
        let plan = report::switch_plan(&switched, &source, style);
        if subject.plan.edited.is_empty() {
            self.show_result(&plan)?;
            planned::hint_at_pair(self, &switched, file);
            self.show_result(&fixes::offered(self, &subject.plan))?;
            return self.nothing(switched);
        }
        self.show(&plan)?;
        planned::refuse_unwritable(&switched)?;
        let bursts = self.bursts(&subject)?;
        let page = self.page_before(&subject)?;
        if args.dry_run || !self.agrees(&switched) {
            switched.outcome = SwitchOutcome::Planned;
            let exit = if args.dry_run { Exit::Done } else { Exit::No };
            return self.end(&switched, exit);
        }
        if !is_told_by_plan {
            let reload = self.reload(&subject);
            if reload.is_none() && has_remark(&switched, FileRemarkCode::JoinsGroup) {
                return Err(Failure::usage(
                    "the application has to be restarted, because a new group takes effect only when the application \
                     starts",
                    "pass the command that restarts the application: --reload COMMAND",
                ));
            }
            let line = reload.as_deref().map(Line::from);
            subject.commands.reloads.extend(line);
            switched.proof.reload = reload;
        }
        self.carry_out(subject, switched, (page, bursts), times, &source)
    }

    /// Makes the plan without changing anything.
    fn look(self, file: &Path, survey: &Survey) -> Result<Subject, Failure> {
        let args = self.args;
        let wish = Wish {
            path: file,
            other: args.other.as_deref(),
            restart: args.may_restart(),
            pid: args.pid,
            only: &args.only,
            application: args.application.as_deref(),
            containers: args.containers,
            user: args.user.as_deref(),
            socket: args.socket.as_deref(),
            n_connections: args.connections,
            reload: args.reload.as_deref(),
        };
        look_at(wish, survey)
    }

    /// Requests the page for the proof, and returns the page as it is before the move. A page that the user passed is
    /// requested even if the proof does not need it, so that a failure appears before the user agrees. With
    /// `--dry-run`, the page is requested only if nothing else can prove the switch.
    fn page_before(self, subject: &Subject) -> Result<Option<Page>, Failure> {
        let is_needed = subject.proof.needs_page();
        match &self.args.url {
            None if is_needed && self.args.dry_run => {
                self.terminal.words(
                    "without --dry-run, looptax needs a page that proves this move: pass --url http://127.0.0.1/\n",
                );
            }
            None if is_needed => {
                return Err(Failure::usage(
                    "only a page can prove this move, because a web server's connections to its upstream last only a \
                     millisecond and have no login",
                    "pass a page that is generated each time: --url http://127.0.0.1/",
                ));
            }
            _ => {}
        }
        if !self.args.dry_run {
            self.may_ask()?;
        }
        let url = self.args.url.as_deref();
        let url = url.filter(|_| is_needed || !self.args.dry_run);
        url.map(|it| subject.proof.page_before(it)).transpose()
    }

    /// Returns the bursts of connections for the proof, if the user asked for them.
    fn bursts(self, subject: &Subject) -> Result<Vec<Burst>, Failure> {
        if !self.args.burst {
            return Ok(Vec::new());
        }
        let bursts = subject.plan.bursts(self.args.connections)?;
        for Burst { socket, n_connections, .. } in &bursts {
            let socket = socket.display();
            self.terminal.words(&format!(
                "to prove the move, looptax opens {n_connections} connections to {socket} at the same time\n"
            ));
        }
        Ok(bursts)
    }

    fn refuse_while_busy(self) -> Result<(), Failure> {
        if !self.args.patch && !self.args.dry_run && kept()?.is_busy() {
            return Err(Failure::usage(
                "another looptax switch is running: it watches the logins of one application, and would mistake the \
                 logins of this switch for logins of that application",
                "wait until the other switch has ended",
            ));
        }
        Ok(())
    }

    /// Prints a hint to pass the user that the application runs as. Without this user, looptax checks what its own user
    /// may access, and root may access more than the application.
    fn hint_at_owner(self, file: &Path, subject: &Subject) {
        let args = self.args;
        let applications = subject.proof.applications();
        let is_known = args.user.is_some() || args.pid.is_some() || subject.proof.needs_page();
        if is_known || applications.iter().any(|it| !it.is_unknown()) {
            return;
        }
        if let Some(owner) = sources::owner(file) {
            self.terminal.words(&format!(
                "hint: the file belongs to {owner}: pass the user that the application runs as, for example --user \
                 {owner}\n"
            ));
        }
    }

    fn nothing(self, mut switched: Switched) -> Result<Exit, Failure> {
        let is_there = planned::is_all_there(&switched);
        let (outcome, exit) =
            if is_there { (SwitchOutcome::NothingToDo, Exit::Done) } else { (SwitchOutcome::NotDone, Exit::No) };
        switched.outcome = outcome;
        self.end(&switched, exit)
    }

    fn agrees(self, switched: &Switched) -> bool {
        let remarks = || switched.files.iter().flat_map(|it| &it.remarks);
        let wants_a_word = remarks().filter(|it| it.wants_a_word);
        for remark in wants_a_word.filter(|_| !self.args.force) {
            if self.args.yes {
                let words = format!("not written: {}; --force writes the file anyway\n", remark.words);
                self.terminal.words_for(true, &words);
                return false;
            }
            if !terminal::agrees(&format!("{}. Write it anyway?", remark.words)) {
                return false;
            }
        }
        if has_remark(switched, FileRemarkCode::Restart) && self.args.restart.is_none() {
            if self.args.yes {
                self.terminal.words_for(
                    true,
                    "nothing was changed: looptax has to restart the server; allow this with --restart\n",
                );
                return false;
            }
            return terminal::agrees("Go ahead, and restart the server?");
        }
        self.args.yes || terminal::agrees("Go ahead?")
    }

    /// Returns the command that reloads the application: the caller's command, or the usual command if the user agrees
    /// to it.
    fn reload(self, subject: &Subject) -> Option<String> {
        if self.args.reload.is_some() || self.args.yes {
            return self.args.reload.clone();
        }
        let applications = subject.proof.applications();
        let usual = || { applications.iter() }.find_map(|it| usual_reload(&it.example()?));
        let usual = subject.plan.reload.clone().or_else(usual)?;
        let question = format!("Run `{usual}` after the file is written?");
        terminal::agrees(&question).then_some(usual)
    }

    fn carry_out(
        self,
        mut subject: Subject,
        mut switched: Switched,
        (page, bursts): (Option<Page>, Vec<Burst>),
        mut times: Option<Times>,
        source: &str,
    ) -> Result<Exit, Failure> {
        let stop = signals::stop_flag()?;
        let before = times.as_mut().and_then(|it| it.before(self, &switched, &stop));
        if stop.load(Ordering::Relaxed) {
            switched.outcome = SwitchOutcome::Planned;
            return self.end(&switched, Exit::Interrupted);
        }
        let is_watched = !subject.proof.applications().is_empty();
        let is_read = !subject.commands.reloads.is_empty();
        let told = switched.proof.reload_words.join("; ");
        let told = Some(&*told).filter(|it| !is_read && !it.is_empty());
        let by_hand = (!is_read).then(|| by_hand(&switched, is_watched));
        let mut steps = Vec::new();
        let mut tell = |step: SwitchStep| {
            let is_written = step.code == StepCode::FilesWritten;
            let then = by_hand.clone().filter(|_| is_written);
            for step in [Some(step), then].into_iter().flatten() {
                self.show_step(&step);
                steps.push(step);
            }
        };
        let kept = kept()?;
        let carried = named(&planned::title(&switched, source), |named| {
            let order = Order {
                kept: &kept,
                named,
                edited: &subject.plan.edited,
                commands: &subject.commands,
                page,
                bursts: &bursts,
                by_hand: told,
                within: self.args.within,
                unproved: self.unproved(),
                stop: &stop,
            };
            carry_out(&order, &mut *subject.proof, &mut tell)
        })?;
        let exit = match carried.outcome {
            SwitchOutcome::Moved => Exit::Done,
            SwitchOutcome::Unproved => Exit::Invalid,
            _ if steps.iter().any(|it| it.code == StepCode::Stopped) => Exit::Interrupted,
            _ => Exit::No,
        };
        if let (SwitchOutcome::Moved, Some(times), Some(before)) = (carried.outcome, &mut times, &before) {
            switched.requests = self.time_again(times, before, &switched, &stop, &mut steps);
        }
        switched.id = Some(carried.id);
        switched.outcome = carried.outcome;
        switched.steps = steps;
        self.end(&switched, exit)
    }

    fn unproved(self) -> Unproved {
        match (self.args.keep_unproved, self.args.yes) {
            (true, _) => Unproved::Stays,
            (false, true) => Unproved::IsPutBack,
            (false, false) => {
                Unproved::IsAsked(|why| terminal::agrees(&format!("Not proved: {why}. Keep the new file?")))
            }
        }
    }

    /// Times the requests after the move, adds a step for each hop, and returns the comparison with the times before
    /// the move.
    fn time_again(
        self,
        times: &mut Times,
        before: &Watched,
        switched: &Switched,
        stop: &AtomicBool,
        steps: &mut Vec<SwitchStep>,
    ) -> Option<WatchedDiff> {
        let diff = times.after(before, switched, stop);
        let words: Vec<String> = match &diff {
            Ok(diff) if diff.hops.is_empty() => {
                vec![
                    "no comparison with the requests before the move: looptax does not see which requests before and \
                     after the move are from the same program"
                        .to_owned(),
                ]
            }
            Ok(diff) => {
                // The hops that were moved are always shown. Other hops are shown only if they had enough requests.
                let is_known = |it: &WatchedChange| it.mean_pct.known().is_some() || it.p50_pct.known().is_some();
                let told = diff.hops.iter().filter(|it| it.before.way != it.after.way || is_known(it));
                let each = told.map(|it| report::before_and_after(it, diff, self.terminal.style()));
                each.chain([TIMES_CAVEAT.to_owned()]).collect()
            }
            Err(why) => vec![format!("no comparison with the requests before the move: {why:#}")],
        };
        for words in words {
            let step = SwitchStep { code: StepCode::RequestsTimed, words };
            self.show_step(&step);
            steps.push(step);
        }
        diff.ok()
    }
}

fn has_remark(switched: &Switched, code: FileRemarkCode) -> bool {
    switched.files.iter().flat_map(|it| &it.remarks).any(|it| it.code == code)
}

fn by_hand(switched: &Switched, is_watched: bool) -> SwitchStep {
    let what = match &*switched.proof.reload_words {
        [] => "reload the application".to_owned(),
        words => words.join("; "),
    };
    SwitchStep {
        code: StepCode::ReloadByHand,
        words: if is_watched {
            let within_s = switched.proof.within_s;
            format!("{what}; looptax waits for the application's connections, {within_s} s at most")
        } else {
            what
        },
    }
}
