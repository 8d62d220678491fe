//! What looptax starts or asks of itself: the reaper, the echo server, its own documentation.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use looptax_diagnose::check::reach::{self, ReachRequest};
use looptax_failure::Failure;
use looptax_record::{Checked, Found, NoteCode, PointCode, Selfcheck, Spelling, schema_of};
use looptax_servers::{echo, publish, reaper};
use serde::Serialize;

use crate::args::{Cli, EXIT_CODES, InternalCommand, SavedForm};
use crate::failure::Exit;
use crate::terminal;

/// Runs an internal command.
pub(crate) fn run(command: &InternalCommand) -> Result<Exit, Failure> {
    match command {
        InternalCommand::Reaper => Ok(if reaper::child_main() == 0 {
            Exit::Done
        } else {
            Exit::Environment
        }),
        InternalCommand::EchoServer {
            socket,
            abstract_name,
            tcp,
            one_thread,
        } => {
            let config = echo::Config {
                socket: socket.clone(),
                abstract_name: abstract_name.clone(),
                tcp: tcp.clone(),
                is_one_thread: *one_thread,
            };
            match echo::serve(&config)? {}
        }
        InternalCommand::PortProxy { on, to } => {
            match publish::serve(&publish::listen(*on)?, *to)? {}
        }
        InternalCommand::CliDocs { folder } => write_docs(folder).map(|()| Exit::Done),
        InternalCommand::Schema { form } => {
            let schema = match form {
                SavedForm::Record => looptax_record::schema(),
                SavedForm::Replay => looptax_record::replay_schema(),
                SavedForm::Found => schema_of::<Found>(),
                SavedForm::Check => schema_of::<Checked>(),
                SavedForm::Dsn => schema_of::<Vec<Spelling>>(),
                SavedForm::Selfcheck => schema_of::<Selfcheck>(),
            };
            terminal::json(&schema)?;
            Ok(Exit::Done)
        }
        InternalCommand::Reach(args) => {
            let answer = serde_json::to_string(&reach::child(&ReachRequest {
                socket: args.socket.clone(),
                view: args.view,
                uid: args.uid,
                gid: args.gid,
                groups: args.groups.clone(),
            }))
            .map_err(io::Error::from)?;
            terminal::data(&answer)?;
            Ok(Exit::Done)
        }
    }
}

fn write_docs(folder: &Path) -> Result<(), Failure> {
    let [book, man, completions] = ["src", "man", "completions"].map(|part| folder.join(part));
    for folder in [&book, &man, &completions] {
        fs::create_dir_all(folder)?;
    }
    let mut command = Cli::command();
    command.build();
    fs::File::create(book.join("cli.md"))?.write_all(reference(&command).as_bytes())?;
    fs::File::create(book.join("codes.md"))?.write_all(codes()?.as_bytes())?;
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    fs::File::create(man.join("looptax.1"))?.write_all(&page)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "looptax", &completions)?;
    }
    Ok(())
}

/// Lists every code of the results that are printed as JSON, with its sentence, as one Markdown page.
fn codes() -> Result<String, Failure> {
    let mut page = String::from(
        "# Codes\n\nEach point of `looptax check --json` and each note of `looptax find --json` has a `code` beside its \
         sentence: the sentence is for people and may change, the code is for programs and stays.\n\
         Made from the program's own types by `cargo xtask docs`.\n",
    );
    table(&mut page, "Points of `check`", PointCode::ALL)?;
    table(&mut page, "Notes of `find`", NoteCode::ALL)?;
    Ok(page)
}

/// Adds one kind of codes to the page.
fn table(page: &mut String, title: &str, codes: &[(impl Serialize, &str)]) -> Result<(), Failure> {
    let _ = write!(page, "\n## {title}\n\n| code | meaning |\n|---|---|\n");
    for (code, sentence) in codes {
        let code = serde_json::to_string(code).map_err(io::Error::from)?;
        let _ = writeln!(
            page,
            "| `{}` | {} |",
            code.trim_matches('"'),
            sentence.trim()
        );
    }
    Ok(())
}

/// Renders every command's help, as it is printed, as one Markdown page.
fn reference(command: &clap::Command) -> String {
    let mut page =
        String::from("# Options\n\nMade from the program's own help by `cargo xtask docs`.\n");
    let shown = command
        .get_subcommands()
        .filter(|it| !it.is_hide_set() && it.get_name() != "help");
    for command in std::iter::once(command).chain(shown) {
        let name = command
            .get_bin_name()
            .unwrap_or(command.get_name())
            .to_owned();
        let help = command
            .clone()
            .term_width(100)
            .render_long_help()
            .to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(
            page,
            "\n## `{name}`\n\n```text\n{}\n```\n",
            help.join("\n").trim_end()
        );
    }
    let _ = writeln!(page, "\n{EXIT_CODES}");
    page
}
