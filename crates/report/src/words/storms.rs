//! The report about storms: how many connections fail over each transport, the setting for the queue, and the shortest
//! queue that accepts all connections.
//!
//! All figures are from the record. If the storms do not determine the shortest queue, the report says "not known", and
//! names the measurement that would determine it.

use looptax_model::record::{StormArm, StormSize, Storms};

use crate::format::Text;

/// Why the storms do not determine the shortest queue.
struct NotKnown {
    why: String,
    /// The measurement that would determine the shortest queue.
    settles: String,
}

/// Returns one sentence with the failures over each transport, the numbers of connections, and the client.
pub(crate) fn verdict(found: &Storms, text: Text) -> String {
    let stall = match found.stall_ms {
        0.0 => "while the server runs".to_owned(),
        ms => format!("while the server is stopped for {ms:.0} ms"),
    };
    let sides = [("unix", "the socket"), ("tcp", "TCP")].map(|(arm, way)| over(found, (arm, way), text));
    format!("with a client that connects like {}, {stall}: {}; {}", text.clean(&found.library), sides[0], sides[1])
}

/// Returns the sentence about the next step.
pub(crate) fn next(found: &Storms, text: Text) -> String {
    let failing = || arms(found, "unix").filter(|(_, arm)| arm.n_failed() > 0).map(|it| it.0);
    if failing().next().is_none() {
        let most = found.sizes.iter().map(|it| it.connections).max().unwrap_or_default();
        return format!(
            "next: nothing to do, the socket's queue of {} accepted {most} connections at once",
            found.queue
        );
    }
    let mut wanted = 0;
    for size in failing() {
        match smallest_queue(found, size) {
            Ok(queue) => wanted = wanted.max(queue),
            Err(NotKnown { settles, .. }) => {
                let n = size.connections;
                return format!("next: the queue for {n} connections is not known; {settles}");
            }
        }
    }
    let (setting, now) = (text.clean(&found.setting), found.queue);
    let kernel = match found.somaxconn {
        Some(most) if most < wanted => format!("sysctl net.core.somaxconn={wanted} (now {most}), "),
        _ => String::new(),
    };
    format!("next: {kernel}{setting}, to at least {wanted} (these storms had {now}); or keep connections open")
}

/// Returns the shortest queue at which no connection of a storm of this size failed, or why this queue is not known.
pub(crate) fn smallest(found: &Storms, size: &StormSize) -> String {
    let StormSize { connections, tries_of_queue, .. } = size;
    match smallest_queue(found, size) {
        Ok(queue) => format!(
            "{connections} connections: {queue} is the smallest queue at which no connection failed on the \
             socket in {tries_of_queue} storms"
        ),
        Err(NotKnown { why, settles }) => {
            format!("{connections} connections: the smallest queue is not known, because {why}; {settles}")
        }
    }
}

fn smallest_queue(found: &Storms, size: &StormSize) -> Result<u32, NotKnown> {
    let mut arms = size.arms.iter().filter(|it| it.arm == "unix");
    let (has_failed, queue) = (arms.any(|it| it.n_failed() > 0), found.queue);
    let room = size.connections.saturating_sub(1);
    let by_chance = |why: String| NotKnown {
        why,
        settles: "use more storms (--storms), or use --stall, which makes all connections wait".to_owned(),
    };
    match (size.smallest_queue, found.somaxconn) {
        (None, Some(most)) if most < room => Err(NotKnown {
            why: format!("some connections failed with the longest queue that the kernel allows ({most})"),
            settles: format!("repeat the storms after `sysctl net.core.somaxconn={room}`"),
        }),
        (None, _) => Err(NotKnown {
            why: "some connections failed although the queue had room for all".to_owned(),
            settles: "read the errors, which show another cause".to_owned(),
        }),
        (Some(smallest), _) if has_failed && smallest <= queue => Err(by_chance(format!(
            "with a queue of {queue} some connections failed; with a queue of {smallest}, in fewer \
             storms, no connection failed"
        ))),
        (Some(smallest), _) if !has_failed && smallest > queue => Err(by_chance(format!(
            "at first no connection failed with a queue of {queue}, but in later storms some failed with a queue \
             shorter than {smallest}"
        ))),
        (Some(smallest), _) => Ok(smallest),
    }
}

fn arms<'a>(found: &'a Storms, arm: &'a str) -> impl Iterator<Item = (&'a StormSize, &'a StormArm)> {
    found.sizes.iter().filter_map(move |size| Some((size, size.arms.iter().find(|it| it.arm == arm)?)))
}

/// Returns the failures over one transport: `over the socket 59.5 % [57.8, 61.1] of 200 connections fail (EAGAIN), none
/// of 50`.
fn over(found: &Storms, (arm, way): (&str, &str), text: Text) -> String {
    let (failing, fine): (Vec<_>, Vec<_>) = arms(found, arm).partition(|(_, it)| it.n_failed() > 0);
    let late: u64 = arms(found, arm).flat_map(|(_, it)| &it.storms).map(|it| it.late).sum();
    let late = if late > 0 { ", and some are answered more than half a second late" } else { "" };
    let sizes = |all: &[(&StormSize, &StormArm)]| {
        let sizes: Vec<String> = all.iter().map(|(size, _)| size.connections.to_string()).collect();
        sizes.join(" or ")
    };
    if failing.is_empty() {
        return format!("over {way} none of {} connections fails{late}", sizes(&fine));
    }
    let shares = failing.iter().map(|(size, arm)| {
        let [value, lo, hi] = arm.failed_pct;
        format!("{value:.1} % [{lo:.1}, {hi:.1}] of {} connections", size.connections)
    });
    let shares: Vec<String> = shares.collect();
    let failures = failing.iter().flat_map(|(_, arm)| &arm.storms).flat_map(|it| &it.failed);
    let mut errors: Vec<String> = failures.map(|it| text.clean(&it.error)).collect();
    errors.sort_unstable();
    errors.dedup();
    let none = if fine.is_empty() { String::new() } else { format!(", none of {}", sizes(&fine)) };
    format!("over {way} {} fail ({}){none}{late}", shares.join(" and "), errors.join(", "))
}

#[cfg(test)]
mod tests {
    use looptax_model::record::{Hex64, Storm, StormFailure};

    use super::*;

    /// Makes storms of 200 connections over the socket, with a queue of 80.
    fn storms(n_failed: u64, smallest_queue: Option<u32>, somaxconn: u32) -> Storms {
        let arm = |name: &str, n_failed: u64| StormArm {
            arm: name.to_owned(),
            failed_pct: [n_failed as f64 / 2.0, 50.0, 65.0],
            storms: vec![Storm {
                served: 200 - n_failed,
                late: if name == "tcp" { 119 } else { 0 },
                failed: { n_failed > 0 }
                    .then(|| StormFailure { error: "EAGAIN".to_owned(), connections: n_failed })
                    .into_iter()
                    .collect(),
                last_ms: 1010.0,
            }],
        };
        let sizes = vec![StormSize {
            connections: 200,
            arms: vec![arm("unix", n_failed), arm("tcp", 0)],
            smallest_queue,
            tries_of_queue: 3,
        }];
        Storms {
            target: "private:mariadb".to_owned(),
            version: "10.11".to_owned(),
            seed: Hex64(1),
            client: "mysqlnd".to_owned(),
            library: "PHP's mysqlnd".to_owned(),
            seen: String::new(),
            stall_ms: 300.0,
            rate_per_s: None,
            queue: 80,
            somaxconn: Some(somaxconn),
            setting: "set `back_log`".to_owned(),
            sizes,
        }
    }

    #[test]
    fn a_verdict_says_what_fails_where_and_what_to_set() {
        let text = Text { is_unicode: true };
        let found = storms(119, Some(199), 4096);
        assert_eq!(
            verdict(&found, text),
            "with a client that connects like PHP's mysqlnd, while the server is stopped for 300 ms: over the socket \
             59.5 % [50.0, 65.0] of 200 connections fail (EAGAIN); over TCP none of 200 connections fails, and some \
             are answered more than half a second late"
        );
        let said = "next: set `back_log`, to at least 199 (these storms had 80); or keep connections open";
        assert_eq!(next(&found, text), said);
        let said = next(&storms(119, Some(199), 128), text);
        assert!(
            said.starts_with("next: sysctl net.core.somaxconn=199 (now 128), set `back_log`, to at least 199"),
            "{said}"
        );
        let said = next(&storms(0, Some(12), 4096), text);
        assert_eq!(said, "next: nothing to do, the socket's queue of 80 accepted 200 connections at once");
    }

    #[test]
    fn a_queue_that_the_storms_contradict_is_not_known() {
        let text = Text { is_unicode: true };
        for (n_failed, smallest_queue, somaxconn, words) in [
            (119, None, 128, "the kernel allows (128); repeat the storms after `sysctl net.core.somaxconn=199`"),
            (119, None, 4096, "although the queue had room for all; read the errors"),
            (
                2,
                Some(70),
                4096,
                "with a queue of 80 some connections failed; with a queue of 70, in fewer storms, no connection failed",
            ),
            (
                0,
                Some(90),
                4096,
                "at first no connection failed with a queue of 80, but in later storms some failed with a queue \
                 shorter than 90",
            ),
        ] {
            let found = storms(n_failed, smallest_queue, somaxconn);
            let said = smallest(&found, &found.sizes[0]);
            assert!(said.contains("is not known, because ") && said.contains(words), "{said}");
            let is_open = next(&found, text).contains("is not known");
            assert_eq!(is_open, n_failed > 0, "{}", next(&found, text));
        }
        let found = storms(119, Some(199), 4096);
        let said = "200 connections: 199 is the smallest queue at which no connection failed on the socket in 3 storms";
        assert_eq!(smallest(&found, &found.sizes[0]), said);
    }
}
