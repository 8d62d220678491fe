//! The format of the spool and of files: a report as JSON lines, one row per line, each with the name of its table.

use serde_json::{Map, Value as Json, json};

use crate::FleetError;
use crate::batch::{Batch, SCHEMA_VERSION, TABLES};
use crate::column::{Column, Kind, Row, Table, Value};
use crate::text::cleaned;

/// The JSON member that contains the name of a row's table.
const TABLE: &str = "table";
/// The JSON member that contains the version of the row's table.
const VERSION: &str = "schema_version";

/// Returns the lines of a report, each with a line end.
pub fn to_lines(batch: &Batch) -> String {
    let rows = batch.tables().flat_map(|(table, rows)| rows.iter().map(move |row| (table, row)));
    rows.map(|(table, row)| line(table, row) + "\n").collect()
}

fn line(table: &Table, row: &Row) -> String {
    let mut object = Map::new();
    object.insert(TABLE.to_owned(), json!(table.name));
    object.insert(VERSION.to_owned(), json!(SCHEMA_VERSION));
    for (column, value) in table.columns.iter().zip(row) {
        object.insert(column.name.to_owned(), to_json(value));
    }
    Json::Object(object).to_string()
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Count(n) => json!(n),
        Value::Number(number) => json!(number),
        Value::Flag(flag) => json!(flag),
        Value::Time(ms) => json!(ms),
    }
}

/// Returns the JSON Schema (draft 2020-12) for a line of any table.
pub fn line_schema() -> Json {
    let of_table = |table: &Table| {
        let mut properties = Map::new();
        properties.insert(TABLE.to_owned(), json!({ "const": table.name }));
        properties.insert(VERSION.to_owned(), json!({ "const": SCHEMA_VERSION }));
        for Column { name, kind, doc } in table.columns {
            let kind = match kind {
                Kind::Word | Kind::Text => json!("string"),
                Kind::Count | Kind::Time => json!("integer"),
                Kind::Number => json!(["number", "null"]),
                Kind::Flag => json!("boolean"),
            };
            properties.insert((*name).to_owned(), json!({ "type": kind, "description": doc }));
        }
        let required: Vec<_> = properties.keys().cloned().collect();
        json!({ "description": table.doc, "type": "object", "properties": properties, "required": required })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ReportLine",
        "oneOf": TABLES.map(of_table),
    })
}

/// Parses the report in these lines. Its texts are cleaned again, because the lines may come from another machine.
///
/// # Errors
/// [`FleetError::NoReport`] for the first line that is not a row of this version's tables, or if rows are missing.
pub fn from_lines(text: &str) -> Result<Batch, FleetError> {
    let mut rows = [const { Vec::new() }; 3];
    let mut n_lines = 0;
    let wrong = |line: usize, what: &str| FleetError::NoReport { line, what: what.to_owned() };
    for line in text.lines() {
        n_lines += 1;
        let (table_idx, row) = row(line).map_err(|what| wrong(n_lines, &what))?;
        rows[table_idx].push(row);
    }
    whole(rows).map_err(|what| wrong(n_lines, &what))
}

/// Makes a report from the rows of all tables.
///
/// # Errors
/// An explanation: the rows belong to several reports, or some rows are missing.
pub(crate) fn whole(rows: [Vec<Row>; 3]) -> Result<Batch, String> {
    let [report] = rows[2].as_slice() else {
        return Err("a report needs exactly one row for the table `reports`".to_owned());
    };
    let report_id = id_of(report).to_owned();
    if rows.iter().flatten().any(|row| id_of(row) != report_id) {
        return Err("the rows belong to several reports".to_owned());
    }
    let said = |name: &str| {
        let mut columns = TABLES[2].columns.iter();
        let at = columns.position(|it| it.name == name);
        at.map(|at| report[at].clone())
    };
    for (table, rows) in TABLES.iter().zip(&rows).take(2) {
        if said(table.name) != Some(Value::Count(rows.len() as u64)) {
            return Err(format!("some rows of the table {} are missing, or there are too many", table.name));
        }
    }
    Ok(Batch { report_id, rows })
}

/// Returns the id of the report to which a row belongs, which is the first column of each table.
pub(crate) fn id_of(row: &Row) -> &str {
    match row.first() {
        Some(Value::Text(id)) => id,
        _ => "",
    }
}

/// Parses the row in a line; returns it with the index of its table in [`TABLES`].
///
/// # Errors
/// An explanation of why the line is not a row of this version.
pub(crate) fn row(line: &str) -> Result<(usize, Row), String> {
    let object: Json = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if object[VERSION] != json!(SCHEMA_VERSION) {
        return Err("the line has another schema version".to_owned());
    }
    let of_table = TABLES.iter().position(|it| object[TABLE] == json!(it.name));
    let table_idx = of_table.ok_or("the line is not for a table that looptax knows")?;
    let columns = TABLES[table_idx].columns.iter();
    let row: Option<Row> = columns.map(|column| from_json(column, &object)).collect();
    let row = row.ok_or("a column is missing or has another type")?;
    Ok((table_idx, row))
}

/// Parses a value, and checks that it is within the limits of the engines.
fn from_json(column: &Column, object: &Json) -> Option<Value> {
    let value = object.get(column.name)?;
    Some(match column.kind {
        Kind::Text if IDS.contains(&column.name) => {
            let id = value.as_str().filter(|it| is_id(it))?;
            Value::Text(id.to_owned())
        }
        Kind::Word | Kind::Text => Value::Text(cleaned(value.as_str()?)),
        Kind::Count if column.name == "n" => Value::Count(value.as_u64().filter(|it| *it < MOST_ROWS)?),
        Kind::Count => Value::Count(value.as_u64().filter(|it| *it <= MOST_COUNT)?),
        Kind::Number if value.is_null() => Value::Number(None),
        Kind::Number => Value::Number(Some(value.as_f64().filter(|it| is_within(*it))?)),
        Kind::Flag => Value::Flag(value.as_bool()?),
        Kind::Time => Value::Time(value.as_i64()?),
    })
}

/// The columns that contain ids of reports and machines; the id of a report is also its file name.
const IDS: [&str; 2] = ["report_id", "host_id"];
/// Maximum number of characters in such an id.
const MOST_ID_CHARS: usize = 64;
/// The rows of a report are numbered from 0 in the column `n`; each number is below this limit. The engines have the
/// same limit.
pub(crate) const MOST_ROWS: u64 = 10_000;

/// Maximum value of a count. With this limit, sums over all machines stay far below the largest integer of an engine.
pub(crate) const MOST_COUNT: u64 = 1_000_000_000;
/// Maximum absolute value of a number: squares and sums of such numbers are finite.
pub(crate) const MOST_NUMBER: f64 = 1e12;

/// Whether the tables accept a number.
pub(crate) fn is_within(number: f64) -> bool {
    number.abs() <= MOST_NUMBER
}

/// Whether a text can be used as a file name on every file system.
fn is_id(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
    (1..=MOST_ID_CHARS).contains(&text.len()) && text.bytes().all(is_plain)
}
