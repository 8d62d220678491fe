//! A secret in each place where looptax finds secrets: no result contains it.

use std::fs;
use std::process::Command;

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use serde_json::json;

use super::{Mcp, text};
use crate::fixture::{Alive, Server};

/// Calls each tool while a server runs whose password is in its configuration, in an application's file, in another
/// program's environment and command line, and in the environment of `looptax mcp`.
#[track_caller]
fn check_kept(kind: Kind) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let (scratch, secret) = (Scratch::new(), server.password().to_owned());
    let url = server.url();
    let file = scratch.file(".env");
    fs::write(&file, format!("DATABASE_URL={url}\nREDIS_URL={url}\n")).unwrap();
    let mut command = Command::new("sleep");
    let client = Alive::spawn(command.args(["600"]).env("DATABASE_URL", &url).env("REDIS_URL", &url));
    let mut mcp = Mcp::start(&scratch, &[("LOOPTAX_PASSWORD", &secret)]);
    let without = url.replace(&format!(":{secret}@"), "@");
    assert!(!without.contains(&secret));
    let refused = json!({ "address": url });
    for (tool, arguments) in [
        ("find", json!({})),
        ("check", json!({ "target": without })),
        ("check", json!({ "target": file })),
        ("check", json!({ "pid": client.0.id() })),
        ("check", refused.clone()),
        ("check", json!({"target": without, "socket": url})),
        ("check", json!({"target": without, "user": format!("host=h password={secret}")})),
        ("dsn", json!({ "address": without })),
        ("dsn", refused.clone()),
        ("watch", json!({"seconds": 1})),
        ("show", json!({})),
        ("show", json!({ "run": file })),
        ("diff", json!({"before": file, "after": url})),
        ("compare", json!({ "target": url })),
    ] {
        let result = mcp.call(tool, &arguments);
        assert!(!text(&result).is_empty(), "{tool}");
        if arguments == refused {
            assert!(result["isError"] == true && text(&result).contains("LOOPTAX_PASSWORD"), "{result}");
        }
    }
    // looptax has used the password where it was needed: the login that `check` tries succeeds.
    let points = mcp.call("check", &json!({ "target": without }))["structuredContent"].to_string();
    assert!(points.contains("login-works"), "{points}");
    let (status, stderr, heard) = mcp.end();
    assert_eq!(status.code(), Some(0));
    let said = format!("{stderr}{}", serde_json::to_string(&heard).unwrap());
    assert!(!said.contains(&secret), "{said}");
}

#[test]
fn no_result_repeats_the_password_of_redis() {
    check_kept(Kind::Redis);
}

#[test]
fn no_result_repeats_the_password_of_postgres() {
    check_kept(Kind::Postgres);
}
