//! SARIF 2.1.0 for code scanners and their viewers: what the files of a source tree show about their connections.
//!
//! The rules are the codes of `check`. Paths are relative to the given folder, which `%SRCROOT%` represents.
//!
//! # Source
//! OASIS, Static Analysis Results Interchange Format 2.1.0, 2020-03-27.

use looptax_model::record::{Finding, FindingLevel, PointCode, Region, Replacement, SourceFile};
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const ROOT: &str = "%SRCROOT%";

#[derive(Debug, Clone, Copy)]
pub struct SarifLog<'a> {
    /// The folder to which paths are relative, as a URI that ends with a slash.
    pub root: &'a str,
    pub files: &'a [SourceFile],
    /// The files that were not read, each with the reason, as sentences.
    pub left_out: &'a [String],
    pub version: &'a str,
    /// The URL of the program's home page.
    pub home: &'a str,
}

pub fn sarif(log: &SarifLog<'_>) -> Value {
    let told = || log.files.iter().flat_map(|file| file.findings.iter().map(move |it| (file, it)));
    let mut codes: Vec<PointCode> = Vec::new();
    for (_, finding) in told() {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    let rules = codes.iter().map(|it| rule(*it, told().find(|(_, finding)| finding.code == *it).map(|it| it.1.level)));
    let results = told().map(|(file, finding)| {
        let idx = codes.iter().position(|it| *it == finding.code);
        result(file, finding, idx)
    });
    let artifacts = log.files.iter().filter(|it| it.encoding.is_some() && !it.findings.is_empty());
    let artifacts: Vec<Value> =
        artifacts.map(|it| json!({"location": location(&it.uri), "encoding": it.encoding})).collect();
    let notes =
        log.left_out.iter().map(|it| json!({"level": "warning", "message": {"text": format!("not read: {it}")}}));
    let mut run = json!({
        "tool": {"driver": {
            "name": "looptax",
            "version": log.version,
            "semanticVersion": log.version,
            "informationUri": log.home,
            "rules": rules.collect::<Vec<_>>(),
        }},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": log.root}},
        "invocations": [{
            "executionSuccessful": true,
            "toolExecutionNotifications": notes.collect::<Vec<_>>(),
        }],
        "results": results.collect::<Vec<_>>(),
    });
    if !artifacts.is_empty() {
        run["artifacts"] = artifacts.into();
    }
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
}

fn rule(code: PointCode, level: Option<FindingLevel>) -> Value {
    let sentence = PointCode::ALL.iter().find(|it| it.0 == code).map_or("", |it| it.1.trim());
    json!({
        "id": code,
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence},
        "help": {"text": "On a running machine, `looptax check` shows whether the socket would work; `looptax switch` \
            writes the change and proves it."},
        "defaultConfiguration": {"level": level.map_or("note", level_word)},
    })
}

fn result(file: &SourceFile, finding: &Finding, rule_idx: Option<usize>) -> Value {
    let mut result = json!({
        "ruleId": finding.code,
        "ruleIndex": rule_idx,
        "level": level_word(finding.level),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": location(&file.uri), "region": region(finding.region)}}],
    });
    if !finding.fix.is_empty() {
        let replacement =
            |it: &Replacement| json!({"deletedRegion": region(it.region), "insertedContent": {"text": it.text}});
        let replacements: Vec<Value> = finding.fix.iter().map(replacement).collect();
        result["fixes"] = json!([{
            "description": {"text": "Use the Unix socket"},
            "artifactChanges": [{"artifactLocation": location(&file.uri), "replacements": replacements}],
        }]);
    }
    result
}

fn location(uri: &str) -> Value {
    if uri.starts_with("file:") { json!({"uri": uri}) } else { json!({"uri": uri, "uriBaseId": ROOT}) }
}

fn region(region: Region) -> Value {
    let Region { start, end } = region;
    json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column})
}

const fn level_word(level: FindingLevel) -> &'static str {
    match level {
        FindingLevel::Error => "error",
        FindingLevel::Warning => "warning",
        FindingLevel::Note => "note",
    }
}
