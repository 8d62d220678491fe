//! `looptax mcp`: with valid requests, with hostile messages, and with secrets in the environment.

mod client;
mod hostile;
mod secrets;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use looptax_testkit::patience;
use looptax_testkit::runner::{Looptax, send};
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{compare, exe, saved};

const PATIENCE: Duration = Duration::from_secs(300);
/// The last arguments of a run: the shortest run with an interval.
const SHORT: [&str; 9] = ["echo", "-c", "1", "--fixed", "6", "--slice-ms", "10", "--warm-up", "0s"];

/// A running `looptax mcp`, and its output.
struct Mcp {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<String>>,
    /// All messages that it has sent.
    heard: Vec<Value>,
    n_asked: u64,
}

impl Mcp {
    fn start(scratch: &Scratch, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(exe());
        command.arg("mcp").current_dir(scratch.work()).env_clear().env("HOME", scratch.work());
        command.env("TMPDIR", scratch.tmp()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let mut lines = stdout.split(b'\n').map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        let mut errors = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr: Some(stderr), heard: Vec::new(), n_asked: 0 }
    }

    fn say(&mut self, line: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(&[line, b"\n"].concat()).unwrap();
    }

    /// Returns its next message, which has to be a message of JSON-RPC.
    #[track_caller]
    fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("it answers");
        let message: Value = serde_json::from_slice(&line).expect("a line is JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        assert!(message.get("id").is_some() && (message["result"].is_object() != message["error"].is_object()));
        self.heard.push(message.clone());
        message
    }

    /// Sends a request and returns the answer to it; other messages that arrive before are kept.
    #[track_caller]
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.next_of(&id)
    }

    /// Returns the next message with this id.
    #[track_caller]
    fn next_of(&mut self, id: &Value) -> Value {
        loop {
            let message = self.next();
            if message["id"] == *id {
                return message;
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.n_asked += 1;
        let id = json!(format!("test {}", self.n_asked));
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(message.to_string().as_bytes());
        id
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Closes its input. Returns how it ended, its text on stderr, and all its messages.
    #[track_caller]
    fn end(mut self) -> (ExitStatus, String, Vec<Value>) {
        self.stdin = None;
        self.wait()
    }

    #[track_caller]
    fn wait(mut self) -> (ExitStatus, String, Vec<Value>) {
        let child = &mut self.child;
        let status = patience::wait_for("its end", PATIENCE, || child.try_wait().unwrap());
        while let Ok(line) = self.lines.recv() {
            self.heard.push(serde_json::from_slice(&line).expect("a line is JSON"));
        }
        (status, self.stderr.take().unwrap().join().unwrap(), std::mem::take(&mut self.heard))
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Starts `looptax mcp` and a comparison in it; returns when the comparison has started its server.
#[track_caller]
fn comparing(scratch: &Scratch) -> (Mcp, Value) {
    let mut mcp = Mcp::start(scratch, &[]);
    let id = mcp.request("tools/call", &json!({"name": "compare", "arguments": {"target": "echo"}}));
    let has_begun = || fs::read_dir(scratch.tmp()).unwrap().next();
    patience::wait_for("a scratch folder", PATIENCE, has_begun).unwrap();
    (mcp, id)
}

#[test]
fn versions_are_negotiated_as_each_of_them_has_it() {
    let scratch = Scratch::new();
    let mut mcp = Mcp::start(&scratch, &[]);
    for (wanted, given) in [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")] {
        let answer = mcp.ask("initialize", &json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": {}}));
        assert_eq!(answer["result"]["protocolVersion"], given);
        assert_eq!(answer["result"]["serverInfo"]["name"], "looptax");
    }
    assert_eq!(mcp.ask("ping", &json!({}))["result"], json!({}));
    let meta = |version: &str| {
        let [version_key, capabilities] =
            ["protocolVersion", "clientCapabilities"].map(|it| format!("io.modelcontextprotocol/{it}"));
        json!({"_meta": {version_key: version, capabilities: {}}})
    };
    let answer = mcp.ask("server/discover", &meta("2026-07-28"));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["supportedVersions"][0], "2026-07-28");
    let answer = mcp.ask("tools/list", &meta("2027-01-01"));
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["requested"]),
        (&json!(-32022), &json!("2027-01-01"))
    );
    for (method, params, code) in [
        ("ping", meta("2026-07-28"), -32601),
        ("server/discover", json!({}), -32601),
        ("resources/list", json!({}), -32601),
        ("initialize", json!({}), -32602),
        ("tools/list", json!({"cursor": "x"}), -32602),
        ("tools/call", json!({"name": "switch", "arguments": {}}), -32602),
        ("tools/call", json!({"name": "run"}), -32602),
        ("tools/call", json!({"name": 3}), -32602),
        ("tools/call", json!({}), -32602),
        ("ping", json!([]), -32602),
    ] {
        assert_eq!(mcp.ask(method, &params)["error"]["code"], code, "{method} {params}");
    }
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("3", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
    ] {
        mcp.say(line.as_bytes());
        assert_eq!(mcp.next()["error"]["code"], code, "{line}");
    }
    // looptax must not answer any of these messages.
    mcp.say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    mcp.say(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    mcp.say(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#);
    mcp.say(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"find"}}"#);
    mcp.say(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    let n_heard = mcp.heard.len();
    mcp.ask("ping", &json!({}));
    assert_eq!(mcp.heard.len(), n_heard + 1);
    let (status, stderr, _) = mcp.end();
    assert_eq!((status.code(), &*stderr), (Some(0), ""));
}

#[test]
fn a_result_is_the_json_of_the_command_and_its_text_is_what_the_command_prints() {
    let scratch = Scratch::new();
    compare(&scratch).args(SHORT).run().expect_code(0);
    let mut mcp = Mcp::start(&scratch, &[]);
    let printed = |args: &[&str]| {
        let run = Looptax::new(exe(), &scratch).args(args).env("COLUMNS", "").run();
        run.expect_code(0);
        run.stdout
    };
    let json = |args: &[&str]| serde_json::from_str::<Value>(&printed(args)).unwrap();
    let result = mcp.call("show", &json!({"run": "r.json"}));
    assert_eq!(result["structuredContent"], json(&["show", "--json", "r.json"]));
    assert_eq!(text(&result), printed(&["show", "r.json"]).trim_end());
    let result = mcp.call("diff", &json!({"before": "r.json", "after": "r.json"}));
    assert_eq!(result["structuredContent"], json(&["diff", "--json", "r.json", "r.json"]));
    let address = "mysql://u@127.0.0.1:1/d";
    let result = mcp.call("dsn", &json!({"address": address, "for": ["php"], "socket": "/run/x.sock"}));
    let spelled = json(&["dsn", "--json", "--for", "php", "--socket", "/run/x.sock", address]);
    assert_eq!(result["structuredContent"], json!({ "result": spelled }));
    let result = mcp.call("show", &json!({"most": 5}));
    assert_eq!(result["structuredContent"]["result"][0]["id"], saved(&scratch)["id"]);
    // The result of the check is "no", which is a result and not an error.
    let result = mcp.call("check", &json!({"target": address}));
    assert_eq!(
        (&result["isError"], result["structuredContent"]["result"].is_array()),
        (&json!(false), true),
        "{result}"
    );
    let result = mcp.call("show", &json!({"run": "nothing"}));
    assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None));
    assert!(text(&result).contains("hint: "), "{result}");
    assert_eq!(mcp.end().0.code(), Some(0));
}

#[test]
fn a_cancelled_call_is_not_answered_and_leaves_nothing() {
    let scratch = Scratch::new();
    let (mut mcp, id) = comparing(&scratch);
    let second = mcp.call("compare", &json!({"target": "echo"}));
    assert!(second["isError"] == true && text(&second).contains("a comparison is running"), "{second}");
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    mcp.say(cancelled.to_string().as_bytes());
    let is_clean = || fs::read_dir(scratch.tmp()).unwrap().next().is_none().then_some(());
    patience::wait_for("the end of the comparison", PATIENCE, is_clean);
    let (status, stderr, heard) = mcp.end();
    assert_eq!((status.code(), &*stderr), (Some(0), ""));
    assert!(heard.iter().all(|it| it["id"] != id), "{heard:?}");
    scratch.check_nothing_left();
}

#[test]
fn children_end_with_the_input_and_with_a_signal() {
    let scratch = Scratch::new();
    let (mcp, _) = comparing(&scratch);
    assert_eq!(mcp.end().0.code(), Some(0));
    scratch.check_nothing_left_after(PATIENCE);
    let (mcp, _) = comparing(&scratch);
    send(mcp.child.id(), Signal::TERM);
    assert_eq!(mcp.wait().0.code(), Some(130));
    scratch.check_nothing_left_after(PATIENCE);
    // The same if looptax is killed.
    let (mcp, _) = comparing(&scratch);
    send(mcp.child.id(), Signal::KILL);
    assert_eq!(mcp.wait().0.code(), None);
    scratch.check_nothing_left_after(PATIENCE);
}
