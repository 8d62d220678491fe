//! The documents that `looptax internal documents` writes: the documentation, and the schemas of saved files.
//!
//! Only `internal` calls this module.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use looptax_fleet::{Column, Kind, SCHEMA_VERSION, TABLES, VIEWS};
use looptax_host::output::make_folder;
use looptax_model::failure::Failure;
use looptax_model::record::{
    Checked, CollectorTables, Contribution, Diff, Direction, Doctor, Fleet, FleetHost, FleetList, FleetMachine,
    FleetMovers, FleetPair, Found, ListedSwitch, NoteCode, PastRun, PointCode, Reason, Reported, Spelling, StepCode,
    StreamLine, Switched, Verdict, WarningCode, Watched, WatchedDiff, schema_of,
};
use looptax_store::{Existing, save_text};
use serde::Serialize;

use crate::args::{Cli, EXIT_CODES, SavedForm, help};
use crate::terminal;

/// Prints the JSON schema of a saved form.
pub(crate) fn print_schema(form: SavedForm) -> Result<(), Failure> {
    Ok(terminal::json(&schema(form))?)
}

fn schema(form: SavedForm) -> serde_json::Value {
    match form {
        SavedForm::Record => looptax_model::record::schema(),
        SavedForm::Reproduce => looptax_model::record::reproduction_schema(),
        SavedForm::Stream => schema_of::<StreamLine>(),
        SavedForm::Runs => schema_of::<Vec<PastRun>>(),
        SavedForm::Diff => schema_of::<Diff>(),
        SavedForm::WatchedDiff => schema_of::<WatchedDiff>(),
        SavedForm::Found => schema_of::<Found>(),
        SavedForm::Watched => schema_of::<Watched>(),
        SavedForm::Check => schema_of::<Checked>(),
        SavedForm::Switch => schema_of::<Switched>(),
        SavedForm::Switches => schema_of::<Vec<ListedSwitch>>(),
        SavedForm::Dsn => schema_of::<Vec<Spelling>>(),
        SavedForm::Doctor => schema_of::<Doctor>(),
        SavedForm::FleetSend => schema_of::<Reported>(),
        SavedForm::FleetInit => schema_of::<CollectorTables>(),
        SavedForm::Contribution => schema_of::<Contribution>(),
        SavedForm::ReportLine => looptax_fleet::line_schema(),
        SavedForm::Fleet => schema_of::<Fleet>(),
        SavedForm::FleetHosts => schema_of::<FleetList<FleetHost>>(),
        SavedForm::FleetPrograms => schema_of::<FleetList<FleetPair>>(),
        SavedForm::FleetChanges => schema_of::<FleetMovers>(),
        SavedForm::FleetHost => schema_of::<Vec<FleetMachine>>(),
    }
}

/// Writes the option reference, the codes, the man pages, the completions and the schemas.
pub(crate) fn write(folder: &Path) -> Result<(), Failure> {
    let [book, man, completions] = ["src", "man", "completions"].map(|part| folder.join(part));
    for folder in [&book, &man, &completions] {
        make_folder(folder)?;
    }
    let mut command = help::grouped(Cli::command());
    command.build();
    save_text(&reference(&command), &book.join("cli.md"), Existing::Replace)?;
    save_text(&codes()?, &book.join("codes.md"), Existing::Replace)?;
    save_text(&fleet_tables(), &book.join("fleet-tables.md"), Existing::Replace)?;
    clap_mangen::generate_to(Cli::command(), &man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "looptax", &completions)?;
    }
    for form in SavedForm::value_variants() {
        let name = form.to_possible_value().map(|it| it.get_name().to_owned());
        let path = folder.join(format!("{}.schema.json", name.unwrap_or_default()));
        save_text(&format!("{:#}\n", schema(*form)), &path, Existing::Replace)?;
    }
    Ok(())
}

/// Returns one Markdown page with every code in the JSON output and the sentence that explains it.
fn codes() -> Result<String, Failure> {
    let mut page = String::from(
        "# Codes\n\nEach point of `looptax check --json`, each note of `looptax find --json`, each step of `looptax \
         switch --json` and each warning of `--json-stream` has a `code` and a sentence: the sentence is for people \
         and may change; the code is for programs and stays the same.\nA record and a line of `--json-stream` have \
         `verdict`, `direction` and the `kind` of their `reason`; the words in these fields also stay the \
         same.\n`cargo xtask docs` makes this page from the program's own types.\n",
    );
    table(&mut page, "Points of `check`", PointCode::ALL)?;
    table(&mut page, "Notes of `find`", NoteCode::ALL)?;
    table(&mut page, "Steps of `switch`", StepCode::ALL)?;
    table(&mut page, "Warnings of `--json-stream`", WarningCode::ALL)?;
    words(&mut page, "Verdicts", &schema_of::<Verdict>());
    words(&mut page, "Directions", &schema_of::<Direction>());
    words(&mut page, "Reasons of a verdict", &schema_of::<Reason>());
    Ok(page)
}

/// Adds a table to the page, with the words of an enum in the order of the schema. If the enum is tagged by a field
/// `kind`, the words are the values of this field.
fn words(page: &mut String, title: &str, schema: &serde_json::Value) {
    begin_table(page, title);
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let word = variant["const"].as_str().or_else(|| variant["properties"]["kind"]["const"].as_str());
        let sentence = variant["description"].as_str();
        let _ = writeln!(page, "| `{}` | {} |", word.unwrap_or_default(), sentence.unwrap_or_default());
    }
}

fn begin_table(page: &mut String, title: &str) {
    let _ = write!(page, "\n## {title}\n\n| code | meaning |\n|---|---|\n");
}

/// Returns one Markdown page with the columns of each table and view of a collector.
fn fleet_tables() -> String {
    let mut page = format!(
        "# Tables of a collector\n\nThis page describes version {SCHEMA_VERSION} of the tables, which are the \
         same in ClickHouse and PostgreSQL.\nA report's JSON lines have the tables' columns, and also `table` and \
         `schema_version`.\nNo column holds a password, a file's contents or a command line.\nEvery table also has \
         the column `received`: the time when the row arrived, by the collector's clock.\n`cargo xtask docs` makes \
         this page from the program's own description.\n"
    );
    for table in TABLES {
        let key = table.key.join("`, `");
        let (name, doc) = (table.name, table.doc);
        let _ = write!(
            page,
            "\n## Table `{name}`\n\n{doc}\nThe key of a row is `{key}`; two rows with the same key are equal.\n"
        );
        columns(&mut page, table.columns.iter().copied());
    }
    for view in VIEWS {
        let _ = write!(page, "\n## View `{}`\n\n{}\n", view.name, view.doc);
        match view.table {
            Some(table) => {
                let _ = writeln!(page, "Columns: those of `{}`, and `received`.", table.name);
            }
            None => columns(&mut page, view.columns()),
        }
    }
    page
}

fn columns(page: &mut String, columns: impl Iterator<Item = Column>) {
    page.push_str("\n| column | kind | what it says |\n|---|---|---|\n");
    for column in columns {
        let kind = match column.kind {
            Kind::Word | Kind::Text => "text",
            Kind::Count => "count",
            Kind::Number => "number, or none",
            Kind::Flag => "yes or no",
            Kind::Time => "time, UTC",
        };
        let _ = writeln!(page, "| `{}` | {kind} | {} |", column.name, column.doc);
    }
}

/// Adds a table with all codes of one type to the page.
fn table(page: &mut String, title: &str, codes: &[(impl Serialize, &str)]) -> Result<(), Failure> {
    begin_table(page, title);
    for (code, sentence) in codes {
        let code = serde_json::to_string(code).map_err(io::Error::from)?;
        let _ = writeln!(page, "| `{}` | {} |", code.trim_matches('"'), sentence.trim());
    }
    Ok(())
}

/// Returns one Markdown page with the help of every command, as it is printed.
fn reference(command: &clap::Command) -> String {
    let mut page = String::from("# Options\n\n`cargo xtask docs` makes this page from the program's own help.\n");
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    for command in std::iter::once(command).chain(shown) {
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
        let help = command.clone().term_width(100).render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    }
    let _ = writeln!(page, "\n{EXIT_CODES}");
    page
}
