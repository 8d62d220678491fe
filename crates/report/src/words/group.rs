//! The groups of the report; each has the comparisons with one server, one workload and one client model.
//!
//! This module only sorts comparisons, and computes nothing.

use looptax_model::record::{Client, ClientLike, Comparison, Look, Record, Target, Workload};

use super::table::{Row, Table};
use super::{look, row};
use crate::client;
use crate::format::Text;

/// All comparisons with one client model on one server with one workload.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) target: &'a Target,
    pub(crate) workload: &'a Workload,
    pub(crate) client: Client,
    /// The real client that the client model imitates, if the user has named one.
    pub(crate) client_like: Option<&'a ClientLike>,
    pub(crate) comparisons: Vec<&'a Comparison>,
    pub(crate) looks: Vec<&'a Look>,
}

/// Returns the groups of a record, in the order in which they were first measured; groups with the same heading are
/// next to each other.
pub(crate) fn group_comparisons(record: &Record) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for comparison in &record.comparisons {
        let Comparison { target, workload, client, client_like, .. } = comparison;
        find(&mut groups, target, workload, (*client, client_like.as_ref())).comparisons.push(comparison);
    }
    for look in &record.looks {
        let Look { target, workload, client, client_like, .. } = look;
        find(&mut groups, target, workload, (*client, client_like.as_ref())).looks.push(look);
    }
    for group in &mut groups {
        group.comparisons.sort_by_key(|it| (it.connections, it.placement.asked));
        group.looks.sort_by_key(|it| (it.connections, it.placement.asked));
    }
    groups
}

fn find<'g, 'a>(
    groups: &'g mut Vec<Group<'a>>,
    target: &'a Target,
    workload: &'a Workload,
    (client, client_like): (Client, Option<&'a ClientLike>),
) -> &'g mut Group<'a> {
    let empty = Group { target, workload, client, client_like, comparisons: Vec::new(), looks: Vec::new() };
    let known = groups
        .iter()
        .position(|group| group.has_heading_of(&empty) && group.client == client && group.client_like == client_like);
    let idx = known.unwrap_or_else(|| {
        let last_alike = groups.iter().rposition(|it| it.has_heading_of(&empty));
        let idx = last_alike.map_or(groups.len(), |last| last + 1);
        groups.insert(idx, empty);
        idx
    });
    &mut groups[idx]
}

impl Group<'_> {
    /// Whether both groups are under the same heading.
    pub(crate) fn has_heading_of(&self, other: &Group) -> bool {
        let key = |target: &Target| (target.kind.clone(), target.name.clone(), target.version.clone());
        key(self.target) == key(other.target) && self.workload == other.workload
    }

    pub(crate) fn client_heading(&self, text: Text) -> String {
        match self.client_like {
            Some(like) => client::heading_like(like, &self.arm_names(), text),
            None => client::heading(client::peers(self.target, self.workload), self.client),
        }
    }

    /// Returns what the real client does that the client model does not imitate.
    pub(crate) fn client_differs(&self, text: Text) -> Option<String> {
        let like = self.client_like.filter(|like| !like.differs.is_empty())?;
        let [library, differs] = [&like.library, &like.differs].map(|it| text.clean(it));
        Some(format!("{library} itself {differs}"))
    }

    pub(crate) fn table(&self, text: Text) -> Table {
        let arms = self.arm_names();
        let pair = self.only_pair();
        let mut rows: Vec<_> = Vec::new();
        for comparison in &self.comparisons {
            let key = (comparison.connections, comparison.placement.asked);
            let found = row::row_for(comparison, &arms, pair.is_some(), text);
            rows.extend(found.into_iter().map(|row| (key, row)));
        }
        for seen in &self.looks {
            let key = (seen.connections, seen.placement.asked);
            rows.push((key, look::row(seen, &arms, text)));
        }
        rows.sort_by_key(|(key, _)| *key);
        let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        let tax_header = pair
            .map_or_else(|| "tax".to_owned(), |(arm, baseline)| format!("tax ({})", row::versus(arm, baseline, text)));
        let arms = arms.iter().map(|name| text.clean(name)).collect();
        Table { arms, tax_header, rows }
    }

    fn arm_names(&self) -> Vec<&str> {
        let judged = self.comparisons.iter().flat_map(|it| &it.arms).map(|arm| arm.name.as_str());
        let seen = self.looks.iter().flat_map(|it| &it.arms).map(|arm| arm.name.as_str());
        let mut names = Vec::new();
        for name in judged.chain(seen) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the arm and the baseline, if all verdicts of the group compare the same two arms.
    fn only_pair(&self) -> Option<(&str, &str)> {
        let taxes = self.comparisons.iter().flat_map(|comparison| &comparison.tax);
        let mut pairs = taxes.map(|tax| (tax.arm.as_str(), tax.baseline.as_str()));
        let first = pairs.next()?;
        pairs.all(|pair| pair == first).then_some(first)
    }
}
