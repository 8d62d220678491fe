//! A report as JSON lines: a row each, with its table's name; the form of the spool and of files.

use serde_json::{Map, Value as Json, json};

use crate::FleetError;
use crate::batch::{Batch, SCHEMA_VERSION, TABLES};
use crate::column::{Column, Kind, Row, Table, Value};

/// The member that names a row's table.
const TABLE: &str = "table";
/// The member that says which version of the tables a row is of.
const VERSION: &str = "schema_version";

/// The lines of a report, each ended.
pub fn to_lines(batch: &Batch) -> String {
    let rows = batch
        .tables()
        .flat_map(|(table, rows)| rows.iter().map(move |row| (table, row)));
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

/// The report that these lines are.
///
/// # Errors
/// [`FleetError::NoReport`] for the first line that is no row of this version's tables.
pub fn from_lines(text: &str) -> Result<Batch, FleetError> {
    let mut batch = Batch {
        report_id: String::new(),
        rows: [const { Vec::new() }; 3],
    };
    for (idx, line) in text.lines().enumerate() {
        let wrong = |what: &str| FleetError::NoReport {
            line: idx + 1,
            what: what.to_owned(),
        };
        let object: Json = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
        if object[VERSION] != json!(SCHEMA_VERSION) {
            return Err(wrong("it is of another version"));
        }
        let of_table = TABLES.iter().position(|it| object[TABLE] == json!(it.name));
        let table_idx = of_table.ok_or_else(|| wrong("it names no table"))?;
        let columns = TABLES[table_idx].columns.iter();
        let row: Option<Row> = columns.map(|column| from_json(column, &object)).collect();
        batch.rows[table_idx]
            .push(row.ok_or_else(|| wrong("a column is missing or of another kind"))?);
    }
    match batch.rows[2].first().and_then(|row| row.first()) {
        Some(Value::Text(id)) if batch.rows[2].len() == 1 => batch.report_id.clone_from(id),
        _ => {
            return Err(FleetError::NoReport {
                line: text.lines().count(),
                what: "a report has one row of the table reports".to_owned(),
            });
        }
    }
    Ok(batch)
}

fn from_json(column: &Column, object: &Json) -> Option<Value> {
    let value = object.get(column.name)?;
    Some(match column.kind {
        Kind::Word | Kind::Text => Value::Text(value.as_str()?.to_owned()),
        Kind::Count => Value::Count(value.as_u64()?),
        Kind::Number if value.is_null() => Value::Number(None),
        Kind::Number => Value::Number(Some(value.as_f64()?)),
        Kind::Flag => Value::Flag(value.as_bool()?),
        Kind::Time => Value::Time(value.as_i64()?),
    })
}
