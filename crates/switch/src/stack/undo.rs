//! Both old files back, and both programs told to read them: for a switch that failed, and for one that is undone.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_host::discover::{Place, Process, is_listened_at};
use looptax_host::waiting;
use looptax_model::record::StepCode;

use super::front::{self, has_new_workers};
use super::program;
use super::{Commands, Sides, back};
use crate::SwitchError;
use crate::apply::{Tell, put_back, run, step};
use crate::clock::Since;
use crate::journal::{End, ProgramOf, StackOf};
use crate::line::Line;
use crate::work::Work;

/// What is behind in a journal that does not say.
const FPM: &str = "php-fpm";
/// So long a program is waited for after it was told to read its files.
pub(super) const TAKEN: Duration = Duration::from_secs(10);
/// Pause between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// Both programs told to read old files again.
pub(super) struct Again<'a> {
    pub(super) sides: &'a Sides,
    /// Whether the file of what is behind had changed.
    pub(super) is_back_too: bool,
    pub(super) tcp: SocketAddr,
    pub(super) reloads: &'a [Line],
    pub(super) within: Duration,
}

impl Again<'_> {
    /// Runs the commands one after the other; where what is behind is the first, the next waits until it listens at its
    /// port.
    pub(super) fn reload(&self, tell: Tell<'_>) {
        // Who wanted to end has had the files put back; they are still to be read.
        let go_on = AtomicBool::new(false);
        let front = &self.sides.front_master;
        let mut before = program::workers(front);
        before.retain(|it| self.sides.front.is_serving(it));
        for (idx, command) in self.reloads.iter().enumerate() {
            let said = run(command, self.within, &go_on);
            tell(said.unwrap_or_else(|failed| failed));
            let is_back = || !self.is_back_too || is_listened_at(self.tcp, front);
            if idx == 0 {
                wait_until(is_back);
            }
        }
        wait_until(|| has_new_workers(self.sides.front, front, &before));
    }
}

/// Waits, within bounds, unless a signal ends it.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Since::now();
    while !is_so() && start.elapsed() < TAKEN && waiting::pause(PAUSE) {}
}

/// Puts both old files back as somebody asked, tests them, and has both programs read them, what is behind first.
///
/// # Errors
/// [`SwitchError::Rewritten`] where somebody wrote the very lines since, and whatever cannot be written.
pub fn undo_stack(
    mut work: Work,
    told: &StackOf,
    reload: Option<&str>,
    within: Duration,
    tell: Tell<'_>,
) -> Result<(), SwitchError> {
    put_back(&mut work, "somebody asked", End::Undone, tell)?;
    let by_hand = |why: &str| {
        let words = format!("{why}: reload {}", told.titles());
        step(StepCode::ReloadByHand, words)
    };
    let Some(sides) = Sides::again(told) else {
        tell(by_hand(
            "the programs that read them run no more as they did then",
        ));
        return Ok(());
    };
    let is_back_too = told.pool.is_some();
    let Commands { tests, reloads } = match sides.commands(is_back_too, reload) {
        Ok(commands) => commands,
        Err(why) => {
            tell(by_hand(&why.to_string()));
            return Ok(());
        }
    };
    let go_on = AtomicBool::new(false);
    for line in &tests {
        match run(line, within, &go_on) {
            Ok(done) => tell(done),
            Err(failed) => {
                tell(failed);
                tell(by_hand("nothing was reloaded; mend the files first"));
                return Ok(());
            }
        }
    }
    let again = Again {
        sides: &sides,
        is_back_too,
        tcp: told.tcp,
        reloads: &reloads,
        within,
    };
    again.reload(tell);
    Ok(())
}

impl Sides {
    /// The same programs as they run now.
    fn again(told: &StackOf) -> Option<Self> {
        let name = told.front.program.file_name()?.to_string_lossy();
        let front = front::by_name(&name)?;
        let words = |it: &Process, of: &ProgramOf| it.arguments().join(" ") == of.words;
        let masters = program::masters(|it| it.program_name() == front.name());
        let masters = masters.into_iter().filter(|it| front.is_ours(it));
        let masters: Vec<Process> = masters.collect();
        let same = masters.iter().find(|it| words(it, &told.front));
        // A reload may add words to a command line; of one alone there is no doubt.
        let only = masters.first().filter(|_| masters.len() == 1);
        let front_master = same.or(only)?.clone();
        let Some(of) = &told.pool else {
            // Nothing is asked of what is behind.
            let (back, back_master) = (back::by_name(FPM)?, front_master.clone());
            return Some(Self {
                front,
                front_master,
                back,
                back_master,
            });
        };
        let back = back::by_name(of.name.as_deref().unwrap_or(FPM))?;
        let is_there = |place: &Place| match place {
            Place::Path { path, .. } => told.socket.as_ref() == Some(path),
            place => place.takes(told.tcp),
        };
        let again = || {
            let all = program::masters(|it| back.is_it(it));
            all.into_iter().find(|it| words(it, of))
        };
        let back_master = back::find(back, is_there).or_else(again)?;
        Some(Self {
            front,
            front_master,
            back,
            back_master,
        })
    }
}

impl StackOf {
    /// What has to read the files, for a person: `PHP-FPM and nginx`.
    pub fn titles(&self) -> String {
        let name = self.front.program.file_name().unwrap_or_default();
        let front =
            front::by_name(&name.to_string_lossy()).map_or("the web server", |it| it.title());
        let Some(of) = &self.pool else {
            return front.to_owned();
        };
        let back = back::by_name(of.name.as_deref().unwrap_or(FPM));
        let back = back.map_or("what is behind it", |it| it.title());
        format!("{back} and {front}")
    }
}
