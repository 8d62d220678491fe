//! `help`: prints a command's options with their long texts, or a topic.

use clap::{Command, CommandFactory};
use looptax_model::failure::Failure;

use crate::args::{Cli, HelpArgs, help};
use crate::failure::Exit;
use crate::terminal;

/// Options of `compare` that choose the servers to measure and how looptax may use them.
const OF_TARGETS: &[&str] = &[
    "targets",
    "arms",
    "baseline",
    "from_namespace",
    "socket",
    "trusts_peer",
    "rows",
    "pool_mode",
    "write",
    "own_server",
    "yes",
];
/// Options of `compare` that choose what looptax does with the result.
const OF_FORMATS: &[&str] = &[
    "json",
    "json_stream",
    "html",
    "output",
    "md",
    "csv",
    "openmetrics",
    "benchmark_json",
    "folded",
    "pprof",
    "verbose",
    "at",
    "label",
    "no_history",
];

/// A topic: options that several commands share, with the help texts of `compare`.
struct Topic {
    name: &'static str,
    text: &'static str,
    is_wanted: fn(&str) -> bool,
}

const TOPICS: [Topic; 3] = [
    Topic {
        name: "measuring",
        text: "`compare`, `why` and a bare `looptax` measure one transport at a time, in short slices and a random \
               order,\nwith fresh connections in each epoch (a group of slices). Every figure has an interval. Options \
               of `compare`:",
        is_wanted: |id| !OF_TARGETS.contains(&id) && !OF_FORMATS.contains(&id),
    },
    Topic {
        name: "targets",
        text: "Targets of a measurement. private:KIND is a private copy of an installed server, started in a \
            scratch folder and\nremoved afterwards. echo needs no server. A URL is a running server: looptax only \
            reads from that server, unless\nyou pass --write. Options of `compare`:",
        is_wanted: |id| OF_TARGETS.contains(&id),
    },
    Topic {
        name: "formats",
        text: "Every command that measures has these options for its result, and `show RUN` has most of them:",
        is_wanted: |id| OF_FORMATS.contains(&id),
    },
];

pub(crate) fn run(args: &HelpArgs) -> Result<Exit, Failure> {
    let text = match &*args.words {
        [] => help::listed(grouped(), "").render_help().to_string(),
        [word] => match TOPICS.iter().find(|it| it.name == word) {
            Some(topic) => topic.render()?,
            None => of_command(&args.words)?,
        },
        words => of_command(words)?,
    };
    terminal::data(&text)?;
    Ok(Exit::Done)
}

fn grouped() -> Command {
    help::grouped(Cli::command())
}

/// Returns the help of a command with the long texts of its options.
fn of_command(words: &[String]) -> Result<String, Failure> {
    let mut command = grouped();
    command.build();
    let mut found = &mut command;
    for word in words {
        found = found.find_subcommand_mut(word).ok_or_else(|| {
            let topics = TOPICS.map(|it| it.name).join(", ");
            let hint = format!("`looptax --help` lists the commands; the topics are {topics}");
            Failure::usage(format!("there is no command or topic `{word}`"), hint)
        })?;
    }
    Ok(found.render_long_help().to_string())
}

impl Topic {
    fn render(&self) -> Result<String, Failure> {
        let command = grouped();
        let compare = command.find_subcommand("compare").cloned();
        let compare = compare.ok_or_else(|| Failure::new("there is no `compare`"))?;
        let has_targets = (self.is_wanted)("targets");
        let template = if has_targets { "{positionals}\n\n{options}" } else { "{options}" };
        let mut shown: Command = compare
            .disable_help_flag(true)
            .help_template(template)
            .mut_args(|it| if (self.is_wanted)(it.get_id().as_str()) { it } else { it.hide(true) });
        Ok(format!("{}\n\n{}\n", self.text, shown.render_long_help().to_string().trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut in_groups: Vec<&str> = help::GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Cli::command();
        let mut all: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        in_groups.sort_unstable();
        all.sort_unstable();
        assert_eq!(in_groups, all);
    }

    #[test]
    fn the_command_line_is_consistent_in_every_shape() {
        grouped().debug_assert();
        help::listed(grouped(), "").debug_assert();
    }

    #[test]
    fn the_topics_name_options_that_there_are() {
        let command = grouped();
        let compare = command.find_subcommand("compare").unwrap();
        for id in OF_TARGETS.iter().chain(OF_FORMATS) {
            assert!(compare.get_arguments().any(|it| it.get_id() == *id), "{id}");
        }
    }
}
