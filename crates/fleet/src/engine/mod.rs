//! Collectors: the receivers of reports, and the queries to them.
//!
//! One type for all of them ([`Collector`]), an engine per folder below. Names of tables, views and columns in SQL come
//! only from this crate's own descriptions; every text of a machine, a person or a collector is a value in a row's
//! text form, or digits.

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

/// A collector that can be spoken to.
pub struct Collector {
    engine: Box<dyn Engine>,
}

/// The statements that make everything from nothing, with the roles that are wanted.
///
/// # Errors
/// [`FleetError::NoEngine`] for files; [`FleetError::Destination`] for a cluster whose name cannot be in SQL.
pub fn script(destination: &Destination, options: &InitOptions) -> Result<String, FleetError> {
    options.check()?;
    match &destination.place {
        Place::ClickHouse(server) => Ok(clickhouse::script(server, options)),
        Place::Postgres(_) => Ok(postgres::script()),
        Place::Folder(_) | Place::Output => Err(FleetError::NoEngine),
    }
}

impl Collector {
    /// The collector at `destination`. Engines are connected to, and logged in to, at once.
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

    /// Makes tables and views, or brings them to this version; again, it changes nothing.
    ///
    /// # Errors
    /// [`FleetError::NoEngine`] for files; else as [`Self::open`].
    pub fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError> {
        self.engine.init(options)
    }

    /// Sends reports. When this comes back, the collector has said that it has all of them; after an error it may have
    /// some, and the same may be sent again: what arrives twice counts once.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        self.engine.send(batches)
    }

    /// Asks one of [`VIEWS`].
    ///
    /// # Errors
    /// [`FleetError::NoView`] where no view or column has such a name; [`FleetError::NoEngine`] for files; else as
    /// [`Self::open`].
    pub fn ask(&mut self, question: &Question<'_>) -> Result<Rows, FleetError> {
        self.engine.ask(question)
    }
}
