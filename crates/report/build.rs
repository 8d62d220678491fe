//! Makes the table of real clients from `clients/clients.toml`: data of the project, read here so that
//! there is no second copy of it.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use toml::{Table, Value};

#[allow(
    clippy::disallowed_methods,
    reason = "a table for the compiler, in cargo's own folder"
)]
fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let data = Path::new(&manifest).join("../../clients/clients.toml");
    println!("cargo::rerun-if-changed={}", data.display());
    let text = fs::read_to_string(&data).expect("clients/clients.toml can be read");
    let table: Table = text.parse().expect("clients/clients.toml is TOML");
    let clients = table["client"].as_array().expect("`client` is a list");
    let mut code = String::from("&[\n");
    for client in clients {
        let client = client.as_table().expect("a client is a table");
        let _ = writeln!(
            code,
            "    RealClient {{ name: {}, library: {}, users: {}, like: {}, servers: {}, unix: {}, other: {}, differs: {} }},",
            text_of(client.get("name")),
            text_of(client.get("library")),
            text_of(client.get("users")),
            list_of(client.get("like")),
            list_of(client.get("servers")),
            model_of(&client["model"]["unix"]),
            model_of(&client["model"]["tcp"]),
            text_of(client.get("differs")),
        );
    }
    code += "]\n";
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("real_clients.rs"), code).expect("OUT_DIR can be written");
}

/// A literal; that of an empty text where there is none.
fn text_of(value: Option<&Value>) -> String {
    let text = value.map(|value| value.as_str().expect("a text"));
    format!("{:?}", text.unwrap_or_default())
}

fn list_of(value: Option<&Value>) -> String {
    let list = value.map(|value| value.as_array().expect("a list").as_slice());
    let texts: Vec<_> = list
        .unwrap_or_default()
        .iter()
        .map(|text| text_of(Some(text)))
        .collect();
    format!("&[{}]", texts.join(", "))
}

fn model_of(value: &Value) -> &'static str {
    match value.as_str() {
        Some("poll") => "Client::Poll",
        Some("poll-first") => "Client::PollFirst",
        Some("block") => "Client::Block",
        Some("event") => "Client::Event",
        other => panic!("no client model: {other:?}"),
    }
}
