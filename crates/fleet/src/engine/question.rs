//! Queries to a collector: columns of a view, with a filter, an order, and a limit of rows.

use crate::FleetError;
use crate::column::{Column, Kind, Row};

use super::views::{VIEWS, View};

pub(super) const MOST_ROWS: u32 = 1_000_000;

/// A query for rows of one of [`VIEWS`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    pub view: &'a str,
    /// The requested columns; if empty, all columns.
    pub columns: &'a [&'a str],
    /// If set, only rows with this value are returned.
    pub only: Option<Only<'a>>,
    pub order: &'a [Order<'a>],
    /// Maximum number of rows; 0 means a million.
    pub limit: u32,
}

/// A condition for rows: this column, which contains texts, has this value.
#[derive(Debug, Clone, Copy)]
pub struct Only<'a> {
    pub column: &'a str,
    pub is: &'a str,
}

/// A column by which rows are ordered; absent values come last.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// The smallest value first.
    Up(&'a str),
    /// The largest value first.
    Down(&'a str),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The requested columns.
    pub columns: Vec<Column>,
    /// The rows, each with one value per column.
    pub rows: Vec<Row>,
    /// Whether the number of rows has reached the limit, so that there may be more rows.
    pub is_cut: bool,
}

/// How an engine writes the parts of a query.
pub(super) struct Dialect {
    /// Returns the SQL for a column, as text that [`super::cells`] can parse.
    pub(super) cell: fn(&Column) -> String,
    /// Returns the SQL for a text value, given the value's hexadecimal digits.
    pub(super) text: fn(&str) -> String,
}

impl Question<'_> {
    /// Returns the requested columns and the statement. Text that a person typed is in the statement only as
    /// hexadecimal digits. `schema` is the quoted schema of the views, for an engine that must look for views only in
    /// that schema.
    ///
    /// # Errors
    /// [`FleetError::NoView`].
    pub(super) fn statement(
        &self,
        dialect: &Dialect,
        schema: Option<&str>,
    ) -> Result<(Vec<Column>, String), FleetError> {
        let view = VIEWS.iter().find(|it| it.name == self.view);
        let view = view.ok_or_else(|| no_view(self.view))?;
        let columns: Vec<Column> = if self.columns.is_empty() {
            view.columns().collect()
        } else {
            let named = self.columns.iter().map(|name| column(view, name));
            named.collect::<Result<_, _>>()?
        };
        let cells: Vec<String> = columns.iter().map(dialect.cell).collect();
        let only = match self.only {
            Some(only) => format!(" WHERE {}", filter(view, only, dialect)?),
            None => String::new(),
        };
        let orders = self.order.iter().map(|order| {
            let (name, direction) = match order {
                Order::Up(name) => (name, "ASC"),
                Order::Down(name) => (name, "DESC"),
            };
            let name = column(view, name)?.name;
            Ok(format!("{name} {direction} NULLS LAST"))
        });
        let orders: Vec<String> = orders.collect::<Result<_, FleetError>>()?;
        let order = match orders.as_slice() {
            [] => String::new(),
            orders => format!(" ORDER BY {}", orders.join(", ")),
        };
        let sql = format!(
            "SELECT {} FROM {}{}{only}{order} LIMIT {}",
            cells.join(", "),
            schema.map_or_else(String::new, |schema| format!("{schema}.")),
            view.name,
            self.n_rows()
        );
        Ok((columns, sql))
    }

    pub(super) fn n_rows(&self) -> u32 {
        match self.limit {
            0 => MOST_ROWS,
            limit => limit.min(MOST_ROWS),
        }
    }
}

fn column(view: &View, name: &str) -> Result<Column, FleetError> {
    let found = view.columns().find(|it| it.name == name);
    found.ok_or_else(|| no_view(name))
}

fn filter(view: &View, only: Only<'_>, dialect: &Dialect) -> Result<String, FleetError> {
    let column = column(view, only.column)?;
    if !matches!(column.kind, Kind::Text | Kind::Word) {
        return Err(no_view(only.column));
    }
    let value = (dialect.text)(&crate::anonymous::hex(only.is.as_bytes()));
    Ok(format!("{} = {value}", column.name))
}

fn no_view(name: &str) -> FleetError {
    FleetError::NoView { name: crate::text::cleaned(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Dialect =
        Dialect { cell: |column| column.name.to_owned(), text: |digits| format!("unhex('{digits}')") };

    #[test]
    fn a_statement_has_names_of_views_and_digits_alone() {
        let question = Question {
            view: "pairs",
            columns: &["client", "hosts"],
            only: Some(Only { column: "server", is: "'; DROP TABLE x; --" }),
            order: &[Order::Down("cpu_ms_per_s"), Order::Up("client")],
            limit: 20,
        };
        let (columns, sql) = question.statement(&PLAIN, None).unwrap();
        assert_eq!(columns.len(), 2);
        assert_eq!(
            sql,
            "SELECT client, hosts FROM pairs WHERE server = unhex('273b2044524f50205441424c4520783b202d2d') ORDER BY cpu_ms_per_s DESC NULLS LAST, client ASC NULLS LAST LIMIT 20"
        );
    }

    #[test]
    fn a_name_that_nobody_has_described_is_refused() {
        let named = |view, column| {
            Question { view, columns: &[column][..0], only: Some(Only { column, is: "" }), ..Question::default() }
                .statement(&PLAIN, None)
                .is_err()
        };
        assert!(named("pairs; DROP TABLE x", "client"));
        assert!(named("pairs", "client = client OR client"));
        assert!(named("pairs", "hosts"));
        assert!(!named("pairs", "client"));
    }
}
