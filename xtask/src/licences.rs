//! `cargo xtask licences`: licences, bans and sources of the whole tree, by the rules of deny.toml.
//!
//! The part of cargo-deny that needs neither network nor installation, for machines that lack it. It
//! trusts what each package says of itself; texts and advisories are cargo-deny's.

use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::Package;
use toml::{Table, Value};

use crate::workspace;

struct Policy {
    licences: Vec<String>,
    banned: Vec<String>,
    registries: Vec<String>,
}

/// Fails on every package that deny.toml does not let in.
pub(crate) fn run() -> Result<()> {
    let text = fs::read_to_string(workspace::root()?.join("deny.toml"))?;
    let policy = Policy::parse(&text)?;
    let metadata = workspace::metadata()?;
    let found: Vec<String> = metadata
        .packages
        .iter()
        .flat_map(|package| policy.judge(package))
        .collect();
    workspace::fail_on(&found)
}

impl Policy {
    fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("deny.toml is no TOML")?;
        Ok(Self {
            licences: strings(&table, "licenses", "allow")?,
            banned: strings(&table, "bans", "deny")?,
            registries: strings(&table, "sources", "allow-registry")?,
        })
    }

    fn judge(&self, package: &Package) -> Vec<String> {
        let name = format!("{} {}", package.name, package.version);
        let mut found = Vec::new();
        match &package.license {
            Some(licence) => found.extend(self.licence_objection(licence)),
            None => found.push("states no licence".to_owned()),
        }
        if self.banned.iter().any(|banned| *banned == *package.name) {
            found.push("is banned".to_owned());
        }
        if let Some(source) = &package.source {
            found.extend(self.source_objection(&source.repr));
        }
        found
            .into_iter()
            .map(|words| format!("{name} {words}"))
            .collect()
    }

    fn licence_objection(&self, licence: &str) -> Option<String> {
        let Ok(expression) = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX) else {
            return Some(format!(
                "states a licence that is no SPDX expression: `{licence}`"
            ));
        };
        // An exception (`WITH …`) only adds rights, but is not in the list by itself: not accepted.
        let is_allowed = expression.evaluate(|requirement| {
            let text = requirement.to_string();
            self.licences.contains(&text)
        });
        (!is_allowed).then(|| format!("has a licence that deny.toml does not allow: `{licence}`"))
    }

    fn source_objection(&self, source: &str) -> Option<String> {
        let is_allowed = self
            .registries
            .iter()
            .any(|url| source == format!("registry+{url}"));
        (!is_allowed)
            .then(|| format!("comes from a source that deny.toml does not allow: {source}"))
    }
}

/// The strings of a list in a section; of a table in the list, its `name`.
fn strings(table: &Table, section: &str, key: &str) -> Result<Vec<String>> {
    let list = table
        .get(section)
        .and_then(|section| section.get(key))
        .and_then(Value::as_array)
        .with_context(|| format!("deny.toml has no list `{key}` in `[{section}]`"))?;
    let name = |value: &Value| {
        value
            .get("name")
            .unwrap_or(value)
            .as_str()
            .map(str::to_owned)
    };
    list.iter()
        .map(|value| {
            name(value).with_context(|| format!("`{key}` in deny.toml: not a name: {value}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Unicode-3.0"]
        [bans]
        deny = ["left-pad", { name = "tokio", reason = "none" }]
        [sources]
        allow-registry = ["https://example.org/index"]
    "#;

    #[track_caller]
    fn check(licence: &str, is_fine: bool) {
        let policy = Policy::parse(RULES).expect("valid rules");
        let found = policy.licence_objection(licence);
        assert_eq!(found.is_none(), is_fine, "{licence}: {found:?}");
    }

    #[test]
    fn evaluates_licence_expressions() {
        check("MIT", true);
        check("Apache-2.0 OR MIT", true);
        check("Apache-2.0/MIT", true);
        check("Apache-2.0 WITH LLVM-exception OR MIT", true);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("MIT AND Zlib", false);
        check("GPL-3.0-only", false);
        check("my own words", false);
    }

    #[test]
    fn reads_names_with_and_without_a_reason() {
        let policy = Policy::parse(RULES).expect("valid rules");
        assert_eq!(policy.banned, ["left-pad", "tokio"]);
    }

    #[test]
    fn accepts_the_listed_registry_only() {
        let policy = Policy::parse(RULES).expect("valid rules");
        assert_eq!(
            policy.source_objection("registry+https://example.org/index"),
            None
        );
        assert!(
            policy
                .source_objection("git+https://example.org/index")
                .is_some()
        );
    }

    #[test]
    fn refuses_rules_without_a_list() {
        assert!(Policy::parse("[licenses]\n").is_err());
    }
}
