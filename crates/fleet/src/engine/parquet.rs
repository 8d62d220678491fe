//! A folder of Parquet files: `findings/…`, `verdicts/…`, `reports/…`, for what reads columns.
//!
//! A send is a file of each table, the reports' last: whoever reads those that `reports` names sees whole reports. A file is
//! there whole or not at all. Sent again it has the same name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use looptax_record::CollectorTables;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::question::{Question, Rows};
use super::scheme::InitOptions;
use super::work::Engine;
use crate::FleetError;
use crate::batch::{Batch, TABLES};
use crate::column::{Column, Kind, Row, Table, Value};

/// A folder of such files.
#[derive(Debug)]
pub(super) struct Parquet {
    path: PathBuf,
}

impl Parquet {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    fn write(&self, table: &Table, rows: &[&Row], name: &str) -> io::Result<()> {
        let folder = self.path.join(table.name);
        fs::create_dir_all(&folder)?;
        let file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&folder)?;
        write_rows(table, rows, file.as_file())?;
        file.as_file().sync_all()?;
        file.persist(folder.join(name))?;
        fs::File::open(&folder)?.sync_all()
    }
}

impl Engine for Parquet {
    fn init(&mut self, _: &InitOptions) -> Result<CollectorTables, FleetError> {
        Err(FleetError::NoEngine)
    }

    fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        let [first, .., last] = batches else {
            return batches
                .first()
                .map_or(Ok(()), |only| self.send_as(&only.report_id, batches));
        };
        self.send_as(&format!("{}-{}", first.report_id, last.report_id), batches)
    }

    fn ask(&mut self, _: &Question<'_>) -> Result<Rows, FleetError> {
        Err(FleetError::NoEngine)
    }
}

impl Parquet {
    fn send_as(&self, id: &str, batches: &[Batch]) -> Result<(), FleetError> {
        for (table_idx, table) in TABLES.into_iter().enumerate() {
            let rows: Vec<&Row> = batches.iter().flat_map(|it| &it.rows[table_idx]).collect();
            if rows.is_empty() {
                continue;
            }
            self.write(table, &rows, &format!("{id}.parquet"))
                .map_err(|source| FleetError::Keep {
                    path: self.path.clone(),
                    source,
                })?;
        }
        Ok(())
    }
}

fn write_rows(table: &Table, rows: &[&Row], file: &fs::File) -> Written<()> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let mut writer = SerializedFileWriter::new(file, schema(table)?, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    for column_idx in 0..table.columns.len() {
        let mut column = group
            .next_column()?
            .ok_or(ParquetError::EOF("columns are missing".to_owned()))?;
        write_column(column.untyped(), rows.iter().map(|row| &row[column_idx]))?;
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn schema(table: &Table) -> Written<TypePtr> {
    let fields: Written<Vec<TypePtr>> = table.columns.iter().map(field).collect();
    let group = Type::group_type_builder(table.name).with_fields(fields?);
    group.build().map(Arc::new)
}

fn field(column: &Column) -> Written<TypePtr> {
    let (physical, logical) = match column.kind {
        Kind::Word | Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Count => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
        Kind::Time => (
            Physical::INT64,
            Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
        ),
    };
    let repetition = match column.kind {
        Kind::Number => Repetition::OPTIONAL,
        _ => Repetition::REQUIRED,
    };
    let field = Type::primitive_type_builder(column.name, physical);
    let field = field.with_logical_type(logical).with_repetition(repetition);
    field.build().map(Arc::new)
}

/// Writes a column's values, each of which is of its kind.
fn write_column<'a>(
    writer: &mut ColumnWriter<'_>,
    values: impl Iterator<Item = &'a Value>,
) -> Written<()> {
    match writer {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let texts = values.filter_map(|value| match value {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            writer.write_batch(&texts.collect::<Vec<_>>(), None, None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let numbers = values.filter_map(|value| match value {
                Value::Count(n) => Some(i64::try_from(*n).unwrap_or(i64::MAX)),
                Value::Time(ms) => Some(*ms),
                _ => None,
            });
            writer.write_batch(&numbers.collect::<Vec<_>>(), None, None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let numbers = values.filter_map(|value| match value {
                Value::Number(number) => Some(*number),
                _ => None,
            });
            let numbers: Vec<Option<f64>> = numbers.collect();
            let is_there: Vec<i16> = numbers.iter().map(|it| i16::from(it.is_some())).collect();
            let present: Vec<f64> = numbers.into_iter().flatten().collect();
            writer.write_batch(&present, Some(&is_there), None)?;
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let flags = values.filter_map(|value| match value {
                Value::Flag(flag) => Some(*flag),
                _ => None,
            });
            writer.write_batch(&flags.collect::<Vec<_>>(), None, None)?;
        }
        _ => return Err(ParquetError::NYI("no column is of this type".to_owned())),
    }
    Ok(())
}
