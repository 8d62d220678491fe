//! A call: looptax itself as a child, with the tool's command; what it printed is the text, its JSON the result.

use std::env;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_host::children::{Bounds, Cut, Heard, RESULT_FILE, listen};
use serde_json::{Deserializer, Value, json};

use super::tools::Call;

/// A record of a comparison has some 100 kB, more with many connections.
const MOST_RESULT_BYTES: usize = 16 << 20;
/// Far over what a table of servers or of verdicts has.
const MOST_TEXT_BYTES: usize = 64 << 10;
/// A comparison stops its server and judges what it has in half a second.
const GRACE: Duration = Duration::from_millis(1500);

/// Runs it to its end; the result of `tools/call`.
pub(super) fn run(call: &Call, keeps_records: bool, stop: &AtomicBool) -> Value {
    let bounds = Bounds {
        within: call.within,
        grace: GRACE,
        most_result_bytes: MOST_RESULT_BYTES,
        most_text_bytes: MOST_TEXT_BYTES,
        stop,
    };
    let heard = command(call, keeps_records).and_then(|mut command| listen(&mut command, &bounds));
    match heard {
        Ok(heard) => result(call, &heard),
        Err(error) => refused(&format!("looptax cannot be started: {error}")),
    }
}

fn command(call: &Call, keeps_records: bool) -> std::io::Result<Command> {
    #[allow(clippy::disallowed_methods, reason = "looptax itself, with a command that only looks")]
    let mut command = Command::new(env::current_exe()?);
    command.arg(call.command).args(&call.options);
    if call.measures && !keeps_records {
        command.args(["--no-history", "--output", RESULT_FILE]);
    } else {
        command.arg(format!("--json={RESULT_FILE}"));
    }
    // What a client has written is a word here, whatever it begins with.
    if !call.words.is_empty() {
        command.arg("--").args(&call.words);
    }
    Ok(command)
}

fn result(call: &Call, heard: &Heard) -> Value {
    let text = |bytes: &[u8]| {
        let cut = if bytes.len() == MOST_TEXT_BYTES { "\n(the rest is left out)" } else { "" };
        String::from_utf8_lossy(bytes).trim_end().to_owned() + cut
    };
    // A comparison writes its record again when it has judged it: the last one counts.
    let values = Deserializer::from_slice(&heard.result).into_iter::<Value>();
    let value = values.map_while(Result::ok).last();
    let printed: String = {
        let lines = text(&heard.stdout);
        let lines = lines.lines().filter(|it| !it.ends_with(RESULT_FILE));
        lines.collect::<Vec<_>>().join("\n")
    };
    let within = call.within.as_secs();
    let cut = match heard.cut {
        Some(Cut::Time) => format!("ended by its time limit of {within} s"),
        Some(Cut::Size) => format!("ended: its result has more than {MOST_RESULT_BYTES} bytes"),
        Some(Cut::Stopped) => "ended by its client".to_owned(),
        None if value.is_none() && heard.code.is_none() => "ended by a signal".to_owned(),
        None => String::new(),
    };
    let words = [printed, text(&heard.stderr), cut];
    let words: Vec<_> = words.into_iter().filter(|it| !it.is_empty()).collect();
    // 2 says that it was not done: the environment, or what was asked for.
    let is_error = value.is_none() || heard.code == Some(2) || heard.cut == Some(Cut::Size);
    let mut result = answer(&words.join("\n\n"), is_error);
    if let Some(value) = value {
        result["structuredContent"] = if value.is_object() { value } else { json!({ "result": value }) };
    }
    result
}

/// A call that is not made, and why.
pub(super) fn refused(words: &str) -> Value {
    answer(words, true)
}

fn answer(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}
