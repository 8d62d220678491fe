//! Passes a record to every command that reads one, and records how each command ended.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use looptax_model::record::{PastRun, Record};
use looptax_store::History;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tempfile::TempDir;

use super::originals::Original;

/// Limit of the CPU time of a command, in seconds; a command that computes longer counts as hanging. Other work on the
/// machine does not count.
const MOST_CPU_S: u64 = 10;
/// Time limit of a command; a command that takes longer waits for something.
const PATIENCE: Duration = Duration::from_secs(120);
/// Limit of the memory of a command, in KiB: a command that needs more has used a wrong number from the record.
const MOST_MEMORY_KIB: u64 = 4 << 20;
/// The exit code of a program that panics.
const PANIC: i32 = 101;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Code(i32),
    Signal(Option<i32>),
    Waits,
}

impl Ended {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Code(0) => "answered",
            Self::Code(1) => "said no",
            Self::Code(2) => "refused",
            Self::Code(3) => "not known",
            Self::Code(PANIC) => "panicked",
            Self::Code(_) => "ended with an undocumented exit code",
            Self::Signal(Some(signal)) if signal == Signal::XCPU.as_raw() => "ran for more than 10 s",
            Self::Signal(_) => "ended by a signal",
            Self::Waits => "waits forever",
        }
    }

    fn is_fine(self) -> bool {
        matches!(self, Self::Code(0..=3))
    }
}

pub(super) struct Fate {
    pub(super) ended: Vec<(&'static str, Ended)>,
    /// The violations, one line each.
    pub(super) harm: Vec<String>,
}

impl Fate {
    pub(super) fn is_refused(&self) -> bool {
        self.ended.iter().all(|(_, it)| *it == Ended::Code(2))
    }
}

pub(super) struct Reader {
    looptax: PathBuf,
}

/// A folder with a mutant, a record for comparisons, and a history that contains the mutant.
pub(super) struct Place(TempDir);

impl Place {
    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Reader {
    pub(super) fn new(looptax: PathBuf) -> Result<Self> {
        if !looptax.is_file() {
            bail!("there is no `{}`", looptax.display());
        }
        Ok(Self { looptax })
    }

    #[expect(clippy::unused_self, reason = "a place belongs to its reader")]
    pub(super) fn place(&self) -> Result<Place> {
        Ok(Place(tempfile::tempdir().context("cannot make a folder")?))
    }

    /// Fails unless every command accepts the original record: if a command refuses the original, its mutants would
    /// test nothing.
    pub(super) fn check_sound(&self, original: &Original) -> Result<()> {
        let fate = self.try_mutant(original, &original.text, &self.place()?)?;
        let refused = fate.ended.iter().find(|(_, it)| *it == Ended::Code(2));
        match (refused, fate.harm.first()) {
            (Some((command, _)), _) => bail!("{}: refused by {command}", original.name),
            (None, Some(harm)) => bail!("{}: {harm}", original.name),
            (None, None) => Ok(()),
        }
    }

    /// Passes one record, which was made from `original`, to all commands.
    pub(super) fn try_mutant(&self, original: &Original, text: &str, place: &Place) -> Result<Fate> {
        fs::write(place.file("m.json"), text)?;
        fs::write(place.file("whole.json"), &original.text)?;
        remember(original, place)?;
        let mut all = vec![
            (
                "show",
                "show m.json --verbose --json=out.json --md out.md --csv out.csv --openmetrics out.prom \
                 --benchmark-json out.bench"
                    .to_owned(),
            ),
            ("page", "show m.json --html out.html".to_owned()),
            ("gate", "gate m.json --max-tax 5".to_owned()),
            ("diff", "diff whole.json m.json".to_owned()),
            ("diff from it", "diff m.json whole.json --json".to_owned()),
            ("show by name", format!("show {}", original.id)),
        ];
        if original.is_of_why {
            all.push(("why", "why whole.json m.json".to_owned()));
            let chains = "show m.json --folded out.folded --pprof out.pprof";
            all.push(("call chains", chains.to_owned()));
        }
        if original.is_of_trial {
            all.push(("gate of pages", "gate m.json --max-page-time 5".to_owned()));
        }
        let mut fate = Fate { ended: Vec::new(), harm: Vec::new() };
        for (name, words) in all {
            let (ended, said) = self.run(&words, place)?;
            fate.ended.push((name, ended));
            if !ended.is_fine() {
                fate.harm.push(format!("{name}: {} {said}", ended.word()));
            }
        }
        Ok(fate)
    }

    fn run(&self, words: &str, place: &Place) -> Result<(Ended, String)> {
        let complaints = fs::File::create(place.file("stderr"))?;
        let limited = format!("ulimit -v {MOST_MEMORY_KIB}; ulimit -S -t {MOST_CPU_S}; exec \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limited, "sh"])
            .arg(&self.looptax)
            .args(words.split_whitespace())
            .current_dir(place.0.path())
            .env("XDG_DATA_HOME", place.0.path())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints)
            .spawn()
            .context("cannot start a shell")?;
        let pid = Pid::from_child(&child);
        let fd = pidfd_open(pid, PidfdFlags::empty()).context("cannot watch a command")?;
        let patience = Timespec::try_from(PATIENCE)?;
        let n_ended = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&patience))?;
        if n_ended == 0 {
            kill_process(pid, Signal::KILL)?;
            child.wait()?;
            return Ok((Ended::Waits, String::new()));
        }
        let status = child.wait()?;
        let said = fs::read(place.file("stderr")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let panic = said.lines().skip_while(|it| !it.contains("panicked at"));
        let said = panic.take(2).collect::<Vec<_>>().join(" ");
        let ended = status.code().map_or(Ended::Signal(status.signal()), Ended::Code);
        Ok((ended, said))
    }
}

/// Makes a history in which the original's run has the mutant's path.
fn remember(original: &Original, place: &Place) -> Result<()> {
    let path = place.file("looptax/history.sqlite");
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let record: Record = serde_json::from_str(&original.text)?;
    let mutant = place.file("m.json").display().to_string();
    History::open(&path)?.add(&PastRun::from_record(&record, Some(mutant)))?;
    Ok(())
}
