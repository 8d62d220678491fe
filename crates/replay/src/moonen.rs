//! Scott Moonen's comparison: a stream and small messages without a database.
//!
//! His 1,133 µs for a message over TCP is a hundred times what anybody else has seen, so [`attempts`] look for what
//! could have made it.

mod attempts;

use std::time::Duration;

use looptax_dsn::Kind;
use looptax_path::Arm;
use looptax_record::{Comparison, Placement, ReplayPart, ReplayUnit};

use super::effect::Effect;
use super::published::MOONEN;
use super::reading::Reading;
use super::row::{Wanted, row};
use super::step::on_one_core;
use super::{Amounts, Runner, Step};

/// What was streamed and sent on each way.
const STREAM_BYTES: u64 = 100_000_000_000;
const MESSAGES: u64 = 100_000_000;
/// Slices of a stream: they would grow to hold 200 requests of 4 MiB, and an epoch to several seconds.
const STREAM_SLICE_MS: u32 = 200;
/// Four of them at 2 GB/s.
const STREAMED_PER_EPOCH: u64 = 1_600_000_000;
/// Four slices of 50 ms at 100,000 messages per second.
const MESSAGES_PER_EPOCH: u64 = 20_000;
/// Epochs that a comparison may have.
const EPOCHS: [u64; 2] = [8, 10_000];

/// What is done beside the comparisons.
pub(crate) const BESIDE: (&str, Duration) = (
    "other patterns of writing, in search of 1133 µs per message",
    Duration::from_secs(12),
);

pub(crate) fn steps(amounts: &Amounts) -> Vec<Step> {
    let epochs = |published: u64, per_epoch: u64, default: u64| {
        let bytes = amounts.of(published, default * per_epoch, 1);
        bytes.div_ceil(per_epoch).clamp(EPOCHS[0], EPOCHS[1])
    };
    let stream = epochs(STREAM_BYTES, STREAMED_PER_EPOCH, amounts.either(8, 12));
    let messages = epochs(MESSAGES, MESSAGES_PER_EPOCH, amounts.either(12, 40));
    let echo = on_one_core(Kind::Echo, &[Arm::Unix, Arm::Tcp], &[1]);
    let ping = |placement| {
        let mut ping = echo.clone();
        ping.placements = Some(vec![placement]);
        ping.requests.echo.request_bytes = Some(8);
        ping.requests.echo.reply_bytes = Some(8);
        ping
    };
    // Both grow with what was asked for: two seconds an epoch, and half a second.
    let stream_s = amounts.either(30, 45).max(3 * stream);
    let messages_s = amounts.either(20, 40).max(messages);
    let stream = Step::new(
        "stream",
        "a stream, both ends on one core",
        (echo.clone(), &["stream"]),
        stream_s,
    )
    .epochs(amounts, stream)
    .requests(amounts, Some(STREAM_SLICE_MS));
    let same = Step::new(
        "messages",
        "8-byte messages, each answered by one, both ends on one core",
        (ping(Placement::Same), &["ping"]),
        messages_s,
    )
    .epochs(amounts, messages)
    .requests(amounts, None);
    let split = Step::new(
        "two-cores",
        "the same messages with the ends on two cores, as a dual core may have had them",
        (ping(Placement::Split), &["ping"]),
        amounts.either(15, 20),
    )
    .epochs(amounts, amounts.either(10, 16))
    .requests(amounts, None);
    vec![stream, same, split]
}

pub(crate) fn run(mut part: ReplayPart, amounts: &Amounts, runner: &mut Runner<'_>) -> ReplayPart {
    let steps = steps(amounts);
    if let Some(reading) = runner.measure(&mut part, &steps[0], 0) {
        let reasons = vec![
            "published for 100 GB each; here the rate decides, which is the time of a fixed amount"
                .to_owned(),
            "there a kernel of 2008 on a core of that time".to_owned(),
        ];
        add(
            &mut part,
            &reading,
            "stream_100GB",
            "stream: time of 100 GB",
            Effect::Rate,
            reasons,
        );
    }
    if let Some(reading) = runner.measure(&mut part, &steps[1], 1) {
        let nagle = vec![
            "no message waits for a timer here: TCP_NODELAY is set, and each message is one write"
                .to_owned(),
        ];
        add(
            &mut part,
            &reading,
            "message_8_bytes_100M",
            "8-byte message: mean time",
            Effect::Mean,
            nagle,
        );
        let spread = vec![
            "of single messages here; what was published is too small for that, and the article does not say of what it is"
                .to_owned(),
        ];
        add(
            &mut part,
            &reading,
            "message_8_bytes_100M_spread",
            "8-byte message: standard deviation",
            Effect::Spread,
            spread,
        );
    }
    let split = runner.measure(&mut part, &steps[2], 2);
    attempts::add(&mut part, split.as_ref(), amounts, runner);
    say_smaller(&mut part);
    part
}

fn add(
    part: &mut ReplayPart,
    reading: &Reading,
    claim: &str,
    what: &str,
    effect: Effect,
    reasons: Vec<String>,
) {
    let wanted = Wanted {
        claim: Some(MOONEN.claim(claim)),
        what: what.to_owned(),
        arm: "tcp",
        unit: ReplayUnit::Times,
        effect,
        reasons,
    };
    let comparison = reading.comparison(is_on_one_core);
    part.rows
        .extend(comparison.and_then(|it| row(reading, it, wanted)));
}

fn is_on_one_core(comparison: &Comparison) -> bool {
    comparison.placement.asked == Placement::Same
}

/// How much of the published amounts was measured.
fn say_smaller(part: &mut ReplayPart) {
    let streamed = part.rows.iter().find_map(|row| row.proof.streamed_bytes);
    let sent = part
        .rows
        .iter()
        .find(|row| row.proof.streamed_bytes.is_none());
    let share = |all: u64, published: u64| 100.0 * all as f64 / (2 * published) as f64;
    if let Some(bytes) = streamed {
        part.smaller.push(format!(
            "streamed {:.1} GB over both ways together instead of 100 on each ({:.0} %)",
            bytes as f64 / 1e9,
            share(bytes, STREAM_BYTES)
        ));
    }
    if let Some(row) = sent {
        part.smaller.push(format!(
            "sent {} messages over both ways together instead of 100 million on each ({:.2} %)",
            row.proof.requests,
            share(row.proof.requests, MESSAGES)
        ));
    }
}
