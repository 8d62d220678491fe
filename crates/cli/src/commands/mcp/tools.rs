//! The tools of `mcp`: the arguments of each tool, and the command that the tool runs.
//!
//! The Rust types of the arguments define the schemas that clients see, and arguments are checked against these
//! schemas. A command that writes a file, loads a running server or needs a password is not a tool, and no tool has an
//! option for any of these.

use std::sync::LazyLock;
use std::time::Duration;

use looptax_model::dsn::secrets_in;
use looptax_model::record::{Checked, Diff, Found, PastRun, Record, Spelling, Watched, WatchedDiff, schema_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longest string in the arguments: the longest path that the kernel accepts.
const MOST_BYTES: usize = 4096;
/// Time limit for tools that measure nothing: two snapshots of a large machine take some seconds.
const LOOKING: Duration = Duration::from_secs(60);

/// All tools, in the order in which they are listed.
pub(super) static TOOLS: LazyLock<[Tool; 7]> = LazyLock::new(|| {
    [
        tool::<Find, Found>(
            "find",
            "Programs that pay for TCP",
            "Lists the database, cache and web servers of this machine with their sockets. Shows which local programs \
             are connected to these servers over TCP or over a Unix socket, the rates of these connections, and what \
             TCP costs the programs. Takes two snapshots, a second apart; sends nothing to any server. As root it sees \
             the processes of all users.",
        ),
        tool::<Check, Listed<Checked>>(
            "check",
            "Would the switch work?",
            "Checks whether one program's connection would work over the server's Unix socket: path, permissions, \
             account, backlog, and the changes to make. `target` is the connection's URL, the application's \
             configuration file, or its process. Opens a few connections to that server, and logs in if it knows the \
             password (from the file, or from LOOPTAX_PASSWORD in the environment of `looptax mcp`). Writes nothing.",
        ),
        tool::<Dsn, Listed<Vec<Spelling>>>(
            "dsn",
            "Connections as drivers expect them",
            "Writes a connection over the Unix socket in the form that each driver, framework or application \
             expects (mysqli, pgx, django, wordpress, ...). Passwords are shown as ****.",
        ),
        tool::<Watch, Watched>(
            "watch",
            "Requests by client",
            "For some seconds, counts and times the requests of local programs to local servers, over TCP and over \
             sockets. Sends nothing itself. Needs root (or CAP_BPF with CAP_PERFMON) and Linux 6.3 or newer.",
        ),
        tool::<Show, Shown>(
            "show",
            "List of runs",
            "Lists the runs that were measured and saved on this machine, the newest first. With `run` it judges the \
             saved record of that run again and shows its verdicts.",
        ),
        tool::<DiffOf, Differences>(
            "diff",
            "Two runs compared",
            "Compares two saved runs, or two counts of requests that a person has saved with `looptax watch --save`.",
        ),
        tool::<Compare, Record>(
            "compare",
            "Measure on a private server",
            "Measures what TCP costs compared with the Unix socket, and gives an interval for this cost: starts a \
             private copy of an installed server in a scratch folder, sends requests to the copy, stops it and removes \
             it. Running servers are not touched, but the load keeps one or two cores busy for half a minute or for \
             several minutes: ask the person first. One comparison runs at a time.",
        ),
    ]
});

pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    input: fn() -> Value,
    output: fn() -> Value,
    call: fn(Value) -> Result<Call, String>,
}

/// The command that a call runs.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) command: &'static str,
    /// Options, each as one word with its value: `--for=10s`.
    pub(super) options: Vec<String>,
    /// The words after `--`.
    pub(super) words: Vec<String>,
    pub(super) within: Duration,
    /// Whether the command starts a server and loads it.
    pub(super) measures: bool,
}

impl Tool {
    /// Returns the tool's description for a client. If the record of a comparison is kept, the description says that
    /// the tool writes.
    pub(super) fn describe(&self, keeps_records: bool) -> Value {
        let only_reads = !(keeps_records && self.name == "compare");
        let (mut input, mut output) = ((self.input)(), (self.output)());
        simplify(&mut input, true);
        simplify(&mut output, false);
        // Protocol versions before 2026-07-28 require `type` at the top of the schema, even if each alternative in the
        // schema has a `type` too.
        output["type"] = "object".into();
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input,
            "outputSchema": output,
            "annotations": {
                "title": self.title,
                "readOnlyHint": only_reads,
                "destructiveHint": false,
                "idempotentHint": only_reads,
                "openWorldHint": false,
            },
        })
    }

    /// Returns the command for these arguments. If they are not valid, returns the reason, without repeating the
    /// arguments.
    pub(super) fn call(&self, arguments: Value) -> Result<Call, String> {
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        check_strings(&arguments)?;
        (self.call)(arguments).map_err(|why| format!("{why}; see the inputSchema of `{}`", self.name))
    }
}

fn tool<A: Arguments, R: JsonSchema>(name: &'static str, title: &'static str, description: &'static str) -> Tool {
    let call = |arguments: Value| {
        // The error of the JSON parser is not shown, because it may repeat a value.
        let read = serde_json::from_value::<A>(arguments);
        read.map_err(|_| "an argument is missing, unknown, or of another type".to_owned())?.call()
    };
    Tool { name, title, description, input: schema_of::<A>, output: schema_of::<R>, call }
}

/// Removes parts of a schema that cause trouble in clients: formats that are specific to Rust, about which the
/// protocol's inspector warns, and null as a type. If null is allowed, the inspector sends a number as text; clients
/// leave arguments out instead of sending null.
fn simplify(schema: &mut Value, without_null: bool) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if let (true, Some(Value::Array(types))) = (without_null, fields.get("type")) {
                let first = types[0].clone();
                fields.insert("type".to_owned(), first);
            }
            fields.values_mut().for_each(|it| simplify(it, without_null));
        }
        Value::Array(values) => values.iter_mut().for_each(|it| simplify(it, without_null)),
        _ => {}
    }
}

/// Refuses strings that are not valid in any argument: secrets, control characters, very long strings.
fn check_strings(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if text.len() > MOST_BYTES => Err(format!("a string has more than {MOST_BYTES} bytes")),
        Value::String(text) if text.chars().any(char::is_control) => Err("a string has a control character".to_owned()),
        Value::String(text) if !secrets_in(text).is_empty() => {
            Err("an argument contains a password, and tools do not accept passwords: leave it out \
                (mysql://user@127.0.0.1/db); a person can set LOOPTAX_PASSWORD in the environment of `looptax mcp`"
                .to_owned())
        }
        Value::Array(values) => values.iter().try_for_each(check_strings),
        Value::Object(values) => values.values().try_for_each(check_strings),
        _ => Ok(()),
    }
}

trait Arguments: DeserializeOwned + JsonSchema {
    /// Returns the command that the tool runs with these arguments.
    fn call(self) -> Result<Call, String>;
}

/// Returns `--name=value` for each value.
fn options<T: ToString>(name: &str, values: impl IntoIterator<Item = T>) -> impl Iterator<Item = String> {
    values.into_iter().map(move |it| format!("--{name}={}", it.to_string()))
}

/// Returns `--name` if `is_wanted`.
fn flag(name: &str, is_wanted: bool) -> Option<String> {
    is_wanted.then(|| format!("--{name}"))
}

/// Returns `--name=` with the values, separated by commas; `None` if there are none.
fn list<T: ToString>(name: &str, values: &[T]) -> Option<String> {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    (!values.is_empty()).then(|| format!("--{name}={}", values.join(",")))
}

/// Refuses a word that looptax could mistake for a file or a list.
fn check_word(word: &str) -> Result<(), String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_+.:".contains(it);
    let is_word = !word.is_empty() && word.chars().all(is_plain);
    is_word.then_some(()).ok_or_else(|| "a name can only have letters, digits and - _ + . :".to_owned())
}

fn check_range(name: &str, value: u32, range: std::ops::RangeInclusive<u32>) -> Result<(), String> {
    let is_in = range.contains(&value);
    is_in.then_some(()).ok_or_else(|| format!("`{name}` has to be from {} to {}", range.start(), range.end()))
}

/// An object with a list in it, since older versions of the protocol allow only objects as results.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema")]
struct Listed<T> {
    result: T,
}

/// The result of `show`: the list of runs, or one run.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for its schema")]
enum Shown {
    List(Listed<Vec<PastRun>>),
    Run(Box<Record>),
}

/// The result of `diff`: for two runs, or for two saved counts of `watch`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for its schema")]
enum Differences {
    Runs(Diff),
    Looks(WatchedDiff),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Find {
    /// Take one snapshot, without rates.
    #[serde(default)]
    once: bool,
}

impl Arguments for Find {
    fn call(self) -> Result<Call, String> {
        let options = flag("once", self.once).into_iter().collect();
        Ok(Call { command: "find", options, within: LOOKING, ..Call::default() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Check {
    /// The connection as it is now, without its password (`mysql://user@127.0.0.1:3306/db`, `postgres://...`,
    /// `redis://...`); or the application's configuration file (wp-config.php, .env, settings.py, ...), or a folder; or
    /// the number of a process. Default: every program here that is connected to a server over TCP.
    target: Option<String>,
    /// Name of the application that reads the file, if the file does not show it.
    application: Option<String>,
    /// The client's process, if `target` is a URL or a file. The check uses the user and the mounts of this process.
    pid: Option<u32>,
    /// The client's user, such as www-data, if `pid` is not given.
    user: Option<String>,
    /// The server's socket, or the socket's folder. Default: the socket that looptax finds.
    socket: Option<String>,
    /// How many connections the client opens at once when it starts.
    #[schemars(range(min = 1, max = 1_000_000))]
    connections: Option<u32>,
}

impl Arguments for Check {
    fn call(self) -> Result<Call, String> {
        let options = options("as", self.application)
            .chain(options("pid", self.pid))
            .chain(options("user", self.user))
            .chain(options("socket", self.socket))
            .chain(options("connections", self.connections));
        let (options, words) = (options.collect(), self.target.into_iter().collect());
        Ok(Call { command: "check", options, words, within: LOOKING, ..Call::default() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dsn {
    /// The connection as it is now, without its password: `mysql://user@127.0.0.1:3306/db`.
    address: String,
    /// Drivers, frameworks, applications or languages (mysqli, django, php). Default: all.
    #[serde(default, rename = "for")]
    wanted: Vec<String>,
    /// The server's socket, or the socket's folder. Default: the socket that looptax finds.
    socket: Option<String>,
}

impl Arguments for Dsn {
    fn call(self) -> Result<Call, String> {
        self.wanted.iter().try_for_each(|it| check_word(it))?;
        let options = list("for", &self.wanted).into_iter().chain(options("socket", self.socket)).collect();
        Ok(Call { command: "dsn", options, words: vec![self.address], within: LOOKING, ..Call::default() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Watch {
    /// How many seconds to count. Default: 10.
    #[schemars(range(min = 1, max = 60))]
    seconds: Option<u32>,
    /// Include programs that looptax does not know as servers, such as the desktop bus.
    #[serde(default)]
    all: bool,
    /// Include clients and servers on other machines.
    #[serde(default)]
    elsewhere: bool,
}

impl Arguments for Watch {
    fn call(self) -> Result<Call, String> {
        let seconds = self.seconds.unwrap_or(10);
        check_range("seconds", seconds, 1..=60)?;
        let flags = [flag("all", self.all), flag("elsewhere", self.elsewhere)].into_iter().flatten();
        let options = ["--once".to_owned(), format!("--for={seconds}s")].into_iter().chain(flags).collect();
        let within = LOOKING + Duration::from_secs(seconds.into());
        Ok(Call { command: "watch", options, within, ..Call::default() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Show {
    /// One run: its name, its label, `last`, or a record's file. Default: list the runs.
    run: Option<String>,
    /// List at most this many runs. Default: 20.
    #[schemars(range(min = 1, max = 1000))]
    most: Option<u32>,
}

impl Arguments for Show {
    fn call(self) -> Result<Call, String> {
        let most = self.most.unwrap_or(20);
        check_range("most", most, 1..=1000)?;
        let (options, words) = (options("most", [most]).collect(), self.run.into_iter().collect());
        Ok(Call { command: "show", options, words, within: LOOKING, ..Call::default() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiffOf {
    /// The earlier run or count: a record's file, a run's name or label in the history, or a name of `looptax watch
    /// --save`.
    before: String,
    /// The later run or count.
    after: String,
}

impl Arguments for DiffOf {
    fn call(self) -> Result<Call, String> {
        let words = vec![self.before, self.after];
        Ok(Call { command: "diff", words, within: LOOKING, ..Call::default() })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Compare {
    /// private:mariadb, private:mysql, private:postgres, private:redis, private:valkey, private:memcached,
    /// private:ferretdb, private:pgbouncer, private:pgpool, private:php-fpm, private:http, or echo (no database).
    #[schemars(regex(pattern = r"^(private:[a-z-]+|echo)$"))]
    target: String,
    /// Numbers of connections; each number is a separate comparison. Default: 1.
    #[serde(default)]
    #[schemars(length(max = 4), inner(range(min = 1, max = 256)))]
    connections: Vec<u32>,
    /// Arms to compare: unix, tcp, tcp6, abstract, tls, tls-unix, bridge, nat, proxy, pasta, redirect. Default: unix and tcp.
    #[serde(default)]
    arms: Vec<String>,
    /// The requests: point-select, read-write, tpcb, get, set, ping, ... Default: the usual workload of the server.
    workload: Option<String>,
    /// Time limit in seconds; the result has what was measured until then. Default: 120.
    #[schemars(range(min = 10, max = 600))]
    seconds: Option<u32>,
}

impl Arguments for Compare {
    fn call(self) -> Result<Call, String> {
        // Only private servers and echo have such names; running servers are given by an address.
        let kind = self.target.strip_prefix("private:").unwrap_or("");
        let is_private = !kind.is_empty() && kind.chars().all(|it| it.is_ascii_lowercase() || it == '-');
        if !is_private && self.target != "echo" {
            return Err("`target` has to be a private server (private:redis, ...) or echo".to_owned());
        }
        if self.connections.len() > 4 {
            return Err("`connections` can have at most 4 numbers".to_owned());
        }
        self.connections.iter().try_for_each(|it| check_range("connections", *it, 1..=256))?;
        self.arms.iter().chain(&self.workload).try_for_each(|it| check_word(it))?;
        // A script is a file, and a storm opens as many connections as the machine allows, so both are refused.
        if self.workload.iter().any(|it| it.starts_with("script") || it == "storm") {
            return Err("`workload` has to be a built-in workload other than storm".to_owned());
        }
        let seconds = self.seconds.unwrap_or(120);
        check_range("seconds", seconds, 10..=600)?;
        let connections = if self.connections.is_empty() { vec![1] } else { self.connections };
        let options = ["--quick".to_owned()].into_iter();
        let options = options.chain(list("connections", &connections)).chain(list("arms", &self.arms));
        let options = options.chain(self.workload.map(|it| format!("--workload={it}"))).collect();
        let within = Duration::from_secs(seconds.into());
        Ok(Call { command: "compare", options, words: vec![self.target], within, measures: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, arguments: &Value) -> Result<Call, String> {
        TOOLS.iter().find(|it| it.name == tool).unwrap().call(arguments.clone())
    }

    #[track_caller]
    fn check(tool: &str, arguments: &Value, options: &[&str], words: &[&str]) {
        let call = call(tool, arguments).unwrap();
        assert_eq!(call.command, tool);
        assert_eq!((&*call.options, &*call.words), (&*strings(options), &*strings(words)));
    }

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|it| (*it).to_owned()).collect()
    }

    #[track_caller]
    fn check_refused(tool: &str, arguments: &Value, words: &str) {
        let why = call(tool, arguments).unwrap_err();
        assert!(why.contains(words), "{why}");
        assert!(!why.contains("qZ7"), "{why}");
    }

    #[test]
    fn an_argument_is_a_value_or_a_word_and_never_an_option() {
        check("find", &Value::Null, &[], &[]);
        check("check", &json!({"target": "--yes", "pid": 3}), &["--pid=3"], &["--yes"]);
        check("check", &json!({"target": "--trust-peer"}), &[], &["--trust-peer"]);
        check("dsn", &json!({"address": "-x", "for": ["php", "--all"]}), &["--for=php,--all"], &["-x"]);
        check("watch", &json!({"seconds": 1, "all": true}), &["--once", "--for=1s", "--all"], &[]);
        check("diff", &json!({"before": "--json=x", "after": "-"}), &[], &["--json=x", "-"]);
        let compare = ["--quick", "--connections=1,16", "--arms=unix,tls", "--workload=get"];
        let arguments =
            json!({"target": "private:redis", "connections": [1, 16], "arms": ["unix", "tls"], "workload": "get"});
        check("compare", &arguments, &compare, &["private:redis"]);
    }

    #[test]
    fn a_schema_has_one_type_for_each_argument_and_no_format_of_rust() {
        for tool in TOOLS.iter().map(|it| it.describe(false)) {
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert!(!tool.to_string().contains("\"format\":\""), "{tool}");
            let arguments = tool["inputSchema"]["properties"].as_object();
            assert!(arguments.into_iter().flat_map(|it| it.values()).all(|it| it["type"].is_string()), "{tool}");
            assert_eq!(
                (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]),
                (&json!("object"), &json!("object"))
            );
        }
    }

    #[test]
    fn one_tool_writes_a_record_where_that_was_said_at_the_start() {
        let tools = TOOLS.iter().map(|it| it.describe(true));
        let writing: Vec<Value> = tools.filter(|it| it["annotations"]["readOnlyHint"] == false).collect();
        assert!(writing.len() == 1 && writing[0]["name"] == "compare", "{writing:?}");
    }

    #[test]
    fn what_is_not_offered_is_refused_without_a_word_of_it() {
        for target in ["redis://127.0.0.1", "private:", "private:redis --yes", "--write", "private:redis,echo", ""] {
            check_refused("compare", &json!({ "target": target }), "`target`");
        }
        let with = |name: &str, value: Value| json!({"target": "echo", name: value});
        check_refused("compare", &with("workload", json!("script:qZ7.sql")), "built-in");
        check_refused("compare", &with("workload", json!("storm")), "built-in");
        check_refused("compare", &with("workload", json!("get,script:qZ7")), "can only have letters");
        check_refused("compare", &with("arms", json!(["../qZ7"])), "can only have letters");
        check_refused("compare", &with("connections", json!([100_000])), "from 1 to 256");
        check_refused("compare", &with("seconds", json!(601)), "from 10 to 600");
        check_refused("compare", &with("yes", json!(true)), "unknown");
        check_refused("dsn", &json!({"address": "mysql://u:qZ7@h/d"}), "LOOPTAX_PASSWORD");
        check_refused("check", &json!({"target": "host=h password=qZ7"}), "LOOPTAX_PASSWORD");
        check_refused("show", &json!({"run": "a\u{0}b"}), "control");
        check_refused("show", &json!({"run": "x".repeat(MOST_BYTES + 1)}), "bytes");
        check_refused("show", &json!({"run": ["qZ7"]}), "type");
        check_refused("show", &json!("qZ7"), "type");
        check_refused("watch", &json!({"seconds": "qZ7"}), "type");
    }
}
