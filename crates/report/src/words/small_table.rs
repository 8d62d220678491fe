//! A table of few columns with a title: the bill, the remedies.

#[derive(Debug)]
pub(crate) struct SmallTable {
    pub(crate) title: String,
    /// The first column's is empty: it names the rows.
    pub(crate) header: [String; 4],
    pub(crate) rows: Vec<[String; 4]>,
    /// The conclusion from all of it.
    pub(crate) closing: Option<String>,
}
