//! The levels of help: `-h` shows the main options, `--help` all options with one line each, and `help` all options
//! with their long texts. The list of commands is divided into groups.
//!
//! The doc comment of an option contains both its short help and its long help. `-h` leaves out options with
//! `hide_short_help`.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Args, Command};

/// The commands by their purpose, as `looptax --help` lists them.
pub(crate) const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["compare", "why", "reproduce", "doctor"]),
    ("Who pays", &["find", "watch", "check", "dsn"]),
    ("Move", &["trial", "switch", "run"]),
    ("Results", &["show", "diff", "gate"]),
    ("Many machines and assistants", &["fleet", "mcp"]),
];

/// Options of `help`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HelpArgs {
    /// A command, or one of the topics measuring, targets and formats.
    #[arg(value_name = "COMMAND|TOPIC")]
    pub(crate) words: Vec<String>,
}

/// Adapts the command line parser to the typed words: if `--help` is among them, the help shows every option.
pub(super) fn command(command: Command, words: &[String]) -> Command {
    let is_whole = words.iter().take_while(|it| *it != "--").any(|it| it == "--help");
    let grouped = grouped(command);
    if is_whole { listed(grouped, "") } else { grouped }
}

/// Divides the list of commands in the help into groups.
pub(crate) fn grouped(command: Command) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|it| it.len()).max().unwrap_or_default();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(groups, "{header}{title}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {literal}{name:width$}{literal:#}  {about}");
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Makes the help of a command show every option on one line, for `-h` too; `path` has the words that call the command.
pub(crate) fn listed(command: Command, path: &str) -> Command {
    let mut after: Vec<String> = Vec::new();
    after.extend(command.get_after_help().map(ToString::to_string));
    after.extend(command.get_after_long_help().map(ToString::to_string));
    if !path.is_empty() && command.get_arguments().any(|it| it.get_long_help().is_some()) {
        after.push(format!("`looptax help{path}` explains each option."));
    }
    // With clap's own `--help`, the help would have several lines for each option.
    let help =
        Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Print help").display_order(999);
    let command = command.disable_help_flag(true).mut_args(shown_in_short).arg(help);
    let command = if after.is_empty() { command } else { command.after_help(after.join("\n\n")) };
    command.mut_subcommands(|it| {
        let path = format!("{path} {}", it.get_name());
        listed(it, &path)
    })
}

/// Makes `-h` show an option too.
pub(super) fn shown_in_short(option: Arg) -> Arg {
    option.hide_short_help(false)
}
