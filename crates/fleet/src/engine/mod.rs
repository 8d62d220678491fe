//! Collectors, which receive reports and reply to queries.
//!
//! [`Collector`] is the common type; each engine has a folder. All names of tables, views and columns in SQL come from
//! the descriptions in this crate. Text from a machine, a person or a collector appears in a statement only as a value
//! in a row's text form, or as hexadecimal digits.

mod access;
mod authorities;
mod cells;
mod clickhouse;
mod destination;
mod files;
mod postgres;
mod question;
mod scheme;
mod template;
mod tsv;
mod views;
mod work;

use looptax_model::record::CollectorTables;

use crate::FleetError;
use crate::batch::Batch;

pub use access::Access;
pub use destination::{Destination, Place};
pub use question::{Only, Order, Question, Rows};
pub use scheme::InitOptions;
pub use views::{VIEWS, View};
use work::Engine;

/// A collector to which reports and queries can be sent.
pub struct Collector {
    engine: Box<dyn Engine>,
}

/// Returns the statements that make all objects in an empty database; the statements for the roles are comments.
///
/// # Errors
/// [`FleetError::NoEngine`] if the destination stores files; [`FleetError::Destination`] for a cluster whose name
/// cannot be written into SQL.
pub fn script(destination: &Destination, options: &InitOptions) -> Result<String, FleetError> {
    options.check()?;
    match &destination.place {
        Place::ClickHouse(server) => Ok(clickhouse::script(server, options)),
        Place::Postgres(_) => Ok(postgres::script()),
        Place::Folder(_) | Place::Output => Err(FleetError::NoEngine),
    }
}

impl Collector {
    /// Connects to the collector at `destination`; if it is an engine, also logs in.
    ///
    /// # Errors
    /// [`FleetError::Away`], [`FleetError::Refused`], [`FleetError::Answer`]; [`FleetError::Authority`].
    pub fn open(destination: &Destination, access: &Access) -> Result<Self, FleetError> {
        let engine: Box<dyn Engine> = match &destination.place {
            Place::ClickHouse(server) => Box::new(clickhouse::ClickHouse::open(server, access)?),
            Place::Postgres(server) => Box::new(postgres::Postgres::open(server, access)?),
            Place::Folder(path) => Box::new(files::Folder::new(path)),
            Place::Output => Box::new(files::Printed),
        };
        Ok(Self { engine })
    }

    /// Makes tables and views, or updates them to the current version; a second call changes nothing.
    ///
    /// # Errors
    /// [`FleetError::NoEngine`] if the destination stores files; otherwise the errors of [`Self::open`].
    pub fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError> {
        self.engine.init(options)
    }

    /// Sends reports. When this returns without an error, the collector has confirmed all of them. After an error the
    /// collector may have received some of them. The same reports may be sent again, because a report that arrives
    /// twice counts once.
    ///
    /// # Errors
    /// The same as those of [`Self::open`].
    pub fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        self.engine.send(batches)
    }

    /// Sends a query for one of [`VIEWS`].
    ///
    /// # Errors
    /// [`FleetError::NoView`] if no view or column has this name; [`FleetError::NoEngine`] if the destination stores
    /// files; otherwise the errors of [`Self::open`].
    pub fn ask(&mut self, question: &Question<'_>) -> Result<Rows, FleetError> {
        self.engine.ask(question)
    }
}
