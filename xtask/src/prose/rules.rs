//! The phrases and areas of data/prose.toml, and the search for phrases in a text. Called by `prose`; pure.

use std::ops::Range;

use anyhow::{Context, Result};
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::passage::Kind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    rule: Vec<Rule>,
    area: Vec<Area>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) find: String,
    #[serde(default)]
    except: Vec<String>,
    pub(super) say: String,
    pub(super) because: String,
    /// Whether the phrase is allowed in headings.
    #[serde(default)]
    sentences: bool,
    /// Whether `find` matches a synonym of a word in the glossary.
    #[serde(default)]
    glossary: bool,
}

/// A set of texts whose phrases are counted together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Area {
    pub(super) name: String,
    of: Vec<Kind>,
    /// The files of the area, or beginnings of their paths.
    paths: Vec<String>,
    /// Files below `paths` that are not part of the area.
    #[serde(default)]
    except: Vec<String>,
    /// Whether the rules of the glossary do not apply to this area yet.
    #[serde(default)]
    without_glossary: bool,
    /// How many phrases this area may still have.
    pub(super) left: usize,
}

impl Area {
    pub(super) fn has_path(&self, path: &str) -> bool {
        let is_below = |folders: &[String]| folders.iter().any(|it| path.starts_with(it.as_str()));
        is_below(&self.paths) && !is_below(&self.except)
    }

    pub(super) fn has(&self, path: &str, kind: Kind) -> bool {
        self.of.contains(&kind) && self.has_path(path)
    }
}

/// The rules with their compiled expressions, and the areas.
pub(super) struct Phrases {
    pub(super) rules: Vec<Rule>,
    pub(super) areas: Vec<Area>,
    /// All `find` expressions in one set, since most texts match none of them.
    any: RegexSet,
    each: Vec<(Regex, Vec<Regex>)>,
}

impl Phrases {
    pub(super) fn read(text: &str) -> Result<Self> {
        let list: List = toml::from_str(text).context("xtask/data/prose.toml is invalid")?;
        let finds = list.rule.iter().map(|it| it.find.as_str());
        let any = RegexSetBuilder::new(finds).case_insensitive(true).size_limit(1 << 26).build()?;
        let each = list.rule.iter().map(|rule| {
            let except: Result<Vec<Regex>> = rule.except.iter().map(|it| compiled(it)).collect();
            Ok((compiled(&rule.find)?, except?))
        });
        let each = each.collect::<Result<_>>()?;
        Ok(Self { rules: list.rule, areas: list.area, any, each })
    }

    /// Returns the rules that a text of this area breaks, each with the range of bytes that breaks it.
    pub(super) fn matches(&self, area: &Area, text: &str, is_heading: bool) -> Vec<(usize, Range<usize>)> {
        let mut found = Vec::new();
        for rule_idx in self.any.matches(text) {
            let rule = &self.rules[rule_idx];
            if is_heading && rule.sentences || area.without_glossary && rule.glossary {
                continue;
            }
            let (find, except) = &self.each[rule_idx];
            let excused: Vec<Range<usize>> =
                except.iter().flat_map(|it| it.find_iter(text)).map(|it| it.range()).collect();
            let ranges = find.find_iter(text).map(|it| it.range());
            let is_excused =
                |range: &Range<usize>| excused.iter().any(|it| it.start < range.end && range.start < it.end);
            found.extend(ranges.filter(|it| !is_excused(it)).map(|it| (rule_idx, it)));
        }
        found
    }
}

fn compiled(expression: &str) -> Result<Regex> {
    let built = RegexBuilder::new(expression).case_insensitive(true).build();
    built.with_context(|| format!("`{expression}` in xtask/data/prose.toml"))
}
