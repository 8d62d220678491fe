//! A ClickHouse server that looptax can reach, with its version.

use super::super::access::Access;
use super::super::destination::ClickHouseAt;
use super::abilities::Abilities;
use super::http::Http;
use crate::FleetError;

/// Maximum size in bytes of a short reply: to a statement that returns no rows, or to a query for a single value.
pub(super) const FEW_BYTES: u64 = 64 << 10;

pub(super) struct Server {
    pub(super) http: Http,
    pub(super) at: ClickHouseAt,
    pub(super) version: String,
}

impl Server {
    /// # Errors
    /// The same as those of `Collector::open`.
    pub(super) fn open(at: &ClickHouseAt, access: &Access) -> Result<Self, FleetError> {
        let http = Http::new(at, access)?;
        let answer = http.run("SELECT version()", &[], &[], FEW_BYTES)?;
        let version = String::from_utf8_lossy(&answer).trim().to_owned();
        let is_one = version.starts_with(|it: char| it.is_ascii_digit()) && version.len() < 64;
        if !is_one {
            return Err(http.strange("the server does not report a version of ClickHouse"));
        }
        Ok(Self { http, at: at.clone(), version: crate::text::cleaned(&version) })
    }

    pub(super) fn abilities(&self) -> Abilities {
        Abilities::of_version(&self.version)
    }
}
