//! Pages of artificial and of real records, for the browser tests, the screenshots and the figures in docs/src/results.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use looptax_model::record::Record;
use tempfile::TempDir;

use super::big;
use super::folder::folder;
use super::why::with_why;
use crate::process;
use crate::workspace::{self, root, run_to_success};

/// Epochs per pair of arms in the sweep that is measured.
const EPOCHS: usize = 120;
/// Epochs per pair of arms that make a record of 200 MB.
const EPOCHS_OF_200_MB: usize = 1_760;
/// Number of call chains on the page for viewing, and in the largest record.
const CHAINS: usize = 50;
const MOST_CHAINS: usize = 20_000;

/// Makes a folder with pages for the browser tests: real, sweep, few and many call chains, hostile, several records.
pub(super) fn pages() -> Result<TempDir> {
    let looptax = workspace::debug_looptax()?;
    let scratch = tempfile::tempdir().context("cannot make a scratch folder")?;
    let folder = scratch.path();
    let real = real(&looptax, folder)?;
    save(&big::sweep(&real, 12), folder, "sweep")?;
    let why = with_why(&real, CHAINS);
    save(&why, folder, "why")?;
    save(&with_why(&real, MOST_CHAINS), folder, "chains")?;
    save(&big::hostile(big::sweep(&why, 6)), folder, "hostile")?;
    for name in ["sweep", "why", "chains", "hostile"] {
        let (record, html) = (format!("{name}.json"), format!("{name}.html"));
        page(&looptax, folder, &[&record], &html)?;
    }
    page(&looptax, folder, &["real.json", "hostile.json"], "several.html")?;
    Ok(scratch)
}

/// Prints time and memory of `show --html`, and the time until the charts are drawn.
pub(super) fn run() -> Result<()> {
    let looptax = workspace::looptax()?;
    let scratch = tempfile::tempdir().context("cannot make a scratch folder")?;
    let folder = scratch.path();
    let real = real(&looptax, folder)?;
    for (name, n_epochs) in [("sweep", EPOCHS), ("large", EPOCHS_OF_200_MB)] {
        let bytes = save(&big::sweep(&real, n_epochs), folder, name)?;
        let mut command = Command::new(&looptax);
        let (record, html) = (format!("{name}.json"), format!("{name}.html"));
        command.args(["show", "-q", &record, "--html", &html]).current_dir(folder);
        let start = Instant::now();
        let ended = process::run(command)?;
        println!(
            "11 points, 3 arms, {n_epochs} epochs of 8 slices per pair: record {:.1} MB, page {:.1} MB in {:.2} s, \
             memory {:.0} MB",
            bytes as f64 / 1e6,
            fs::metadata(folder.join(&html))?.len() as f64 / 1e6,
            start.elapsed().as_secs_f64(),
            ended.used.peak_bytes.unwrap_or(0) as f64 / 1e6,
        );
    }
    save(&with_why(&real, MOST_CHAINS), folder, "chains")?;
    page(&looptax, folder, &["chains.json"], "chains.html")?;
    for html in ["sweep.html", "large.html", "chains.html"] {
        let mut command = Command::new("node");
        command.args(["test/opens.mjs"]).arg(folder.join(html));
        run_to_success(command.current_dir(super::folder()?))?;
    }
    Ok(())
}

/// Takes the screenshot of a record's page that the README and the book show.
pub(super) fn screenshots(record: &Path) -> Result<()> {
    let looptax = workspace::debug_looptax()?;
    let scratch = tempfile::tempdir().context("cannot make a scratch folder")?;
    let html = scratch.path().join("report.html");
    let mut command = Command::new(&looptax);
    run_to_success(command.arg("show").arg(record).arg("--html").arg(&html))?;
    let mut command = Command::new("node");
    command.arg("test/screenshot.mjs").arg(&html).arg(root()?.join("docs/src/images/report.png"));
    run_to_success(command.current_dir(folder()?))
}

/// Makes a record on this machine, and its page: `real.json` and `real.html`.
fn real(looptax: &Path, folder: &Path) -> Result<Record> {
    let words = "compare echo -c 1,4 --placement same --fixed 10 -q -o real.json --html real.html";
    let mut command = Command::new(looptax);
    run_to_success(command.args(words.split(' ')).current_dir(folder))?;
    let text = fs::read(folder.join("real.json"))?;
    serde_json::from_slice(&text).context("looptax wrote no record")
}

fn save(record: &Record, folder: &Path, name: &str) -> Result<u64> {
    let text = serde_json::to_vec(record)?;
    let path = folder.join(format!("{name}.json"));
    fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(text.len() as u64)
}

fn page(looptax: &Path, folder: &Path, records: &[&str], html: &str) -> Result<()> {
    let mut command = Command::new(looptax);
    command.args(["show", "-q"]).args(records).args(["--html", html]);
    run_to_success(command.current_dir(folder))
}
