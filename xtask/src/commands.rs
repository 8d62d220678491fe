//! `cargo xtask docs --run`: tries the commands in README and book.
//!
//! Above each block of commands is a comment, which readers of the page do not see:
//!
//! - `<!-- run -->`: each line is run in a scratch folder of the block, and has to end with code 0;
//!   `<!-- run: 1 -->` names another code, or several codes;
//! - `<!-- run for minutes -->`: the same, but only with `--long`, and in a separate terminal;
//! - `<!-- arguments -->`: the command needs something that only the reader has, so only its arguments are tried;
//! - `<!-- tried by … -->`: another test tries the block, and the comment says which.
//!
//! A block without one of these is a finding.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::workspace::{fail_on, root};

/// Words with which commands begin.
const PROGRAMS: [&str; 10] =
    ["LOOPTAX_PASSWORD=…", "cargo", "curl", "docker", "gh", "looptax", "make", "podman", "sha256sum", "sudo"];
const LIMIT: &str = "30m";

#[derive(Clone, Debug, PartialEq)]
enum Mark {
    /// The lines are run, and may end with these codes.
    Run {
        codes: Vec<i32>,
        takes_minutes: bool,
    },
    Arguments,
    Elsewhere,
}

#[derive(Debug, PartialEq)]
struct Block {
    mark: Option<Mark>,
    lines: Vec<String>,
}

/// Runs the marked blocks, one line at a time, and continues after a failure. All failures are reported at the end.
pub(crate) fn run(looptax: &Path, is_long: bool) -> Result<()> {
    let root = root()?;
    let mut pages = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs/src"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let mut found = Vec::new();
    for page in &pages {
        let name = page.strip_prefix(&root).unwrap_or(page).display();
        for block in blocks(&fs::read_to_string(page)?) {
            for objection in try_block(looptax, &block, is_long)? {
                found.push(format!("{name}: {objection}"));
            }
        }
    }
    fail_on(&found)
}

fn try_block(looptax: &Path, block: &Block, is_long: bool) -> Result<Vec<String>> {
    let Some(mark) = &block.mark else {
        return Ok(vec![format!("no mark above: {}", block.lines.join(" / "))]);
    };
    let (codes, lines): (&[i32], Vec<String>) = match mark {
        Mark::Elsewhere => return Ok(Vec::new()),
        Mark::Run { takes_minutes, .. } if *takes_minutes && !is_long => return Ok(Vec::new()),
        Mark::Run { codes, .. } => (codes, block.lines.clone()),
        Mark::Arguments => (&[0], block.lines.iter().map(|it| asking_help(it)).collect()),
    };
    let scratch = tempfile::tempdir().context("cannot make a scratch folder")?;
    let mut found = Vec::new();
    for line in lines {
        let start = Instant::now();
        let in_terminal = matches!(mark, Mark::Run { takes_minutes: true, .. });
        let output = shell(looptax, scratch.path(), &line, in_terminal)?.output()?;
        let seconds = start.elapsed().as_secs_f64();
        let code = output.status.code().unwrap_or(-1);
        println!("{code:3}  {seconds:6.1} s  {line}");
        if !codes.contains(&code) {
            let words = if in_terminal { &output.stdout } else { &output.stderr };
            let words = String::from_utf8_lossy(words);
            found.push(format!("`{line}` ended with {code}, not {codes:?}:\n{words}"));
        }
    }
    Ok(found)
}

/// Returns a shell in a scratch folder, which is also its home folder. This looptax comes first on PATH, and there is
/// no input.
fn shell(looptax: &Path, scratch: &Path, line: &str, in_terminal: bool) -> Result<Command> {
    let folder = looptax.parent().context("a program lies in a folder")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10s", LIMIT]);
    if in_terminal {
        command.args(["script", "--quiet", "--return", "--command", line, "/dev/null"]);
    } else {
        command.args(["bash", "-c", line]);
    }
    command
        .env("SHELL", "/bin/bash")
        .current_dir(scratch)
        .env("PATH", std::env::join_paths(folders)?)
        .env("HOME", scratch)
        .stdin(Stdio::null());
    for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    Ok(command)
}

/// Returns the command with `--help` after looptax's own arguments, so that looptax parses these first; remarks are
/// removed.
fn asking_help(line: &str) -> String {
    // In a list of commands, a wide gap separates each command from its description.
    let command = line.split(" #").next().unwrap_or(line);
    let command = command.split("  ").next().unwrap_or(line);
    let words = command.split(' ').filter(|word| !word.starts_with('['));
    let words: Vec<&str> = words.collect();
    let own = words.iter().position(|it| *it == "--");
    let own = own.unwrap_or(words.len());
    format!("{} --help", words[..own].join(" "))
}

/// Returns the blocks of commands of a page, each with the comment above it.
fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut mark = None;
    let mut code: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Html(html) => mark = read_mark(&html).or(mark),
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            Event::Start(Tag::CodeBlock(kind)) => {
                let is_output = matches!(kind, CodeBlockKind::Fenced(it) if !matches!(&*it, "" | "sh"));
                code = (!is_output).then(String::new);
            }
            Event::Text(words) if code.is_some() => code.get_or_insert_default().push_str(&words),
            Event::End(TagEnd::CodeBlock) => {
                let lines = commands(&code.take().unwrap_or_default());
                if !lines.is_empty() {
                    found.push(Block { mark: mark.take(), lines });
                }
            }
            _ => mark = None,
        }
    }
    found
}

fn commands(code: &str) -> Vec<String> {
    let is_command = |line: &&str| PROGRAMS.contains(&line.split(' ').next().unwrap_or_default());
    let lines = code.lines().filter(is_command).map(str::to_owned);
    lines.collect()
}

/// Parses a comment about the block below it; `None` if it is about something else.
fn read_mark(html: &str) -> Option<Mark> {
    let words = html.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    if words.starts_with("tried by ") {
        return Some(Mark::Elsewhere);
    }
    let is_number = |it: &str| it.parse().ok();
    match words {
        "arguments" => Some(Mark::Arguments),
        "run" | "run for minutes" => Some(Mark::Run { codes: vec![0], takes_minutes: words != "run" }),
        _ => Some(Mark::Run {
            codes: { words.strip_prefix("run: ")?.split(' ') }.map(is_number).collect::<Option<_>>()?,
            takes_minutes: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(codes: &[i32]) -> Mark {
        Mark::Run { codes: codes.to_vec(), takes_minutes: false }
    }

    #[test]
    fn a_mark_belongs_to_the_next_block_alone() {
        let page = "<!-- run: 0 3 -->\n\n    looptax find   # words\n    here  it says\n\n    $ output\n\ntext\n\n    make test\n\n\
                    <!-- run -->\n\ntext between\n\n```sh\nlooptax\n```\n\n```text\nlooptax\n```\n";
        let found = blocks(page);
        let block = |mark, line: &str| Block { mark, lines: vec![line.to_owned()] };
        let expected =
            [block(Some(runs(&[0, 3])), "looptax find   # words"), block(None, "make test"), block(None, "looptax")];
        assert_eq!(found, expected);
    }

    #[test]
    fn help_is_asked_for_after_looptaxs_own_arguments() {
        for (line, expected) in [
            ("looptax compare [TARGET…]     compare", "looptax compare --help"),
            ("looptax run --port 3306 -- php -v  # x", "looptax run --port 3306 --help"),
            ("looptax find # x", "looptax find --help"),
            ("looptax", "looptax --help"),
        ] {
            assert_eq!(asking_help(line), expected);
        }
    }

    #[test]
    fn a_failing_command_is_told_with_its_code_and_a_block_without_mark_too() {
        let look = |line: &str, mark| {
            let block = Block { mark, lines: vec![line.to_owned()] };
            try_block(Path::new("/nonexistent/looptax"), &block, false).expect("a shell starts")
        };
        assert!(look("exit 3", Some(runs(&[0])))[0].contains("ended with 3"));
        assert!(look("exit 3", Some(runs(&[0, 3]))).is_empty());
        assert!(look("true", None)[0].contains("no mark"));
        assert!(look("false", Some(Mark::Elsewhere)).is_empty());
    }
}
