//! Collectors: the receivers of reports, and the queries to them.
//!
//! [`Collector`] is the common type; there is a folder for each engine. Names of tables, views and columns in SQL come
//! only from this crate's own descriptions. Every text from a machine, a person or a collector appears only as a value
//! in a row's text form, or as digits.

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

/// The statements that make all objects from scratch, including the roles.
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
    /// The collector at `destination`. If it is an engine, this connects and logs in immediately.
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

    /// Makes tables and views, or updates them to this version; a second call changes nothing.
    ///
    /// # Errors
    /// [`FleetError::NoEngine`] if the destination stores files; otherwise as [`Self::open`].
    pub fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError> {
        self.engine.init(options)
    }

    /// Sends reports. When this returns, the collector has confirmed that it has all of them. After an error it may
    /// have some of them, and the same reports may be sent again: a report that arrives twice counts once.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        self.engine.send(batches)
    }

    /// Queries one of [`VIEWS`].
    ///
    /// # Errors
    /// [`FleetError::NoView`] if no view or column has this name; [`FleetError::NoEngine`] if the destination stores
    /// files; otherwise as [`Self::open`].
    pub fn ask(&mut self, question: &Question<'_>) -> Result<Rows, FleetError> {
        self.engine.ask(question)
    }
}
