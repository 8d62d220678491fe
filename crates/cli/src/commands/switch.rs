//! `switch`: an application moved to the socket: plan, agreement, the work itself, and back.

mod doing;
mod earlier;
mod fixes;
mod planned;
mod together;

use std::path::{Path, PathBuf};

use looptax_host::discover::survey;
use looptax_model::record::{StepCode, SwitchOutcome, SwitchStep, Switched};
use looptax_report::terminal as report;
use looptax_switch::diagnose::check::sources;
use looptax_switch::{
    About, Carried, Order, Page, Subject, Wish, carry_out, files_of, look_at, pool_tests,
    usual_reload,
};

use crate::args::SwitchArgs;
use crate::failure::{Exit, Failure};
use crate::signals;
use crate::sys;
use crate::terminal::{self, Terminal};
use doing::{Doing, kept};

/// Runs `switch`.
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
        (None, None) => return Err(Failure::new("no file was named")),
    };
    let doing = Doing { args, terminal };
    if !args.patch {
        earlier::offer(doing)?;
    }
    match &args.pool {
        Some(pool) => doing.switch_together([&file, pool]),
        None => doing.switch(&file),
    }
}

/// The one file of a process's working folder that names a connection.
fn file_of(pid: u32) -> Result<PathBuf, Failure> {
    if looptax_host::discover::process(pid).is_none() {
        return Err(Failure::usage(
            format!("there is no process {pid}, or it may not be looked at"),
            "`looptax find` lists the clients",
        ));
    }
    let mut files = files_of(pid);
    match files.len() {
        0 => Err(Failure::usage(
            format!("the working folder of process {pid} holds no file that is known"),
            format!(
                "`looptax check --pid {pid}` shows its connections; name the file: looptax switch FILE --pid {pid}"
            ),
        )),
        1 => Ok(files.remove(0)),
        _ => {
            let names: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
            Err(Failure::usage(
                format!(
                    "process {pid} has several files that are known: {}",
                    names.join(", ")
                ),
                format!("name one: looptax switch FILE --pid {pid}"),
            ))
        }
    }
}

impl Doing<'_> {
    fn switch(self, file: &Path) -> Result<Exit, Failure> {
        let args = self.args;
        let survey = survey(None);
        let wish = Wish {
            path: file,
            pid: args.pid,
            only: &args.only,
            application: args.application.as_deref(),
            compose: args.compose,
        };
        let about = About {
            user: args.user.as_deref(),
            socket: args.socket.as_deref(),
            n_connections: args.connections,
        };
        self.refuse_while_busy()?;
        let mut subject = look_at(wish, about, &survey)?;
        if args.patch {
            return planned::print_patch(&subject.plan);
        }
        let prepared = fixes::mend(self, &subject, &survey)?;
        if !prepared.is_empty() {
            subject = look_at(wish, about, &looptax_host::discover::survey(Some(&survey)))?;
        }
        let mut switched = planned::told(&subject.plan, args);
        switched.prepared = prepared;
        self.hint_at_owner(file, &subject);
        let source = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let source = source.display().to_string();
        self.show(&report::switch_plan(
            &switched,
            &source,
            self.terminal.style(),
        ))?;
        if subject.plan.edited.is_empty() {
            together::hint(self, &switched, file);
            self.show(&fixes::offered(self, &subject))?;
            return self.nothing(switched);
        }
        planned::refuse_unwritable(&switched)?;
        if args.dry_run {
            switched.outcome = SwitchOutcome::Planned;
            return self.end(&switched, Exit::Done);
        }
        self.may_ask()?;
        let page = args.url.as_deref().map(Page::before).transpose()?;
        if !self.agrees(&switched) {
            switched.outcome = SwitchOutcome::Planned;
            return self.end(&switched, Exit::No);
        }
        let reload = self.reload(&subject);
        switched.proof.reload.clone_from(&reload);
        self.carry_out(&mut subject, switched, page, reload.as_deref(), &source)
    }

    fn refuse_while_busy(self) -> Result<(), Failure> {
        if !self.args.patch && !self.args.dry_run && kept()?.is_busy() {
            return Err(Failure::usage(
                "another looptax switch is under way, and its proof would take our logins for the application's",
                "wait until it has ended",
            ));
        }
        Ok(())
    }

    /// Root reaches what an application may not.
    fn hint_at_owner(self, file: &Path, subject: &Subject) {
        let mut applications = subject
            .watches
            .iter()
            .map(looptax_switch::Watch::application);
        let is_known = self.args.user.is_some() || self.args.pid.is_some();
        if is_known || applications.any(|it| !it.is_unknown()) {
            return;
        }
        if let Some(owner) = sources::owner(file) {
            self.terminal.words(&format!(
                "hint: the file belongs to {owner}: say whom the application runs as, for example --user {owner}\n"
            ));
        }
    }

    fn nothing(self, mut switched: Switched) -> Result<Exit, Failure> {
        let is_there = planned::is_all_there(&switched);
        let (outcome, exit) = if is_there {
            (SwitchOutcome::NothingToDo, Exit::Done)
        } else {
            (SwitchOutcome::NotDone, Exit::No)
        };
        switched.outcome = outcome;
        self.end(&switched, exit)
    }

    fn agrees(self, switched: &Switched) -> bool {
        let remarks = || switched.files.iter().flat_map(|it| &it.remarks);
        let wants_a_word = remarks().filter(|it| it.wants_a_word);
        for remark in wants_a_word.filter(|_| !self.args.force) {
            if self.args.yes {
                let words = format!(
                    "not written: {}; --force writes it all the same\n",
                    remark.words
                );
                self.terminal.words_for(true, &words);
                return false;
            }
            if !terminal::agrees(&format!("{}. Write it all the same?", remark.words)) {
                return false;
            }
        }
        self.args.yes || terminal::agrees("Go ahead?")
    }

    /// The command to run, if somebody wants one run.
    fn reload(self, subject: &Subject) -> Option<String> {
        if self.args.reload.is_some() || self.args.yes {
            return self.args.reload.clone();
        }
        let applications = subject
            .watches
            .iter()
            .map(looptax_switch::Watch::application);
        let usual = || { applications }.find_map(|it| usual_reload(&it.example()?));
        let usual = subject.plan.reload.clone().or_else(usual)?;
        let question = format!("Run `{usual}` once the file is written?");
        terminal::agrees(&question).then_some(usual)
    }

    fn carry_out(
        self,
        subject: &mut Subject,
        mut switched: Switched,
        page: Option<Page>,
        reload: Option<&str>,
        source: &str,
    ) -> Result<Exit, Failure> {
        let now = jiff::Zoned::now();
        let stop = signals::stop_flag()?;
        let edited = subject.plan.edited.iter();
        let tests = pool_tests(edited.map(|it| it.original.path()));
        let order = Order {
            kept: &kept()?,
            day: &now.strftime("%Y%m%d").to_string(),
            at: &now.timestamp().to_string(),
            title: &planned::title(&switched, source),
            edited: &subject.plan.edited,
            tests: &tests,
            reload,
            page,
            within: self.args.within,
            has_unwatched: subject.has_unwatched(),
            stop: &stop,
        };
        let is_watched = !subject.watches.is_empty();
        let by_hand = reload.is_none().then(|| by_hand(&switched, is_watched));
        let mut steps = Vec::new();
        let mut tell = |step: SwitchStep| {
            let is_written = step.code == StepCode::FilesWritten;
            let then = by_hand.clone().filter(|_| is_written);
            for step in [Some(step), then].into_iter().flatten() {
                let text = report::switch_step(&step, self.terminal.style());
                // Who reads has gone; the switch goes on all the same.
                let _gone = self.show(&text);
                steps.push(step);
            }
        };
        let carried = carry_out(&order, &mut subject.watches, &mut tell)?;
        switched.steps = steps;
        self.came_of(switched, carried)
    }

    /// How it ended.
    fn came_of(self, mut switched: Switched, carried: Carried) -> Result<Exit, Failure> {
        switched.id = Some(carried.id);
        switched.outcome = carried.outcome;
        let exit = match carried.outcome {
            SwitchOutcome::Moved => Exit::Done,
            SwitchOutcome::Unproved => Exit::Invalid,
            _ if switched.steps.iter().any(|it| it.code == StepCode::Stopped) => Exit::Interrupted,
            _ => Exit::No,
        };
        self.end(&switched, exit)
    }
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
            format!("{what}; its connections are waited for, {within_s} s at most")
        } else {
            what
        },
    }
}
