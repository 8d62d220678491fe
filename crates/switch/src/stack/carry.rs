//! A web server and its pool moved together: written, tested, reloaded one after the other, proved, and put back where
//! it did not work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_advise::check::End as WayEnd;
use looptax_diagnose::check::Client;
use looptax_diagnose::check::reach::reach;
use looptax_failure::Failure;
use looptax_record::{StepCode, SwitchOutcome, SwitchStep};

use super::Stack;
use super::eyes::Eyes;
use super::undo::{PAUSE, TAKEN, reload_both};
use crate::SwitchError;
use crate::apply::{
    AGAIN, Carried, LEAST_PAUSE, PAUSE_PER_LOOK, PageSeen, STUBBORN, Tell, ask_again, back, run,
    step,
};
use crate::clock::Since;
use crate::data_folder::Kept;
use crate::journal::{End, Step};
use crate::proof::Page;
use crate::work::Work;

/// So long the page has to be as before, and nothing at the port, before that counts.
const STEADY: Duration = Duration::from_secs(2);

/// What is to be done.
#[derive(Debug)]
pub struct StackOrder<'a> {
    /// Where it is kept.
    pub kept: &'a Kept,
    /// The day, for its name: `20261123`.
    pub day: &'a str,
    /// The time, as RFC 3339.
    pub at: &'a str,
    /// What is switched, for a person.
    pub title: &'a str,
    /// What has both programs read their files, where that is not their own signal.
    pub reload: Option<&'a str>,
    /// A page that comes from the pool, as it was before.
    pub page: Page,
    /// So long it may take.
    pub within: Duration,
    /// Set when somebody wants to end.
    pub stop: &'a AtomicBool,
}

impl Stack {
    /// Asks a page as it is before, and sees that each request for it goes to the pool over TCP.
    ///
    /// # Errors
    /// That it does not answer, or is answered without the pool: then it proves nothing.
    pub fn page_before(&self, url: &str) -> Result<Page, Failure> {
        let mut eyes = self.eyes();
        let page = Page::before(url)?;
        // It is asked twice.
        if eyes.look() >= 2 || eyes.has_kept() {
            return Ok(page);
        }
        Err(Failure::usage(
            format!(
                "{url} is answered, and no connection to {} is seen for it: it proves nothing",
                self.tcp
            ),
            "name a page that PHP makes anew each time",
        ))
    }

    fn eyes(&self) -> Eyes {
        Eyes::open((&self.front, &self.pool), self.tcp)
    }
}

/// Carries it out. Whatever fails, both old files are back afterwards, or the error says that they are not.
///
/// # Errors
/// Where files or journal cannot be written; nothing is changed then.
pub fn carry_out_stack(
    stack: &Stack,
    order: &StackOrder<'_>,
    tell: Tell<'_>,
) -> Result<Carried, SwitchError> {
    let _lock = order.kept.lock()?;
    let edited = &stack.plan.edited;
    let mut work = Work::plan(order.kept, order.day, order.at, order.title, edited)?;
    let id = work.id().to_owned();
    work.note(Step::Moving {
        connections: Vec::new(),
        stack: Some(stack.told()),
    })?;
    work.write(edited)?;
    let words = format!("both written; undo it with: looptax switch --undo {id}");
    tell(step(StepCode::FilesWritten, words));
    let (tests, reloads) = stack.commands(order.reload);
    let mut carrying = Carrying {
        stack,
        order,
        work,
        tell,
        eyes: stack.eyes(),
        reloads,
        is_reloaded: false,
    };
    let outcome = match carrying.bring_over(&tests)? {
        Err(why) => carrying.put_back(why)?,
        Ok(()) => carrying.prove()?,
    };
    Ok(Carried { id, outcome })
}

/// A step that went wrong, unless the journal did.
type Tried<T> = Result<Result<T, SwitchStep>, SwitchError>;

struct Carrying<'a, 'b> {
    stack: &'a Stack,
    order: &'a StackOrder<'b>,
    work: Work,
    tell: Tell<'a>,
    eyes: Eyes,
    reloads: Vec<String>,
    /// Whether anything was told to read the new files.
    is_reloaded: bool,
}

impl Carrying<'_, '_> {
    /// Both files are tested, then read.
    fn bring_over(&mut self, tests: &[String]) -> Tried<()> {
        for command in tests {
            if let Err(why) = self.run(command)? {
                return Ok(Err(why));
            }
        }
        for (idx, command) in self.reloads.clone().iter().enumerate() {
            self.is_reloaded = true;
            if let Err(why) = self.run(command)? {
                return Ok(Err(why));
            }
            let is_pool = idx == 0 && self.stack.pool_moves;
            if is_pool && let Err(why) = self.socket_opens() {
                return Ok(Err(why));
            }
        }
        self.eyes.refresh();
        Ok(Ok(()))
    }

    fn run(&mut self, command: &str) -> Tried<()> {
        self.work.note(Step::Running {
            command: command.to_owned(),
        })?;
        let said = run(command, self.order.within, self.order.stop);
        self.work.note(Step::Ran {
            code: said.is_ok().then_some(0),
        })?;
        Ok(said.map(|done| (self.tell)(done)))
    }

    /// The pool listens on the socket, and a worker of the web server gets in: before that one is reloaded.
    fn socket_opens(&self) -> Result<(), SwitchStep> {
        let socket = &self.stack.socket;
        let shown = socket.display();
        let start = Since::now();
        while !self.eyes.is_on(socket) {
            self.go_on()?;
            if !self.eyes.pool_runs() {
                let words = format!("PHP-FPM {} has ended", self.stack.pool.pid);
                return Err(step(StepCode::ServerGone, words));
            }
            if start.elapsed() > TAKEN {
                let words = format!("PHP-FPM {} does not listen on {shown}", self.stack.pool.pid);
                return Err(step(StepCode::ServerGone, words));
            }
            thread::sleep(PAUSE);
        }
        let Ok(client) = Client::find(Some(self.stack.worker.pid), None) else {
            return Ok(());
        };
        // The master sets its rights after it has made it.
        while reach(socket, &client).end != WayEnd::Connected {
            self.go_on()?;
            if start.elapsed() > TAKEN {
                let words = format!("{} cannot connect to {shown}", client.shown);
                return Err(step(StepCode::LoginsRefused, words));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Unless somebody wants to end.
    fn go_on(&self) -> Result<(), SwitchStep> {
        if self.order.stop.load(Ordering::Relaxed) {
            let words = "stopped before it was proved".to_owned();
            return Err(step(StepCode::Stopped, words));
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<SwitchOutcome, SwitchError> {
        match self.look_until_decided() {
            Err(why) => self.put_back(why),
            Ok(steps) => {
                let words: Vec<String> = steps.iter().map(|it| it.words.clone()).collect();
                for step in steps {
                    (self.tell)(step);
                }
                self.work.note(Step::Proof {
                    holds: true,
                    words: words.join("; "),
                })?;
                self.work.end(End::Moved)?;
                Ok(SwitchOutcome::Moved)
            }
        }
    }

    fn look_until_decided(&mut self) -> Result<Vec<SwitchStep>, SwitchStep> {
        let start = Since::now();
        let (is_over, seen) = (AtomicBool::new(false), Mutex::new(PageSeen::default()));
        let page = self.order.page.clone();
        thread::scope(|scope| {
            scope.spawn(|| ask_again(page, start, &is_over, &seen));
            let mut last_over_tcp = Duration::ZERO;
            let judged = loop {
                let began = Since::now();
                if self.eyes.look() > 0 {
                    last_over_tcp = start.elapsed();
                }
                let page = { seen.lock() }.map_or_else(|_| PageSeen::default(), |it| it.clone());
                if let Some(judged) = self.judge(&page, start.elapsed(), last_over_tcp) {
                    break judged;
                }
                thread::sleep(LEAST_PAUSE.max(began.elapsed() * PAUSE_PER_LOOK));
            };
            is_over.store(true, Ordering::Relaxed);
            judged
        })
    }

    fn judge(
        &self,
        page: &PageSeen,
        now: Duration,
        last_over_tcp: Duration,
    ) -> Option<Result<Vec<SwitchStep>, SwitchStep>> {
        let fails = |code, words: String| Some(Err(step(code, words)));
        let (tcp, order) = (self.stack.tcp, self.order);
        if order.stop.load(Ordering::Relaxed) {
            return fails(StepCode::Stopped, "stopped before it was proved".to_owned());
        }
        let is_last = now >= order.within;
        if let Some((since, how)) = &page.differs
            && (is_last || now >= *since + STUBBORN)
        {
            return fails(StepCode::PageDiffers, how.clone());
        }
        let is_fine = page.fine_since.is_some_and(|since| now >= since + STEADY);
        let socket = &self.stack.socket;
        if !is_fine && !is_last {
            return None;
        }
        let is_quiet = now >= last_over_tcp + STEADY && !self.eyes.has_kept();
        if is_fine
            && is_quiet
            && self.eyes.is_on(socket)
            && !(self.stack.pool_moves && self.eyes.is_port_open())
        {
            return Some(Ok(self.proved()));
        }
        if !is_last {
            return None;
        }
        if !self.eyes.is_on(socket) {
            let words = format!("PHP-FPM does not listen on {}", socket.display());
            return fails(StepCode::ServerGone, words);
        }
        if !is_fine {
            let words = format!(
                "{} did not answer as before within the time",
                order.page.url()
            );
            return fails(StepCode::PageDiffers, words);
        }
        let words = if is_quiet {
            format!("somebody still listens at {tcp}")
        } else {
            format!("somebody still connects to {tcp}")
        };
        fails(StepCode::StillOverTcp, words)
    }

    /// What the proof is.
    fn proved(&self) -> Vec<SwitchStep> {
        let (tcp, socket) = (self.stack.tcp, self.stack.socket.display());
        let workers: Vec<String> = self.eyes.over_socket.iter().cloned().collect();
        let seen = match &*workers.join(", ") {
            "" => String::new(),
            workers => format!(", {workers} was seen there"),
        };
        let port = if self.stack.pool_moves {
            format!("nobody listens at {tcp} any more")
        } else {
            format!("no connection to {tcp} came for the pages since")
        };
        let pid = self.stack.pool.pid;
        let words = format!("PHP-FPM {pid} listens on {socket}{seen}; {port}");
        let page = format!("{} is as it was before", self.order.page.url());
        vec![
            step(StepCode::SeenOverSocket, words),
            step(StepCode::PageAsBefore, page),
        ]
    }

    /// Both old files are back; both programs read them, where one had read the new ones.
    fn put_back(&mut self, why: SwitchStep) -> Result<SwitchOutcome, SwitchError> {
        let words = why.words.clone();
        (self.tell)(why);
        if let Err(error) = self.work.put_back(&words, End::PutBack) {
            let kept = self.work.folder().display();
            let words = format!("{error}; the old files are kept in {kept}, as 0.old and so on");
            (self.tell)(step(StepCode::FilesNotPutBack, words));
            return Err(error);
        }
        (self.tell)(back(&self.work));
        if self.is_reloaded {
            let pool = Some(&self.stack.pool).filter(|_| self.stack.pool_moves);
            let both = (&self.stack.front, pool);
            reload_both(
                both,
                self.stack.tcp,
                &self.reloads,
                self.order.within,
                self.tell,
            );
        }
        let seen = self.works_as_before();
        (self.tell)(seen);
        Ok(SwitchOutcome::PutBack)
    }

    fn works_as_before(&self) -> SwitchStep {
        let start = Since::now();
        let mut page = self.order.page.clone();
        loop {
            let differs = page.differs();
            match differs {
                None => {
                    let words = format!("{} is as it was before", page.url());
                    return step(StepCode::WorksAsBefore, words);
                }
                Some(how) if start.elapsed() >= AGAIN.min(self.order.within) => {
                    return step(StepCode::NotSeenAgain, how);
                }
                Some(_) => thread::sleep(PAUSE),
            }
        }
    }
}
