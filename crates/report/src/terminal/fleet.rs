//! The results of the `looptax fleet` commands, for a terminal.

use looptax_model::record::{CollectorTables, Fleet, FleetHost, FleetList, FleetMachine, Reported};

use super::columns::Table;
use super::lines::Lines;
use super::style::Style;
use crate::format::counted;
use crate::words::fleet::{self as words, Section};

/// Returns the text of `looptax fleet send`. Ends with a line break.
pub fn reported(reported: &Reported, style: Style) -> String {
    let mut lines = Lines::new(style);
    let text = style.text();
    match &reported.stopped_by {
        Some(file) => {
            lines.wrapped(
                0,
                &format!("looptax does not inspect the machine or send reports while `{}` exists", text.clean(file)),
            );
        }
        None => lines.wrapped(
            0,
            &format!(
                "sent to {}: {} with {} and {}",
                text.clean(&reported.collector),
                counted(reported.reports, "report"),
                counted(reported.findings, "finding"),
                counted(reported.verdicts, "verdict"),
            ),
        ),
    }
    for note in &reported.notes {
        lines.item(0, &text.clean(note));
    }
    lines.finish()
}

/// Returns the text of `looptax fleet init`. Ends with a line break.
pub fn collector_tables(tables: &CollectorTables, style: Style) -> String {
    let mut lines = Lines::new(style);
    let text = style.text();
    let engine = text.clean(&tables.engine);
    let heading = match (tables.from_version, tables.done.is_empty()) {
        (_, true) => format!("{engine}: tables and views exist, version {}; nothing to do", tables.version),
        (0, false) => format!("{engine}: tables and views made, version {}", tables.version),
        (from, false) => format!("{engine}: updated from version {from} to {}", tables.version),
    };
    lines.heading(0, &heading);
    for done in &tables.done {
        lines.item(2, &text.clean(done));
    }
    if !tables.lacks.is_empty() {
        lines.wrapped(0, "missing features of this engine:");
    }
    for lack in &tables.lacks {
        lines.item(2, &text.clean(lack));
    }
    lines.finish()
}

/// Returns the text of `looptax fleet report`. Ends with a line break.
pub fn fleet(fleet: &Fleet, style: Style) -> String {
    let text = style.text();
    let mut lines = Lines::new(style);
    for line in words::summary(fleet, text) {
        lines.wrapped(0, &line);
    }
    for section in words::sections(fleet, text) {
        lines.blank();
        write_section(&section, &mut lines);
    }
    lines.finish()
}

/// Returns the text of `looptax fleet programs`.
pub fn fleet_pairs(fleet: &Fleet, style: Style) -> String {
    alone(&words::pairs(fleet, style.text()), style)
}

/// Returns the text of `looptax fleet changes`: programs that have changed their transport, and programs that have
/// returned to TCP.
pub fn fleet_movers(fleet: &Fleet, style: Style) -> String {
    let text = style.text();
    let movers = alone(&words::movers(fleet, text), style);
    format!("{movers}\n{}", alone(&words::fell_back(fleet, text), style))
}

/// Returns the text of `looptax fleet hosts`.
pub fn fleet_hosts(hosts: &FleetList<FleetHost>, style: Style) -> String {
    alone(&words::hosts(hosts, style.text()), style)
}

/// Returns the text of `looptax fleet host`, for each machine with the given name.
pub fn fleet_machines(machines: &[FleetMachine], style: Style) -> String {
    let sections = machines.iter().flat_map(|it| words::machine(it, style.text()));
    let texts: Vec<String> = sections.map(|it| alone(&it, style)).collect();
    texts.join("\n")
}

fn alone(section: &Section, style: Style) -> String {
    let mut lines = Lines::new(style);
    write_section(section, &mut lines);
    lines.finish()
}

fn write_section(section: &Section, lines: &mut Lines) {
    lines.heading(0, &section.title);
    for line in &section.lines {
        lines.item(2, line);
    }
    if section.rows.is_empty() {
        if section.lines.is_empty() {
            lines.item(2, "none");
        }
    } else {
        Table::new(&section.head, section.rows.clone()).write(lines);
    }
    if let Some(closing) = &section.closing {
        lines.item(2, closing);
    }
}
