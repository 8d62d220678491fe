//! A switch carried out: written, reloaded, proved, and put back where it did not work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_host::waiting;
use looptax_model::failure::with_causes;
use looptax_model::record::{StepCode, SwitchOutcome, SwitchStep};

use crate::SwitchError;
use crate::clock::Since;
use crate::data_folder::Kept;
use crate::journal::{End, MovedFrom, Step};
use crate::line::Line;
use crate::proof::{Judgement, Page, Watch};
use crate::reload;
use crate::work::{Edited, Work};

/// Shortest pause between two looks.
pub(crate) const LEAST_PAUSE: Duration = Duration::from_millis(3);
/// A pause is so many times as long as the look before it.
pub(crate) const PAUSE_PER_LOOK: u32 = 4;
/// Pause between two requests for the page.
const PAGE_PAUSE: Duration = Duration::from_millis(500);
/// So long a page has to be another one before that counts: whatever restarts may stumble at first.
pub(crate) const STUBBORN: Duration = Duration::from_secs(5);
/// So long the application is waited for after the old files are back.
pub(crate) const AGAIN: Duration = Duration::from_secs(15);
/// The same where somebody wants to end: nobody waits for a peer that is silent, as it may have been before.
pub(crate) const AGAIN_WHEN_STOPPED: Duration = Duration::from_secs(2);

/// What is to be done.
#[derive(Debug)]
pub struct Order<'a> {
    /// Where it is kept.
    pub kept: &'a Kept,
    /// The day, for its name: `20261123`.
    pub day: &'a str,
    /// The time, as RFC 3339.
    pub at: &'a str,
    /// What is switched, for a person.
    pub title: &'a str,
    /// The files.
    pub edited: &'a [Edited],
    /// What tests files before anything reads them: [`pool_tests`](crate::pool_tests).
    pub tests: &'a [Line],
    /// What has the application read them.
    pub reload: Option<&'a str>,
    /// A page of the application, as it was before.
    pub page: Option<Page>,
    /// So long connections are waited for.
    pub within: Duration,
    /// Whether some of what moves has no watch, so that nobody sees it.
    pub has_unwatched: bool,
    /// Set when somebody wants to end.
    pub stop: &'a AtomicBool,
}

/// What came of it.
#[derive(Debug)]
pub struct Carried {
    /// Its name.
    pub id: String,
    /// How it ended.
    pub outcome: SwitchOutcome,
}

/// Whoever is told each step as it is done.
pub type Tell<'a> = &'a mut dyn FnMut(SwitchStep);

/// Carries a switch out. Whatever fails, the old files are back afterwards, or the error says that they are not.
///
/// # Errors
/// Where files or journal cannot be written; nothing is changed then.
pub fn carry_out(
    order: &Order<'_>,
    watches: &mut [Watch],
    tell: Tell<'_>,
) -> Result<Carried, SwitchError> {
    let _lock = order.kept.lock()?;
    watches.iter_mut().for_each(Watch::calibrate);
    let mut work = Work::plan(order.kept, order.day, order.at, order.title, order.edited)?;
    let id = work.id().to_owned();
    let moved_from = |watch: &Watch| MovedFrom {
        tcp: watch.watched().tcp,
        kin: watch.application().kin().to_vec(),
    };
    work.note(Step::Moving {
        connections: watches.iter().map(moved_from).collect(),
        stack: None,
    })?;
    watches.iter_mut().for_each(Watch::restart);
    work.write(order.edited)?;
    tell(step(
        StepCode::FilesWritten,
        format!("written; undo it with: looptax switch --undo {id}"),
    ));
    let mut carrying = Carrying { order, work, tell };
    let failed = carrying.reload().err();
    let outcome = match failed {
        Some(why) => carrying.put_back(watches, why)?,
        None => carrying.prove(watches)?,
    };
    Ok(Carried { id, outcome })
}

/// Puts the files of an earlier switch back, as somebody asked.
///
/// # Errors
/// [`SwitchError::Changed`] where somebody wrote a file since, and whatever cannot be written.
pub fn undo(
    mut work: Work,
    reload: Option<&str>,
    within: Duration,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<(), SwitchError> {
    put_back(&mut work, "somebody asked", End::Undone, tell)?;
    if let Some(command) = reload {
        let said = run(&Line::from(command), within, stop);
        tell(said.unwrap_or_else(|failed| failed));
    }
    Ok(())
}

/// Puts the old files back, and tells it; that the journal could not be written beside.
pub(crate) fn put_back(
    work: &mut Work,
    why: &str,
    how: End,
    tell: Tell<'_>,
) -> Result<(), SwitchError> {
    match work.put_back(why, how) {
        Err(unnoted @ SwitchError::Unnoted { .. }) => {
            tell(back(work));
            tell(step(StepCode::ProofNote, with_causes(&unnoted)));
            Ok(())
        }
        done => done.map(|()| tell(back(work))),
    }
}

/// Notes a step after the files were written; where that cannot be done it has failed as any other.
pub(crate) fn note(work: &mut Work, noted: Step) -> Result<(), SwitchStep> {
    work.note(noted)
        .map_err(|error| step(StepCode::FilesNotWritten, with_causes(&error)))
}

struct Carrying<'a, 'b> {
    order: &'a Order<'b>,
    work: Work,
    tell: Tell<'a>,
}

impl Carrying<'_, '_> {
    /// Runs the tests, then the command, if there is one.
    fn reload(&mut self) -> Result<(), SwitchStep> {
        let reload = self.order.reload.map(Line::from);
        for line in self.order.tests.iter().chain(&reload) {
            let command = line.text().to_owned();
            note(&mut self.work, Step::Running { command })?;
            let said = run(line, self.order.within, self.order.stop);
            let code = said.is_ok().then_some(0);
            note(&mut self.work, Step::Ran { code })?;
            (self.tell)(said?);
        }
        Ok(())
    }

    fn prove(&mut self, watches: &mut [Watch]) -> Result<SwitchOutcome, SwitchError> {
        let found = watch(self.order, watches);
        for note in watches.iter().flat_map(Watch::notes) {
            (self.tell)(step(StepCode::ProofNote, note));
        }
        let (outcome, how, words) = match found {
            Judged::Holds(steps) => {
                let words: Vec<String> = steps.iter().map(|it| it.words.clone()).collect();
                for step in steps {
                    (self.tell)(step);
                }
                (SwitchOutcome::Moved, End::Moved, words.join("; "))
            }
            Judged::Unproved(why) => {
                (self.tell)(step(StepCode::NothingConnected, why.clone()));
                (SwitchOutcome::Unproved, End::Unproved, why)
            }
            Judged::Fails(why) => return self.put_back(watches, why),
        };
        let holds = outcome == SwitchOutcome::Moved;
        let noted = note(&mut self.work, Step::Proof { holds, words });
        match noted.and_then(|()| note(&mut self.work, Step::Ended { how })) {
            Err(why) => self.put_back(watches, why),
            Ok(()) => Ok(outcome),
        }
    }

    /// The old files are back, the application reads them, and works.
    fn put_back(
        &mut self,
        watches: &mut [Watch],
        why: SwitchStep,
    ) -> Result<SwitchOutcome, SwitchError> {
        let words = why.words.clone();
        (self.tell)(why);
        for line in watches.iter().flat_map(Watch::log_lines) {
            (self.tell)(step(StepCode::ServerLog, line));
        }
        if let Err(error) = put_back(&mut self.work, &words, End::PutBack, self.tell) {
            let kept = self.work.folder().display();
            let words = format!("{error}; the old files are kept in {kept}, as 0.old and so on");
            (self.tell)(step(StepCode::FilesNotPutBack, words));
            return Err(error);
        }
        // Who wanted to end has had the files put back; the application is still to read them.
        let go_on = AtomicBool::new(false);
        waiting::allow_again();
        if self.order.stop.load(Ordering::Relaxed) {
            for watch in &mut *watches {
                watch.hurry(AGAIN_WHEN_STOPPED);
            }
        }
        for watch in &mut *watches {
            watch.restart();
        }
        if let Some(command) = self.order.reload {
            let said = run(&Line::from(command), self.order.within, &go_on);
            (self.tell)(said.unwrap_or_else(|failed| failed));
        }
        let seen = self.works_as_before(watches);
        (self.tell)(seen);
        Ok(SwitchOutcome::PutBack)
    }

    fn works_as_before(&self, watches: &mut [Watch]) -> SwitchStep {
        let start = Since::now();
        let mut differs = None;
        let mut page = self.order.page.clone();
        let mut limit = AGAIN.min(self.order.within);
        if self.order.stop.load(Ordering::Relaxed) {
            limit = limit.min(AGAIN_WHEN_STOPPED);
            if let Some(page) = &mut page {
                page.hurry(limit);
            }
        }
        while start.elapsed() < limit {
            if let Some(page) = &mut page {
                differs = page.differs();
                if differs.is_none() {
                    let words = format!("{} is as it was before", page.url());
                    return step(StepCode::WorksAsBefore, words);
                }
            }
            watches.iter_mut().for_each(Watch::tick);
            if page.is_none() && !watches.is_empty() {
                let words = if watches.iter().all(Watch::is_over_tcp_again) {
                    "the application connects over TCP again"
                } else if watches.iter().all(Watch::is_still_over_tcp) {
                    "the application is connected over TCP as it was before"
                } else {
                    thread::sleep(LEAST_PAUSE);
                    continue;
                };
                return step(StepCode::WorksAsBefore, words.to_owned());
            }
            thread::sleep(LEAST_PAUSE);
        }
        let words = differs.unwrap_or_else(|| {
            "the application has not connected since; reload it if it was reloaded before"
                .to_owned()
        });
        step(StepCode::NotSeenAgain, words)
    }
}

/// What all watches and the page say together.
enum Judged {
    Holds(Vec<SwitchStep>),
    Fails(SwitchStep),
    Unproved(String),
}

/// Looks until it is decided, or the time is over.
fn watch(order: &Order<'_>, watches: &mut [Watch]) -> Judged {
    watches.iter_mut().for_each(Watch::reloaded);
    let start = Since::now();
    let is_over = AtomicBool::new(false);
    let last_answer = Mutex::new(PageSeen::default());
    thread::scope(|scope| {
        if let Some(page) = order.page.clone() {
            let (is_over, last_answer) = (&is_over, &last_answer);
            scope.spawn(move || ask_again(page, start, is_over, last_answer));
        }
        let judged = look_until_decided(order, watches, start, &last_answer);
        is_over.store(true, Ordering::Relaxed);
        judged
    })
}

/// How the page is now.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageSeen {
    /// Since when it is as it was before.
    pub(crate) fine_since: Option<Duration>,
    /// Since when it is not, and how.
    pub(crate) differs: Option<(Duration, String)>,
}

pub(crate) fn ask_again(
    mut page: Page,
    start: Since,
    is_over: &AtomicBool,
    last: &Mutex<PageSeen>,
) {
    while !is_over.load(Ordering::Relaxed) {
        let differs = page.differs_until(is_over);
        let now = start.elapsed();
        if let Ok(mut seen) = last.lock() {
            match differs {
                None => {
                    seen.differs = None;
                    seen.fine_since.get_or_insert(now);
                }
                Some(how) => {
                    seen.fine_since = None;
                    let since = seen.differs.as_ref().map_or(now, |(since, _)| *since);
                    seen.differs = Some((since, how));
                }
            }
        }
        if !waiting::pause(PAGE_PAUSE) {
            return;
        }
    }
}

fn look_until_decided(
    order: &Order<'_>,
    watches: &mut [Watch],
    start: Since,
    page: &Mutex<PageSeen>,
) -> Judged {
    loop {
        let began = Since::now();
        watches.iter_mut().for_each(Watch::tick);
        if order.stop.load(Ordering::Relaxed) {
            let words = "stopped before it was proved".to_owned();
            return Judged::Fails(step(StepCode::Stopped, words));
        }
        let page = { page.lock() }.map_or_else(|_| PageSeen::default(), |it| it.clone());
        let is_last = start.elapsed() >= order.within;
        if let Some(judged) = decide(order, watches, &page, start.elapsed(), is_last) {
            return judged;
        }
        waiting::pause(LEAST_PAUSE.max(began.elapsed() * PAUSE_PER_LOOK));
    }
}

fn decide(
    order: &Order<'_>,
    watches: &mut [Watch],
    page: &PageSeen,
    now: Duration,
    is_last: bool,
) -> Option<Judged> {
    if let Some((since, how)) = &page.differs
        && (is_last || now >= *since + STUBBORN)
    {
        let cause = watches.iter_mut().find_map(server_gone);
        let why = cause.unwrap_or_else(|| step(StepCode::PageDiffers, how.clone()));
        return Some(Judged::Fails(why));
    }
    let mut steps = Vec::new();
    let mut unproved = None;
    for watch in watches {
        let title = watch.watched().title.clone();
        match watch.judge(is_last, order.page.is_some())? {
            Judgement::Fails(code, words) => {
                return Some(Judged::Fails(step(code, format!("{title}: {words}"))));
            }
            Judgement::Unproved(words) => unproved = Some(format!("{title}: {words}")),
            Judgement::Holds(words) => {
                steps.push(step(StepCode::SeenOverSocket, format!("{title}: {words}")));
            }
        }
    }
    if let Some(why) = unproved {
        return Some(Judged::Unproved(why));
    }
    if let Some(asked) = &order.page {
        if page.fine_since.is_none() {
            let words = format!("{} did not answer within the time", asked.url());
            return is_last.then(|| Judged::Fails(step(StepCode::PageDiffers, words)));
        }
        let words = format!("{} is as it was before", asked.url());
        steps.push(step(StepCode::PageAsBefore, words));
    }
    if order.has_unwatched {
        let words = "what goes to a container's server is not seen from here".to_owned();
        return Some(Judged::Unproved(words));
    }
    Some(Judged::Holds(steps))
}

/// That the old files are back, and whose lines stayed.
pub(crate) fn back(work: &Work) -> SwitchStep {
    let shared = { work.shared().iter() }.map(|it| it.display().to_string());
    let words = match &*shared.collect::<Vec<_>>() {
        [] => "the old files are back".to_owned(),
        shared => format!(
            "the old lines are back; what somebody else wrote meanwhile stays in {}",
            shared.join(", ")
        ),
    };
    step(StepCode::FilesPutBack, words)
}

/// That the server is gone, of which the page's failure follows.
fn server_gone(watch: &mut Watch) -> Option<SwitchStep> {
    let title = watch.watched().title.clone();
    match watch.judge(true, true)? {
        Judgement::Fails(code @ StepCode::ServerGone, words) => {
            Some(step(code, format!("{title}: {words}")))
        }
        _ => None,
    }
}

/// Runs the command; the step that says how it went, as an error where it failed.
pub(crate) fn run(
    line: &Line,
    within: Duration,
    stop: &AtomicBool,
) -> Result<SwitchStep, SwitchStep> {
    let failed = |words| Err(step(StepCode::ReloadFailed, words));
    let text = line.text();
    match reload::run(line, within, stop) {
        Ok(ran) if ran.code == Some(0) => Ok(step(StepCode::Reloaded, format!("ran: {text}"))),
        Ok(ran) if ran.code.is_none() && stop.load(Ordering::Relaxed) => {
            let words = format!("stopped while `{text}` ran");
            Err(step(StepCode::Stopped, words))
        }
        Ok(ran) => {
            let how = match ran.code {
                Some(code) => format!("ended with {code}"),
                None => "did not end by itself".to_owned(),
            };
            let said = if ran.said.is_empty() {
                String::new()
            } else {
                format!(": {}", ran.said)
            };
            failed(format!("`{text}` {how}{said}"))
        }
        Err(error) => failed(format!("`{text}` cannot be run: {error}")),
    }
}

pub(crate) fn step(code: StepCode, words: String) -> SwitchStep {
    SwitchStep { code, words }
}
