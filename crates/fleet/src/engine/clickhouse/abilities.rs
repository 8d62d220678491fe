//! The features of a version of ClickHouse. Debian's ClickHouse is from 2018, so looptax uses a feature only if the
//! server's version is known to have it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each field is a feature that a version has or lacks")]
pub(super) struct Abilities {
    /// Whether rows can be deleted automatically after a time.
    pub(super) has_ttl: bool,
    /// Whether rows that violate a constraint can be refused.
    pub(super) has_checks: bool,
    /// Whether texts with few different values can be stored as numbers.
    pub(super) has_low_cardinality: bool,
    /// Whether small inserts of many machines can be collected before they are written.
    pub(super) has_async_insert: bool,
}

impl Abilities {
    pub(super) const NEW: Self =
        Self { has_ttl: true, has_checks: true, has_low_cardinality: true, has_async_insert: true };

    /// Returns the features of a version such as `20.3.1`.
    ///
    /// # Source
    /// ClickHouse's changelog. TTL of tables exists since 19.6, constraints since 19.14, and `LowCardinality` without a
    /// setting since 19.1; looptax uses these three features from the next long-term release (20.3) on. Asynchronous
    /// inserts exist since 21.11; looptax uses them from 22.3 on.
    pub(super) fn of_version(version: &str) -> Self {
        let mut numbers = version.split('.').map(|it| it.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let is_settled = version >= (20, 3);
        Self {
            has_ttl: is_settled,
            has_checks: is_settled,
            has_low_cardinality: is_settled,
            has_async_insert: version >= (22, 3),
        }
    }

    /// Returns the settings of an insert. The server acknowledges the insert only after it has written the rows, even
    /// if it collects inserts. The number of partitions is not limited, because the rows may be from all months of a
    /// year.
    pub(super) fn insert_settings(self) -> &'static [(&'static str, &'static str)] {
        if self.has_async_insert {
            &[("async_insert", "1"), ("wait_for_async_insert", "1"), ("max_partitions_per_insert_block", "0")]
        } else {
            &[]
        }
    }

    /// Lists the missing features, in sentences for the user.
    pub(super) fn lacks(self, keep_days: Option<u32>) -> Vec<String> {
        let mut lacks = Vec::new();
        if !self.has_ttl {
            lacks.push(match keep_days {
                Some(days) => {
                    format!(
                        "this version does not delete old rows (no TTL): drop each month's partition {days} days after \
                         the month"
                    )
                }
                None => "this version does not delete old rows (no TTL): drop old months' partitions".to_owned(),
            });
        }
        if !self.has_checks {
            lacks.push(
                "this version does not check the length of texts (no constraints): looptax cuts long texts before it \
                    sends them"
                    .to_owned(),
            );
        }
        if !self.has_async_insert {
            lacks.push(
                "this version does not batch small inserts (no async_insert): if thousands of machines report, let \
                 them report at random times (--jitter)"
                    .to_owned(),
            );
        }
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_version_is_asked_for_less() {
        let old = Abilities::of_version("18.16.1");
        assert!(!old.has_ttl && !old.has_async_insert);
        assert_eq!(old.lacks(Some(90)).len(), 3);
        assert_eq!(Abilities::of_version("26.1.2.3"), Abilities::NEW);
        assert!(Abilities::NEW.lacks(None).is_empty());
        let between = Abilities::of_version("20.8.2.3");
        assert!(between.has_ttl && !between.has_async_insert);
        assert_eq!(Abilities::of_version("x"), old);
    }
}
