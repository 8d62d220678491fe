//! The help texts fit: there are few commands, the lists of options are short, and every long text is in its place.

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::exe;

/// Most lines of `-h`, of `--help`, and of both for `looptax` itself, in 100 columns.
const SHORT: usize = 40;
const WHOLE: usize = 90;
const TOP: usize = 45;
/// Largest number of commands.
const COMMANDS: usize = 16;

fn looptax(words: &[&str]) -> Finished {
    let scratch = Scratch::new();
    Looptax::new(exe(), &scratch).args(words.iter().copied()).env("COLUMNS", "100").run()
}

/// Returns the help of a command that this option prints.
#[track_caller]
fn help(words: &[&str], option: &str, most: usize) -> String {
    let run = looptax(&[words, &[option]].concat());
    run.expect_code(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines.len() <= most, "{words:?} {option} has {} lines, {most} at most:\n{}", lines.len(), run.stdout);
    let wide = lines.iter().find(|it| it.chars().count() > 100);
    assert!(wide.is_none(), "{words:?} {option}: {wide:?}");
    run.stdout
}

/// Returns the commands in a help text: lines with a name and a sentence, below a heading that is not about options or
/// arguments.
fn commands(text: &str) -> Vec<&str> {
    let mut is_list = false;
    let mut names = Vec::new();
    for line in text.lines() {
        if !line.starts_with(' ') && line.ends_with(':') {
            is_list = !["Options:", "Arguments:"].contains(&line);
        } else if let Some(rest) = line.strip_prefix("  ").filter(|it| is_list && !it.starts_with([' ', '-'])) {
            names.extend(rest.split(' ').next());
        }
    }
    names
}

#[test]
fn every_help_is_short_and_there_are_few_commands() {
    let top = help(&[], "-h", SHORT.min(TOP));
    let names = commands(&top);
    assert!(names.len() <= COMMANDS && names.contains(&"compare"), "{names:?}");
    assert_eq!(commands(&help(&[], "--help", TOP)), names);
    for name in names {
        help(&[name], "-h", SHORT);
        let whole = help(&[name], "--help", WHOLE);
        for below in commands(&whole).into_iter().filter(|it| name == "fleet" && *it != "help") {
            help(&[name, below], "-h", SHORT);
            help(&[name, below], "--help", WHOLE);
        }
    }
}

#[test]
fn the_short_help_leaves_options_out_that_the_whole_one_has() {
    let (short, whole) = (help(&["compare"], "-h", SHORT), help(&["compare"], "--help", WHOLE));
    assert!(short.contains("--arms <") && !short.contains("--slice-ms <"), "{short}");
    assert!(whole.contains("--arms <") && whole.contains("--slice-ms <"), "{whole}");
    assert!(whole.contains("`looptax help compare`"), "{whole}");
}

#[test]
fn help_explains_commands_and_topics() {
    for (words, text) in [
        (&["help", "compare"][..], "opened as TCP and moved to the socket"),
        (&["help", "targets"], "opened as TCP and moved to the socket"),
        (&["help", "measuring"], "--slice-ms <"),
        (&["help", "formats"], "--openmetrics <"),
        (&["help", "fleet", "send"], "--anonymous"),
        (&["help"], "Who pays:"),
    ] {
        let run = looptax(words);
        run.expect_code(0);
        assert!(run.words().contains(text), "{words:?}: {}", run.stdout);
    }
    let (targets, formats) = (looptax(&["help", "targets"]).stdout, looptax(&["help", "formats"]).stdout);
    assert!(!targets.contains("--openmetrics") && !formats.contains("--arms"), "{targets}{formats}");
    looptax(&["help", "nothing"]).expect_error(2, &["no command or topic `nothing`", "measuring, targets, formats"]);
}
