//! A switch of two files, or of one existing file and one new file, and the next start of looptax after it: an undo or
//! a finish.
//!
//! The conditions are checked with the files' own bytes, owners, rights and attributes, and with the list that the next
//! start reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail};
use looptax_model::failure::{Explain, with_causes};
use looptax_model::record::{StepCode, SwitchOutcome, SwitchStanding, SwitchStep};
use looptax_switch::{
    Commands, Edited, End, Judged, Kept, Named, Order, Original, Proof, Restart, Step, Switch, SwitchError, Undo,
    Unproved, carry_out, list, open, undo,
};

use super::disk::Held;
use super::trace;
use super::trial::{Ended, Trial};

const WITHIN: Duration = Duration::from_secs(5);
const NAMES: [&str; 2] = ["a.env", "b.env"];

/// The exit codes of the process of a phase.
mod code {
    /// The new files are in place; after an undo, the old files.
    pub(super) const DONE: i32 = 0;
    pub(super) const PUT_BACK: i32 = 1;
    /// The switch failed, and reports that nothing was changed.
    pub(super) const UNCHANGED: i32 = 2;
    pub(super) const FAILED: i32 = 3;
    /// The switch failed, and reports that the old files were not restored.
    pub(super) const NOT_PUT_BACK: i32 = 4;
    pub(super) const NOTHING_TO_DO: i32 = 5;
}

#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is so or not, by itself")]
pub(super) struct Switching {
    /// Whether the proof fails, so that the old files are restored.
    pub(super) fails: bool,
    /// Whether the switch creates the second file and its folder.
    pub(super) makes: bool,
    /// Whether the next start finishes the interrupted switch instead of undoing it.
    pub(super) finishes: bool,
    /// Whether errors are printed.
    pub(super) is_told: bool,
}

struct Judge {
    fails: bool,
}

impl Proof for Judge {
    fn moving(&mut self) -> Step {
        Step::Moving { connections: Vec::new(), stack: None, server: None }
    }

    fn look(&mut self) {}

    fn judge(&mut self, _: bool, _: bool) -> Option<Judged> {
        let why = "as the trial wants it".to_owned();
        Some(if self.fails {
            Judged::Fails(SwitchStep { code: StepCode::NothingConnected, words: why })
        } else {
            Judged::Unseen(why)
        })
    }

    fn works_again(&mut self) -> Option<String> {
        Some("it works".to_owned())
    }
}

/// The state of a single file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Old,
    New,
}

impl Switching {
    /// How many of the switches in [`Self::all`] have two existing files; these come first.
    pub(super) const N_OF_TWO_FILES: usize = 4;

    pub(super) fn all() -> Vec<Self> {
        let pair = [false, true];
        let all = pair.iter().flat_map(|makes| pair.iter().map(move |fails| (*makes, *fails)));
        let all = all.flat_map(|(makes, fails)| pair.map(|finishes| Self { fails, makes, finishes, is_told: false }));
        all.collect()
    }

    fn kept(root: &Path) -> Kept {
        Kept::in_data_folder(&root.join("data"))
    }

    /// Returns the files, with the state of each before and after the switch.
    fn files(self, root: &Path) -> Vec<(PathBuf, Option<Held>, Held)> {
        let owner = if rustix::process::geteuid().is_root() {
            [33, 33]
        } else {
            [rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()]
        };
        let held = |name: &str, host: &str, note: Option<&[u8]>| Held {
            bytes: format!("# {name}\nHOST={host}\nNAME=shop\n").into_bytes(),
            mode: 0o640,
            owner,
            note: note.map(<[u8]>::to_vec),
        };
        let edited = |name: &str| {
            let [old, new] = ["127.0.0.1", "/run/server.sock"].map(|host| held(name, host, Some(b"mine")));
            (root.join("app").join(name), Some(old), new)
        };
        let second = if self.makes {
            (root.join("app/unit.d/50.conf"), None, held("made", "/run/server.sock", None))
        } else {
            edited(NAMES[1])
        };
        vec![edited(NAMES[0]), second]
    }

    fn edited(self, root: &Path) -> Result<Vec<Edited>, SwitchError> {
        let mut all: Vec<Edited> = Vec::new();
        for (path, old, new) in self.files(root) {
            let original = match (&old, all.first()) {
                (None, Some(like)) => Original::absent(&path, &like.original)?,
                _ => Original::read(&path)?,
            };
            all.push(Edited { original, new: new.bytes });
        }
        Ok(all)
    }

    fn switch(self, root: &Path) -> i32 {
        let Ok(edited) = self.edited(root) else {
            return code::UNCHANGED;
        };
        let (kept, commands) = (Self::kept(root), Commands::default());
        let order = Order {
            kept: &kept,
            named: Named { day: "20261128", at: "2026-11-28T12:00:00Z", title: "two files" },
            edited: &edited,
            commands: &commands,
            page: None,
            bursts: &[],
            by_hand: None,
            within: WITHIN,
            unproved: Unproved::Stays,
            stop: &AtomicBool::new(false),
        };
        let mut is_left = false;
        let mut tell = |step: SwitchStep| is_left |= step.code == StepCode::FilesNotPutBack;
        let carried = carry_out(&order, &mut Judge { fails: self.fails }, &mut tell);
        match carried.map(|it| it.outcome) {
            Ok(SwitchOutcome::PutBack) => code::PUT_BACK,
            Ok(_) => code::DONE,
            Err(error) => {
                self.say(&error);
                match error.hint() {
                    _ if is_left || matches!(error, SwitchError::NotBack { .. }) => code::NOT_PUT_BACK,
                    Some(hint) if hint.starts_with("nothing was") => code::UNCHANGED,
                    _ => code::FAILED,
                }
            }
        }
    }

    /// Does the same as a user with `--undo last`, or `--finish`.
    fn next_start(self, root: &Path) -> i32 {
        let kept = Self::kept(root);
        let Ok((known, _)) = list(&kept) else {
            return code::FAILED;
        };
        let is_begun = |it: &&Switch| it.standing != SwitchStanding::Planned;
        let Some(last) = known.iter().rfind(is_begun) else {
            return code::NOTHING_TO_DO;
        };
        let done = match last.standing {
            SwitchStanding::Undone | SwitchStanding::PutBack => return code::NOTHING_TO_DO,
            SwitchStanding::Interrupted if self.finishes => finish(&kept, &last.id),
            _ if self.finishes => return code::NOTHING_TO_DO,
            _ => take_back(&kept, &last.id),
        };
        match done {
            Ok(()) => code::DONE,
            Err(error) => {
                if self.is_told {
                    eprintln!("   {error:#}");
                }
                code::FAILED
            }
        }
    }

    fn say(self, error: &SwitchError) {
        if self.is_told {
            eprintln!("   {}", with_causes(error));
        }
    }

    /// Returns for each file whether it is old or new, and messages about files in an intermediate state.
    fn look(self, root: &Path) -> Result<(Vec<Is>, Vec<String>)> {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for (path, old, new) in self.files(root) {
            let now = if path.exists() { Some(Held::read(&path)?) } else { None };
            match now {
                now if now == old => all.push(Is::Old),
                Some(now) if now == new => all.push(Is::New),
                now => wrong.push(format!("{} is neither old nor new: {now:?}", path.display())),
            }
        }
        Ok((all, wrong))
    }
}

fn finish(kept: &Kept, id: &str) -> Result<()> {
    let mut work = open(kept, id)?;
    work.finish()?;
    Ok(work.end(End::Unproved)?)
}

fn take_back(kept: &Kept, id: &str) -> Result<()> {
    let order = Undo { reload: None, restart: Restart::NotAgreed, admin: None, within: WITHIN };
    undo(open(kept, id)?, &order, &mut |_| {}).map_err(|error| anyhow::anyhow!(with_causes(&error)))
}

impl Trial for Switching {
    fn words(&self) -> String {
        let second = if self.makes { "one made" } else { "two files" };
        let first = if self.fails { "put back" } else { "stays" };
        let next = if self.finishes { "finish" } else { "undo" };
        format!("switch of {second}, {first}, then {next}")
    }

    fn lay_down(&self, root: &Path) -> Result<()> {
        fs::create_dir(root.join("app"))?;
        for (path, old, _) in self.files(root) {
            old.map_or(Ok(()), |it| it.lay_down(&path))?;
        }
        Ok(())
    }

    fn n_phases(&self) -> usize {
        2
    }

    fn work(&self, root: &Path, phase: usize) -> i32 {
        if phase == 0 { self.switch(root) } else { self.next_start(root) }
    }

    fn judge(&self, root: &Path, phase: usize, ended: &Ended) -> Result<Vec<String>> {
        let (found, mut wrong) = self.look(root)?;
        let is_all = |what: Is| found.iter().all(|it| *it == what);
        let (known, unread) = list(&Self::kept(root))?;
        wrong.extend(unread.iter().map(|it| format!("cannot read a journal: {}", with_causes(it))));
        let standing = known.last().map(|it| it.standing);
        let fits = match standing {
            None | Some(SwitchStanding::Planned | SwitchStanding::PutBack | SwitchStanding::Undone) => is_all(Is::Old),
            // An undo is complete even if its journal could not record it. The journal then still reports the switch as
            // moved.
            Some(SwitchStanding::Moved | SwitchStanding::Unproved) => is_all(Is::New) || phase > 0 && is_all(Is::Old),
            Some(SwitchStanding::Interrupted) => true,
            Some(_) => false,
        };
        if !fits {
            wrong.push(format!("the files are {found:?}, and the next start finds {standing:?}"));
        }
        let is_as_said = match (&ended.end, phase) {
            (trace::End::Killed, _) if ended.is_killed => true,
            (trace::End::Exited(code::DONE), 0) => is_all(Is::New),
            (trace::End::Exited(code::PUT_BACK | code::UNCHANGED), 0) => is_all(Is::Old),
            (trace::End::Exited(code::FAILED), 0) => is_all(Is::Old) || ended.n_faults > 1,
            (trace::End::Exited(code::DONE), _) => is_all(if self.finishes { Is::New } else { Is::Old }),
            (trace::End::Exited(code), _) => {
                matches!((*code, phase), (code::NOT_PUT_BACK, 0) | (code::FAILED | code::NOTHING_TO_DO, 1))
            }
            _ => false,
        };
        if !is_as_said {
            wrong.push(format!("the files are {found:?}, and phase {phase} ended with {:?}", ended.end));
        }
        Ok(wrong)
    }

    /// Starts looptax again without a fault: the existing switch must be undone, and nothing must be left; then another
    /// switch must work.
    fn settle(&self, root: &Path, _: &[Ended]) -> Result<Vec<String>> {
        let kept = Self::kept(root);
        let back = |wrong: &mut Vec<String>| -> Result<()> {
            let (known, _) = list(&kept)?;
            let stands = |it: &&Switch| {
                use SwitchStanding::{Planned, PutBack, Undone};
                !matches!(it.standing, Planned | PutBack | Undone)
            };
            for switch in known.iter().rev().filter(stands) {
                if let Err(error) = take_back(&kept, &switch.id) {
                    wrong.push(format!("cannot undo it: {error:#}"));
                }
            }
            let (found, between) = self.look(root)?;
            wrong.extend(between);
            if found.contains(&Is::New) {
                wrong.push(format!("the files are {found:?} after the undo"));
            }
            Ok(())
        };
        let mut wrong = Vec::new();
        back(&mut wrong)?;
        if !wrong.is_empty() {
            return Ok(wrong);
        }
        let again = Self { fails: false, ..*self };
        if again.switch(root) != code::DONE {
            wrong.push("the next switch does not work".to_owned());
        }
        back(&mut wrong)?;
        let before = if self.makes { &NAMES[..1] } else { &NAMES[..] };
        let beside = names(&root.join("app"))?;
        if beside.iter().ne(before) {
            wrong.push(format!("after the undo there are {beside:?}"));
        }
        let listed: BTreeSet<String> = list(&kept)?.0.into_iter().map(|it| it.id).collect();
        let left = names(&root.join("data/switches"))?.into_iter().filter(|it| it != "lock" && !listed.contains(it));
        let left: Vec<String> = left.collect();
        if !left.is_empty() {
            wrong.push(format!("what no start lists is left for good: {left:?}"));
        }
        Ok(wrong)
    }
}

/// Returns the names in a folder, sorted.
pub(super) fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let Ok(name) = entry?.file_name().into_string() else {
            bail!("a name that is not UTF-8 in {}", folder.display());
        };
        names.insert(name);
    }
    Ok(names)
}
