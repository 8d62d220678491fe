//! `cargo xtask licences`: checks licences, bans and sources of all dependencies, by the rules of deny.toml.
//!
//! This is the part of cargo-deny that needs neither a network nor an installation, for machines without cargo-deny. It
//! is as strict as cargo-deny: it checks every feature, wildcards, and allowances that no package needs. It trusts what
//! each package states about itself; only cargo-deny checks texts and advisories.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Package};
use toml::{Table, Value};

use crate::workspace;

struct Policy {
    licences: Vec<String>,
    /// Packages, each with a licence that only this package may have.
    exceptions: Vec<(String, String)>,
    banned: Vec<String>,
    registries: Vec<String>,
}

/// Allowances that packages need: licences, or exceptions for a package.
type Used = BTreeSet<(Option<String>, String)>;

/// Fails on every package that deny.toml does not allow, and on every allowance that no package needs.
pub(crate) fn run() -> Result<()> {
    let text = fs::read_to_string(workspace::root()?.join("deny.toml"))?;
    let policy = Policy::parse(&text)?;
    let metadata = workspace::metadata_of_all_features()?;
    let mut used = Used::new();
    let mut found: Vec<String> =
        metadata.packages.iter().flat_map(|package| policy.judge(package, &mut used)).collect();
    found.extend(policy.unused(&used));
    workspace::fail_on(&found)
}

impl Policy {
    fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("deny.toml is not valid TOML")?;
        Ok(Self {
            licences: strings(&table, "licenses", "allow")?,
            exceptions: exceptions(&table)?,
            banned: strings(&table, "bans", "deny")?,
            registries: strings(&table, "sources", "allow-registry")?,
        })
    }

    fn judge(&self, package: &Package, used: &mut Used) -> Vec<String> {
        let name = format!("{} {}", package.name, package.version);
        let mut found = Vec::new();
        match &package.license {
            Some(licence) => found.extend(self.licence_objection(&package.name, licence, used)),
            None => found.push("states no licence".to_owned()),
        }
        if self.banned.iter().any(|banned| *banned == *package.name) {
            found.push("is banned".to_owned());
        }
        let wildcards = package
            .dependencies
            .iter()
            .filter(|it| it.kind != DependencyKind::Development && it.path.is_none() && it.req.to_string() == "*");
        found.extend(wildcards.map(|it| format!("takes any version of {}", it.name)));
        if let Some(source) = &package.source {
            found.extend(self.source_objection(&source.repr));
        }
        found.into_iter().map(|words| format!("{name} {words}")).collect()
    }

    fn licence_objection(&self, name: &str, licence: &str, used: &mut Used) -> Option<String> {
        let Ok(expression) = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX) else {
            return Some(format!("states a licence that is not an SPDX expression: `{licence}`"));
        };
        // A licence exception (`WITH …`) only adds rights. But deny.toml does not list these exceptions, so they are
        // not accepted.
        let is_allowed = expression.evaluate(|requirement| {
            let text = requirement.to_string();
            let own = (name.to_owned(), text.clone());
            if self.exceptions.contains(&own) {
                used.insert((Some(own.0), own.1));
                return true;
            }
            let is_listed = self.licences.contains(&text);
            if is_listed {
                used.insert((None, text));
            }
            is_listed
        });
        (!is_allowed).then(|| format!("has a licence that deny.toml does not allow: `{licence}`"))
    }

    /// Lists allowances that no package needs. They have to be removed, so that the next package with such a licence is
    /// noticed.
    fn unused(&self, used: &Used) -> Vec<String> {
        let licences = self.licences.iter().map(|it| (None, it.clone()));
        let exceptions = self.exceptions.iter();
        let exceptions = exceptions.map(|(name, it)| (Some(name.clone()), it.clone()));
        licences
            .chain(exceptions)
            .filter(|allowed| !used.contains(allowed))
            .map(|(name, licence)| {
                let whose = name.map_or_else(String::new, |name| format!(" of {name}"));
                format!("deny.toml allows `{licence}`{whose}, which no package needs")
            })
            .collect()
    }

    fn source_objection(&self, source: &str) -> Option<String> {
        let is_allowed = self.registries.iter().any(|url| source == format!("registry+{url}"));
        (!is_allowed).then(|| format!("comes from a source that deny.toml does not allow: {source}"))
    }
}

/// Returns the exceptions in deny.toml: packages, each with its licence.
fn exceptions(table: &Table) -> Result<Vec<(String, String)>> {
    let list = table.get("licenses").and_then(|it| it.get("exceptions"));
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut all = Vec::new();
    for exception in list {
        let name = exception.get("crate").and_then(Value::as_str);
        let allowed = exception.get("allow").and_then(Value::as_array);
        let (name, allowed) = name.zip(allowed).context("an exception in deny.toml needs `crate` and `allow`")?;
        let allowed = allowed.iter().filter_map(Value::as_str);
        all.extend(allowed.map(|licence| (name.to_owned(), licence.to_owned())));
    }
    Ok(all)
}

/// Returns the strings of a list in a section; for a table in the list, its `name`.
fn strings(table: &Table, section: &str, key: &str) -> Result<Vec<String>> {
    let list = table
        .get(section)
        .and_then(|section| section.get(key))
        .and_then(Value::as_array)
        .with_context(|| format!("deny.toml has no list `{key}` in `[{section}]`"))?;
    let name = |value: &Value| value.get("name").unwrap_or(value).as_str().map(str::to_owned);
    list.iter()
        .map(|value| name(value).with_context(|| format!("`{key}` in deny.toml: {value} is not a name")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Unicode-3.0"]
        exceptions = [{ crate = "left", allow = ["CC0-1.0"] }]
        [bans]
        deny = ["left-pad", { name = "tokio", reason = "none" }]
        [sources]
        allow-registry = ["https://example.org/index"]
    "#;

    #[track_caller]
    fn check(licence: &str, is_fine: bool) {
        let policy = Policy::parse(RULES).expect("valid rules");
        let found = policy.licence_objection("right", licence, &mut Used::new());
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
        check("CC0-1.0", false);
    }

    #[test]
    fn an_exception_is_one_package_s_alone() {
        let policy = Policy::parse(RULES).expect("valid rules");
        let mut used = Used::new();
        assert_eq!(policy.licence_objection("left", "CC0-1.0", &mut used), None);
        let whose = Some("left".to_owned());
        assert!(used.contains(&(whose, "CC0-1.0".to_owned())));
    }

    #[test]
    fn what_is_allowed_and_nothing_needs_is_a_finding() {
        let policy = Policy::parse(RULES).expect("valid rules");
        let mut used = Used::new();
        policy.licence_objection("right", "MIT OR Apache-2.0", &mut used);
        assert_eq!(
            policy.unused(&used),
            [
                "deny.toml allows `Unicode-3.0`, which no package needs",
                "deny.toml allows `CC0-1.0` of left, which no package needs"
            ]
        );
    }

    #[test]
    fn reads_names_with_and_without_a_reason() {
        let policy = Policy::parse(RULES).expect("valid rules");
        assert_eq!(policy.banned, ["left-pad", "tokio"]);
    }

    #[test]
    fn accepts_the_listed_registry_only() {
        let policy = Policy::parse(RULES).expect("valid rules");
        assert_eq!(policy.source_objection("registry+https://example.org/index"), None);
        assert!(policy.source_objection("git+https://example.org/index").is_some());
    }

    #[test]
    fn refuses_rules_without_a_list() {
        assert!(Policy::parse("[licenses]\n").is_err());
    }
}
