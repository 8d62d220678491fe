//! A call of a tool: runs looptax itself as a child, with the tool's command. The text that the child prints becomes
//! the text of the result. The JSON that it prints becomes the structured result.

use std::env;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_host::children::{Bounds, Cut, Heard, RESULT_FILE, listen};
use serde_json::{Deserializer, Value, json};

use super::tools::Call;

/// Largest size of the JSON: the record of a comparison has about 100 kB, more with many connections.
const MOST_RESULT_BYTES: usize = 16 << 20;
/// Largest size of the text, far more than a table of servers or of verdicts needs.
const MOST_TEXT_BYTES: usize = 64 << 10;
/// Time that a child may take to end: a comparison stops its server and judges its data in half a second.
const GRACE: Duration = Duration::from_millis(1500);

/// Runs the call to its end, and returns the result for `tools/call`.
pub(super) fn run(call: &Call, keeps_records: bool, stop: &AtomicBool) -> Value {
    let bounds = Bounds {
        within: call.within,
        grace: GRACE,
        most_result_bytes: MOST_RESULT_BYTES,
        most_text_bytes: MOST_TEXT_BYTES,
        stop,
    };
    #[allow(clippy::disallowed_methods, reason = "looptax itself, with a command that only reads")]
    let heard = env::current_exe().map(Command::new).and_then(|mut looptax| {
        looptax.args(words(call, keeps_records));
        listen(&mut looptax, &bounds)
    });
    match heard {
        Ok(heard) => result(call, &heard),
        Err(error) => refused(&format!("cannot start looptax: {error}")),
    }
}

/// Returns the arguments with which looptax runs as a child.
fn words(call: &Call, keeps_records: bool) -> Vec<String> {
    let mut words = vec![call.command.to_owned()];
    words.extend(call.options.iter().cloned());
    if call.measures && !keeps_records {
        words.extend(["--no-history".to_owned(), format!("--output={RESULT_FILE}")]);
    } else {
        words.push(format!("--json={RESULT_FILE}"));
    }
    // After `--`, looptax does not parse a client's word as an option, even if the word begins with a dash.
    if !call.words.is_empty() {
        words.push("--".to_owned());
        words.extend(call.words.iter().cloned());
    }
    words
}

fn result(call: &Call, heard: &Heard) -> Value {
    let text = |bytes: &[u8]| {
        let cut = if bytes.len() == MOST_TEXT_BYTES { "\n(the rest is left out)" } else { "" };
        String::from_utf8_lossy(bytes).trim_end().to_owned() + cut
    };
    // A comparison writes its record again after judging it, so the last record counts.
    let values = Deserializer::from_slice(&heard.result).into_iter::<Value>();
    let value = values.map_while(Result::ok).last();
    let printed: String = {
        let lines = text(&heard.stdout);
        let lines = lines.lines().filter(|it| !it.ends_with(RESULT_FILE));
        lines.collect::<Vec<_>>().join("\n")
    };
    let within = call.within.as_secs();
    let cut = match heard.cut {
        Some(Cut::Time) => format!("stopped after the time limit of {within} s"),
        Some(Cut::Size) => format!("stopped: the result has more than {MOST_RESULT_BYTES} bytes"),
        Some(Cut::Stopped) => "stopped by its client".to_owned(),
        None if value.is_none() && heard.code.is_none() => "ended by a signal".to_owned(),
        None => String::new(),
    };
    let words = [printed, text(&heard.stderr), cut];
    let words: Vec<_> = words.into_iter().filter(|it| !it.is_empty()).collect();
    // Exit code 2 means that the command did not do its work, because of the environment or of its arguments.
    let is_error = value.is_none() || heard.code == Some(2) || heard.cut == Some(Cut::Size);
    let mut result = answer(&words.join("\n\n"), is_error);
    if let Some(value) = value {
        result["structuredContent"] = if value.is_object() { value } else { json!({ "result": value }) };
    }
    result
}

/// Returns the result of a call that was refused, with the reason.
pub(super) fn refused(words: &str) -> Value {
    answer(words, true)
}

fn answer(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_leaves_a_record_only_if_that_was_said_at_the_start() {
        let call = Call { command: "compare", words: vec!["echo".to_owned()], measures: true, ..Call::default() };
        let without = ["compare", "--no-history", "--output=/proc/self/fd/0", "--", "echo"];
        assert_eq!(words(&call, false), without);
        assert_eq!(words(&call, true), ["compare", "--json=/proc/self/fd/0", "--", "echo"]);
    }

    #[test]
    fn the_last_whole_value_is_the_result_and_a_list_is_a_field() {
        let check = |text: &str, code, value: Value, is_error| {
            let heard = Heard { code: Some(code), result: text.into(), stdout: b"said\n".into(), ..Heard::default() };
            let result = result(&Call::default(), &heard);
            assert_eq!((&result["structuredContent"], &result["isError"]), (&value, &json!(is_error)), "{text}");
            assert_eq!(result["content"][0]["text"], "said");
        };
        check("{\"a\":1}\n{\"a\":2}\n", 0, json!({"a": 2}), false);
        check("{\"a\":1}\n{\"a\":", 130, json!({"a": 1}), false);
        check("[1]", 1, json!({"result": [1]}), false);
        check("[1]", 2, json!({"result": [1]}), true);
        check("", 0, Value::Null, true);
    }
}
