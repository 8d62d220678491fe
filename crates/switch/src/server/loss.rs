//! Describes what a restart of the server loses, from the server's own figures.

use looptax_bench::path::{BeforeRestart, Saved};

/// Returns the description, which has at least one sentence. `n_seen` is the number of connections that the kernel
/// shows. `keeps_appending` is false if nothing shows that the server will read its append-only file after a restart:
/// the file may have been switched on only while the server ran.
pub(super) fn words(asked: &BeforeRestart, n_seen: usize, port: u16, keeps_appending: bool) -> Vec<String> {
    let mut words = vec![match n_seen {
        0 => "no connection to the server is open now".to_owned(),
        1 => "1 connection ends".to_owned(),
        n => format!("{n} connections end"),
    }];
    let items = asked.n_items.map(|n| format!("its {n} keys"));
    let items = items.as_deref().unwrap_or("its data");
    words.extend(match &asked.saved {
        _ if asked.n_items == Some(0) => Some("the server holds no keys".to_owned()),
        None => None,
        Some(Saved::Never) => Some(format!("{items} are lost: the server keeps nothing on disk")),
        Some(Saved::Appended) if !keeps_appending => Some(format!(
            "looptax does not know whether {items} come back: the server appends to a file now, but its configuration \
             does not say `appendonly yes`"
        )),
        Some(Saved::Appended) => Some(format!("{items} come back from the server's append-only file")),
        Some(Saved::Snapshots { ago_s, n_changes_since, takes_one_at_end }) => {
            let last = match ago_s {
                Some(ago_s) => format!("last snapshot {ago_s} s ago, {n_changes_since} changes since then"),
                None => format!("{n_changes_since} changes are in no snapshot"),
            };
            Some(match takes_one_at_end {
                Some(true) => format!("the server saves {items} when it ends ({last})"),
                Some(false) => format!(
                    "the server saves nothing when it ends ({last}): to keep {items}, run `redis-cli -p {port} \
                    save` before the restart"
                ),
                None => format!(
                    "looptax does not know whether the server saves its data when it ends ({last}): to keep \
                     {items}, run `redis-cli -p {port} save` before the restart"
                ),
            })
        }
    });
    words.extend(asked.n_replicas.filter(|n| *n > 0).map(|n| format!("{n} replicas have to connect again")));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_told_by_the_servers_figures() {
        let check = |saved, n_items, expected: &str| {
            let asked = BeforeRestart { saved, n_items, n_replicas: Some(0), ..BeforeRestart::default() };
            assert_eq!(words(&asked, 2, 6379, true)[1..].join("; "), expected);
        };
        let snapshots =
            |takes_one_at_end| Some(Saved::Snapshots { ago_s: Some(12), n_changes_since: 3, takes_one_at_end });
        check(None, None, "");
        check(Some(Saved::Never), Some(7), "its 7 keys are lost: the server keeps nothing on disk");
        check(Some(Saved::Never), Some(0), "the server holds no keys");
        check(Some(Saved::Appended), Some(7), "its 7 keys come back from the server's append-only file");
        check(
            snapshots(Some(true)),
            Some(7),
            "the server saves its 7 keys when it ends (last snapshot 12 s ago, 3 changes since then)",
        );
        check(
            snapshots(Some(false)),
            None,
            "the server saves nothing when it ends (last snapshot 12 s ago, 3 changes since then): to keep its \
             data, run `redis-cli -p 6379 save` before the restart",
        );
        let appended = BeforeRestart { saved: Some(Saved::Appended), n_items: Some(7), ..BeforeRestart::default() };
        let told = words(&appended, 1, 6379, false).join("; ");
        assert!(told.starts_with("1 connection ends; looptax does not know whether its 7 keys come back"), "{told}");
        let replicas = BeforeRestart { n_replicas: Some(2), ..BeforeRestart::default() };
        assert_eq!(
            words(&replicas, 0, 6379, true),
            ["no connection to the server is open now", "2 replicas have to connect again"]
        );
    }
}
