//! Messages that are broken, endless, deeply nested, of wrong types, or contain options.

use looptax_testkit::dice::Dice;
use looptax_testkit::patience;
use looptax_testkit::scratch::Scratch;
use serde_json::{Value, json};

use super::{Mcp, PATIENCE};

const SEED: u64 = 0x6d63_7000;

/// Returns valid messages, which the test then changes. None of the tools measures if a message arrives unchanged.
fn messages() -> Vec<Value> {
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let all = [
        ("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}})),
        ("tools/list", json!({})),
        ("ping", json!({})),
        ("tools/call", call("dsn", json!({"address": "redis://127.0.0.1", "for": ["php"]}))),
        ("tools/call", call("check", json!({"target": "redis://127.0.0.1:1", "connections": 3}))),
        ("tools/call", call("check", json!({"target": "x.env", "user": "root"}))),
        ("tools/call", call("find", json!({"once": true}))),
        ("tools/call", call("watch", json!({"seconds": 1}))),
        ("tools/call", call("show", json!({"run": "last"}))),
        ("tools/call", call("show", json!({"most": 3}))),
        ("tools/call", call("diff", json!({"before": "a", "after": "b"}))),
        ("tools/call", call("compare", json!({"target": "private:none", "connections": [1]}))),
        ("notifications/cancelled", json!({"requestId": 3})),
    ];
    let all =
        all.into_iter().map(|(method, params)| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
    all.collect()
}

/// Returns the values that replace other values.
fn values() -> Vec<Value> {
    let strings = [
        "--yes",
        "-o",
        "--json=smuggled",
        "--write",
        "--trust-peer",
        "--show-password",
        "--record=/etc/shadow",
        "--",
        "../../../etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/dev/zero",
        "-",
        "",
        "a\u{0}b",
        "\u{1b}[31m\u{7}",
        "\r\n{\"jsonrpc\":\"2.0\"}",
        "\u{202e}x",
        "redis://127.0.0.1 --own-server",
        "private:redis",
        "private:../x",
        "private:redis,--yes",
        "script:/etc/passwd",
        "$(touch smuggled)",
        "'; touch smuggled; '",
    ];
    let mut values: Vec<Value> = strings.iter().map(|it| json!(it)).collect();
    values.extend([
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(u64::MAX),
        json!(1.5),
        json!([]),
        json!({}),
        json!(["--yes", 3, null]),
        json!({"--yes": true}),
        json!("x".repeat(100_000)),
        json!(vec![1; 10_000]),
    ]);
    values
}

/// Replaces or removes a random part of a value, or adds a field.
fn change(value: &mut Value, dice: &mut Dice, values: &[Value]) {
    let is_here = dice.below(4) == 0;
    match value {
        Value::Object(fields) if !is_here && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = &names[dice.below(names.len())];
            match dice.below(6) {
                0 => drop(fields.remove(name)),
                1 => drop(fields.insert("yes".to_owned(), values[dice.below(values.len())].clone())),
                _ => change(&mut fields[name], dice, values),
            }
        }
        Value::Array(values_here) if !is_here && !values_here.is_empty() => {
            let idx = dice.below(values_here.len());
            change(&mut values_here[idx], dice, values);
        }
        _ => *value = values[dice.below(values.len())].clone(),
    }
}

/// Returns a line that may be anything, but contains no line break.
fn broken(idx: usize, dice: &mut Dice, messages: &[Value], values: &[Value]) -> Vec<u8> {
    let mut message = messages[dice.below(messages.len())].clone();
    message["id"] = json!(idx);
    let way = dice.below(9);
    let arguments = message["params"].get("arguments").is_some();
    match way {
        // Most changes are in the arguments, from which looptax makes the command of a call.
        0..=2 if arguments => change(&mut message["params"]["arguments"], dice, values),
        0..=3 => (0..=dice.below(2)).for_each(|_| change(&mut message, dice, values)),
        _ => {}
    }
    let mut line = message.to_string().into_bytes();
    match way {
        // Not changed further: valid lines have to come between the broken ones.
        0..=3 | 8 => {}
        // Changes one or several bits.
        4 | 5 => (0..=dice.below(3)).for_each(|_| {
            let at = dice.below(line.len());
            line[at] ^= 1 << dice.below(8);
        }),
        6 => line.truncate(dice.below(line.len())),
        _ => {
            let deep = 10_usize.pow(1 + dice.below(5) as u32);
            let open = if dice.below(2) == 0 { "[" } else { "{\"params\":" };
            line = open.repeat(deep).into_bytes();
        }
    }
    line.retain(|it| *it != b'\n');
    line
}

fn n_children(pid: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let children = threads.map(|it| std::fs::read_to_string(it.unwrap().path().join("children")).unwrap_or_default());
    children.map(|it| it.split_whitespace().count()).sum()
}

#[track_caller]
fn check_broken(n_messages: usize) {
    let scratch = Scratch::new();
    let mut mcp = Mcp::start(&scratch, &[]);
    let (messages, values) = (messages(), values());
    let mut dice = Dice::new(SEED);
    for idx in 0..n_messages {
        mcp.say(&broken(idx, &mut dice, &messages, &values));
        // looptax still answers, whatever the line was; `next` checks each line of its output.
        assert_eq!(mcp.ask("ping", &json!({}))["result"], json!({}));
        // Wait until fewer calls are running, so that the next call is not refused for their number.
        let has_place = || (n_children(mcp.child.id()) < 4).then_some(());
        patience::wait_for("the end of a call", PATIENCE, has_place);
    }
    let have_ended = || (n_children(mcp.child.id()) == 0).then_some(());
    patience::wait_for("the end of all calls", PATIENCE, have_ended);
    // A message that is far too long, and valid messages after it.
    mcp.say(&vec![b'x'; 5 << 20]);
    assert_eq!(mcp.next_of(&Value::Null)["error"]["code"], -32700);
    assert_eq!(mcp.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().len(), 7);
    let (status, stderr, heard) = mcp.end();
    assert_eq!((status.code(), &*stderr), (Some(0), ""));
    let n_of = |is_it: &dyn Fn(&Value) -> bool| heard.iter().filter(|it| is_it(it)).count();
    let n_of_code = |code: i32| n_of(&|it| it["error"]["code"] == code);
    let counts = [
        n_of_code(-32700),
        n_of_code(-32600),
        n_of_code(-32602),
        n_of(&|it| it["result"]["isError"] == true),
        n_of(&|it| it["result"]["structuredContent"].is_object()),
    ];
    // The messages have reached the code for which they were made.
    assert!(counts.iter().all(|it| *it > n_messages / 200), "{counts:?} of {n_messages}");
    let text = serde_json::to_string(&heard).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    // The private servers of valid calls are gone too.
    scratch.check_nothing_left_after(PATIENCE);
    let left: Vec<_> = std::fs::read_dir(scratch.work()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, [".local"], "files that no tool may write");
}

#[test]
fn a_hundred_broken_messages_are_answered_in_json_rpc_or_not_at_all() {
    check_broken(100);
}

#[test]
fn a_thousand_broken_messages_are_answered_in_json_rpc_or_not_at_all() {
    check_broken(1000);
}
