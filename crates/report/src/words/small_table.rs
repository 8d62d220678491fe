//! A small table with a title: the bill, the remedies.

#[derive(Debug)]
pub(crate) struct SmallTable {
    pub(crate) title: String,
    /// The column headings; the first one is empty, because that column names the rows.
    pub(crate) header: [String; 4],
    pub(crate) rows: Vec<[String; 4]>,
    /// The conclusion from the whole table, in a sentence below it.
    pub(crate) closing: Option<String>,
}
