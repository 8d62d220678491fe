//! Reports of two runs pass through a spool to a collector that is a folder. Each report that was kept must arrive,
//! complete and once.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use looptax_fleet::{Access, Batch, Collector, Destination, Kind, Spool, TABLES, Value, from_lines};

use super::switch::names;
use super::trace;
use super::trial::{Ended, Trial};

#[derive(Debug, Clone, Copy)]
pub(super) struct Spooling {
    /// Whether errors are printed.
    pub(super) is_told: bool,
}

fn batch(phase: usize) -> Batch {
    let report_id = format!("{:032x}", phase + 1);
    let [.., reports] = TABLES;
    let value = |kind: Kind| match kind {
        Kind::Word | Kind::Text => Value::Text(String::new()),
        Kind::Count => Value::Count(0),
        Kind::Number => Value::Number(None),
        Kind::Flag => Value::Flag(false),
        Kind::Time => Value::Time(1_795_000_000_000),
    };
    let values = reports.columns.iter().map(|it| match it.name {
        "report_id" | "host_id" => Value::Text(report_id.clone()),
        _ => value(it.kind),
    });
    Batch { rows: [Vec::new(), Vec::new(), vec![values.collect()]], report_id: report_id.clone() }
}

fn spool(root: &Path) -> (Spool, PathBuf) {
    let collector = root.join("collector");
    (Spool::new(&root.join("spool"), &collector.display().to_string()), collector)
}

/// Sends the waiting reports as `fleet send` does.
fn send(root: &Path) -> Result<()> {
    let (spool, collector) = spool(root);
    let destination = Destination::parse(&collector.display().to_string()).ok().context("a folder")?;
    let mut collector = Collector::open(&destination, &Access::default())?;
    for path in spool.waiting()? {
        if let Some(waiting) = spool.read(&path)? {
            collector.send(&[waiting.batch])?;
            spool.remove(&path)?;
        }
    }
    Ok(())
}

impl Trial for Spooling {
    fn words(&self) -> String {
        "two reports through a spool".to_owned()
    }

    fn lay_down(&self, root: &Path) -> Result<()> {
        Ok(fs::create_dir(root.join("collector"))?)
    }

    fn n_phases(&self) -> usize {
        2
    }

    fn work(&self, root: &Path, phase: usize) -> i32 {
        let (spool, _) = spool(root);
        let done = spool.make().and_then(|()| spool.keep(&batch(phase))).map_err(anyhow::Error::from);
        if done.is_ok() {
            // This empty write shows the tracer that the report is kept.
            let _said = nix::unistd::write(std::io::stdout(), b"");
        }
        match done.and_then(|()| send(root)) {
            Ok(()) => 0,
            Err(error) => {
                if self.is_told {
                    eprintln!("   {error:#}");
                }
                1
            }
        }
    }

    fn judge(&self, root: &Path, phase: usize, ended: &Ended) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let is_fine = matches!(ended.end, trace::End::Exited(0 | 1)) || ended.is_killed;
        if !is_fine {
            wrong.push(format!("phase {phase} ended with {:?}", ended.end));
        }
        let collector = root.join("collector");
        let paths = names(&collector)?.into_iter().map(|it| collector.join(it));
        for path in paths.filter(|it| it.extension().is_some_and(|it| it == "jsonl")) {
            if from_lines(&fs::read_to_string(&path)?).is_err() {
                wrong.push(format!("{} arrived only in part", path.display()));
            }
        }
        Ok(wrong)
    }

    fn settle(&self, root: &Path, ended: &[Ended]) -> Result<Vec<String>> {
        let (spool, collector) = spool(root);
        let mut wrong = Vec::new();
        if let Err(error) = spool.make().map_err(anyhow::Error::from).and_then(|()| send(root)) {
            wrong.push(format!("the next run does not send: {error:#}"));
        }
        let (arrived, left) = (names(&collector)?, names(&root.join("spool"))?);
        for (phase, _) in ended.iter().enumerate().filter(|(_, it)| it.n_said > 0) {
            let wanted = format!("{}.jsonl", batch(phase).report_id);
            if !arrived.contains(&wanted) {
                wrong.push(format!("the report of phase {phase} was kept but is lost: {arrived:?}"));
            }
        }
        let known = [0, 1].map(|phase| format!("{}.jsonl", batch(phase).report_id));
        let strange: Vec<&String> = arrived.iter().filter(|it| !known.contains(it)).chain(&left).collect();
        if !strange.is_empty() {
            wrong.push(format!("left for good: {strange:?}"));
        }
        Ok(wrong)
    }
}
