//! A web server and its pool moved together: written, tested, reloaded one after the other, proved, and put back where
//! it did not work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::diagnose::check::Client;
use crate::diagnose::check::reach::reach;
use looptax_advise::check::End as WayEnd;
use looptax_host::discover::Process;
use looptax_host::waiting;
use looptax_model::failure::Failure;
use looptax_model::record::{StepCode, SwitchOutcome, SwitchStep};

use super::Stack;
use super::eyes::Eyes;
use super::undo::{Again, PAUSE, TAKEN};
use crate::SwitchError;
use crate::apply::{
    AGAIN, AGAIN_WHEN_STOPPED, Carried, LEAST_PAUSE, PAUSE_PER_LOOK, PageSeen, STUBBORN, Tell,
    ask_again, note, put_back, run, step,
};
use crate::clock::Since;
use crate::data_folder::Kept;
use crate::journal::{End, Step};
use crate::line::Line;
use crate::proof::Page;
use crate::work::Work;

/// So long the page has to be as before, and nothing at the port, before that counts.
const STEADY: Duration = Duration::from_secs(2);

/// So long connections for a page are looked for: a page that asks nobody is refused after it, and on a busy machine a
/// connection of a millisecond is missed hundreds of times.
const LONGEST_LOOK: Duration = Duration::from_secs(15);
/// So many ask meanwhile, so that one connection or another is open at most times.
const N_ASKING: usize = 4;

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
    /// A page that comes from behind the web server, as it was before.
    pub page: Page,
    /// So long it may take.
    pub within: Duration,
    /// Set when somebody wants to end.
    pub stop: &'a AtomicBool,
}

impl Stack {
    /// Asks a page as it is before, and sees that each request for it goes on over TCP.
    ///
    /// # Errors
    /// That it does not answer, or is answered without what is behind: then it proves nothing.
    pub fn page_before(&self, url: &str) -> Result<Page, Failure> {
        let mut eyes = self.eyes();
        let page = Page::before(url).map_err(|failure| {
            failure.with_hint("name a page that works now: only a page can prove this")
        })?;
        // It is asked twice.
        let n_seen = eyes.look();
        if n_seen >= 2 || eyes.has_kept() || is_seen_when_asked(&page, &mut eyes, n_seen) {
            return Ok(page);
        }
        Err(Failure::usage(
            format!(
                "{url} is answered, and no connection to {} is seen for it: it proves nothing",
                self.tcp
            ),
            format!(
                "name a page that {} makes anew each time",
                self.sides.back.title()
            ),
        ))
    }

    fn eyes(&self) -> Eyes {
        Eyes::open(&self.sides, self.tcp)
    }
}

/// A connection that is reset leaves no trace, nor does any where the kernel keeps too many: then they have to be
/// seen while they last, for which the page is asked again and again.
fn is_seen_when_asked(page: &Page, eyes: &mut Eyes, mut n_seen: usize) -> bool {
    let (start, is_over) = (Since::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..N_ASKING {
            scope.spawn(|| {
                let mut page = page.clone();
                while !is_over.load(Ordering::Relaxed) {
                    page.differs_until(&is_over);
                    thread::sleep(LEAST_PAUSE);
                }
            });
        }
        while n_seen < 2 && start.elapsed() < LONGEST_LOOK {
            n_seen += eyes.look();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    n_seen >= 2
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
    let mut carrying = Carrying {
        stack,
        order,
        work,
        tell,
        eyes: stack.eyes(),
        is_reloaded: false,
    };
    let outcome = match carrying.bring_over() {
        Err(why) => carrying.put_back(why)?,
        Ok(()) => carrying.prove()?,
    };
    Ok(Carried { id, outcome })
}

struct Carrying<'a, 'b> {
    stack: &'a Stack,
    order: &'a StackOrder<'b>,
    work: Work,
    tell: Tell<'a>,
    eyes: Eyes,
    /// Whether anything was told to read the new files.
    is_reloaded: bool,
}

impl Carrying<'_, '_> {
    /// Both files are tested, then read.
    fn bring_over(&mut self) -> Result<(), SwitchStep> {
        let commands = &self.stack.commands;
        for command in &commands.tests {
            self.run(command)?;
        }
        for (idx, command) in commands.reloads.iter().enumerate() {
            self.is_reloaded = true;
            self.run(command)?;
            let is_pool = idx == 0 && self.stack.pool_moves;
            if is_pool {
                self.socket_opens()?;
            }
        }
        self.eyes.refresh(&self.stack.socket);
        Ok(())
    }

    fn run(&mut self, line: &Line) -> Result<(), SwitchStep> {
        let command = line.text().to_owned();
        note(&mut self.work, Step::Running { command })?;
        let said = run(line, self.order.within, self.order.stop);
        let code = said.is_ok().then_some(0);
        note(&mut self.work, Step::Ran { code })?;
        (self.tell)(said?);
        Ok(())
    }

    /// What is behind listens on the socket, and a worker of the web server gets in: before that one is reloaded.
    fn socket_opens(&self) -> Result<(), SwitchStep> {
        let socket = &self.stack.socket;
        let shown = socket.display();
        let start = Since::now();
        let gone = |how| {
            let (title, pid) = self.back();
            Err(step(StepCode::ServerGone, format!("{title} {pid} {how}")))
        };
        while self.eyes.on(socket).is_none() {
            self.go_on()?;
            // A service's manager may have another one started.
            if !self.eyes.back_runs() && self.stack.sides.is_told_by_signal() {
                return gone("has ended".to_owned());
            }
            if start.elapsed() > TAKEN {
                return gone(format!("does not listen on {shown}"));
            }
            thread::sleep(PAUSE);
        }
        // The master sets its rights after it has made it. Where one command reloads both, the worker may be gone.
        while let Ok(client) = Client::find(Some(self.stack.worker.pid), None) {
            if reach(socket, &client).end == WayEnd::Connected {
                break;
            }
            self.go_on()?;
            if start.elapsed() > TAKEN {
                let words = format!("{} cannot connect to {shown}", client.shown);
                return Err(step(StepCode::LoginsRefused, words));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// What is behind, for a person.
    fn back(&self) -> (&'static str, u32) {
        let sides = &self.stack.sides;
        (sides.back.title(), sides.back_master.pid)
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
                let (holds, words) = (true, words.join("; "));
                let noted = note(&mut self.work, Step::Proof { holds, words });
                let how = End::Moved;
                match noted.and_then(|()| note(&mut self.work, Step::Ended { how })) {
                    Err(why) => self.put_back(why),
                    Ok(()) => Ok(SwitchOutcome::Moved),
                }
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
                waiting::pause(LEAST_PAUSE.max(began.elapsed() * PAUSE_PER_LOOK));
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
            && let Some(own) = self.eyes.on(socket)
            && !(self.stack.pool_moves && self.eyes.is_port_open())
        {
            return Some(Ok(self.proved(&own)));
        }
        if !is_last {
            return None;
        }
        if self.eyes.on(socket).is_none() {
            let words = format!("{} does not listen on {}", self.back().0, socket.display());
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
    fn proved(&self, own: &Process) -> Vec<SwitchStep> {
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
        let (title, pid) = (self.back().0, own.pid);
        let words = format!("{title} {pid} listens on {socket}{seen}; {port}");
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
        if let Err(error) = put_back(&mut self.work, &words, End::PutBack, self.tell) {
            let kept = self.work.folder().display();
            let words = format!("{error}; the old files are kept in {kept}, as 0.old and so on");
            (self.tell)(step(StepCode::FilesNotPutBack, words));
            return Err(error);
        }
        waiting::allow_again();
        if self.is_reloaded {
            let stack = self.stack;
            let again = Again {
                sides: &stack.sides,
                is_back_too: stack.pool_moves,
                tcp: stack.tcp,
                reloads: &stack.commands.reloads,
                within: self.order.within,
            };
            again.reload(self.tell);
        }
        let seen = self.works_as_before();
        (self.tell)(seen);
        Ok(SwitchOutcome::PutBack)
    }

    fn works_as_before(&self) -> SwitchStep {
        let start = Since::now();
        let mut page = self.order.page.clone();
        let mut limit = AGAIN.min(self.order.within);
        if self.order.stop.load(Ordering::Relaxed) {
            limit = limit.min(AGAIN_WHEN_STOPPED);
            page.hurry(limit);
        }
        loop {
            let differs = page.differs();
            match differs {
                None => {
                    let words = format!("{} is as it was before", page.url());
                    return step(StepCode::WorksAsBefore, words);
                }
                Some(how) if start.elapsed() >= limit => {
                    return step(StepCode::NotSeenAgain, how);
                }
                Some(_) => thread::sleep(PAUSE),
            }
        }
    }
}
