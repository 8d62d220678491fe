//! What has to be written: each setting before and after, without its password.

use std::collections::BTreeSet;

use looptax_dsn::{MASK, Pair, Query, masked};
use looptax_record::{Change, Edit};

use super::bound::Bound;
use super::quotes::{Dialect, Quotes};
use super::rewrite::{self, Rewrite, replaced};
use super::setting::{Joins, Setting, Value};
use super::table::{Evidence, Role, Step};
use super::url::{self, Parsed};
use crate::Fields;
use crate::template::filled;

/// An edit, as it is shown and as it is written.
struct Planned<'a> {
    edit: Edit,
    writing: Writing<'a>,
}

/// How an edit is written.
enum Writing<'a> {
    /// In place of this setting.
    Replace(&'a Setting, String),
    /// Beside it.
    Beside(&'a Setting, String),
    Remove(&'a Setting),
    /// Not here: where the environment is set, or as what would be cut off here.
    ByHand,
}

fn planned<'a>(bound: &'a Bound, fields: &Fields) -> Vec<Planned<'a>> {
    if let Some(setting) = bound.roles.get(&Role::Url) {
        return url_edit(bound, setting, fields).into_iter().collect();
    }
    let steps = bound.app.change.iter();
    steps.filter_map(|step| edit(bound, step, fields)).collect()
}

/// The bytes to be written for one application; `None` where its change cannot be made in this text.
pub(super) fn rewrites_for(bound: &Bound, fields: &Fields, text: &str) -> Option<Vec<Rewrite>> {
    if is_uncertain(bound) || bound.app.needs_library {
        return None;
    }
    let write = |planned: Planned<'_>| match planned.writing {
        Writing::Replace(setting, item) => Some(replaced(setting, item)),
        Writing::Beside(anchor, item) => rewrite::added(text, anchor, &item),
        Writing::Remove(setting) => rewrite::removed(text, setting),
        Writing::ByHand => None,
    };
    let all: Option<Vec<Rewrite>> = planned(bound, fields).into_iter().map(write).collect();
    all.filter(|it| !it.is_empty() && !bound.is_environment)
}

/// Whether something else may count than what stands there.
fn is_uncertain(bound: &Bound) -> bool {
    let roles = [
        Role::Url,
        Role::Host,
        Role::Port,
        Role::Socket,
        Role::Scheme,
    ];
    let in_doubt = |role: &Role| {
        let setting = bound.roles.get(role);
        setting.is_some_and(|it| it.doubt.is_some() || !matches!(it.value, Value::Text(_)))
    };
    bound.doubt.is_some() || roles.iter().any(in_doubt)
}

/// The change for one application.
pub(super) fn change_for(bound: &Bound, fields: &Fields) -> Change {
    let app = bound.app;
    let edits: Vec<Edit> = planned(bound, fields)
        .into_iter()
        .map(|it| it.edit)
        .collect();
    let carrier = bound.carrier;
    let mut advice: Vec<&str> = Vec::new();
    if is_from_environment(bound) && !edits.is_empty() {
        advice.push("the value comes from the environment: change it where that is set (.env, unit, container)");
    }
    advice.extend(carrier.map(|it| &*it.advice));
    advice.push(&app.advice);
    advice.retain(|it| !it.is_empty());
    let restart = carrier.map_or(&app.restart, |it| &it.restart);
    let traps = app
        .traps
        .iter()
        .chain(carrier.into_iter().flat_map(|it| &it.traps));
    Change {
        title: app.title.clone(),
        advice: advice.join("; "),
        restart: restart.clone(),
        traps: traps.cloned().collect(),
        is_read: app.evidence != Evidence::Known,
        edits,
    }
}

/// Whether what has to change is a variable of the environment, and not the file.
fn is_from_environment(bound: &Bound) -> bool {
    let roles = [Role::Url, Role::Host, Role::Port, Role::Socket];
    let is_variable = |role: &Role| {
        let value = bound.roles.get(role).map(|it| &it.value);
        matches!(value, Some(Value::Variable { .. }))
    };
    roles.iter().any(is_variable)
}

fn value_of(template: &str, fields: &Fields) -> String {
    filled(template, fields).expect("a test fills in every template")
}

/// A URL keeps what else is in its query.
fn url_edit<'a>(bound: &Bound, setting: &'a Setting, fields: &Fields) -> Option<Planned<'a>> {
    let step = bound
        .app
        .change
        .iter()
        .find(|it| it.set == Some(Role::Url))?;
    // What stands in a password's place is not to look like one.
    let mut value = value_of(&step.to, fields).replace("%2A%2A%2A%2A", MASK);
    let parsed = match &setting.value {
        Value::Text(text)
        | Value::Variable {
            fallback: Some(text),
            ..
        } => url::parse(text),
        _ => None,
    };
    let rest = match parsed {
        Some(Parsed::Spoken { rest, .. }) => rest,
        _ => Vec::new(),
    };
    let said_already = query_names(&value);
    let is_new = |part: &&String| !query_names(&format!("?{part}")).is_subset(&said_already);
    let mut shown = value.clone();
    for part in rest.iter().filter(is_new) {
        let secret = Query::new(part).pairs().find(Pair::is_secret);
        for (text, part) in [
            (&mut value, part.clone()),
            (&mut shown, secret.map_or(part.clone(), without_value)),
        ] {
            text.push(if text.contains('?') { '&' } else { '?' });
            text.push_str(&part);
        }
    }
    if let Value::Variable { name, .. } = &setting.value {
        return Some(in_environment(name, &shown));
    }
    let mut planned = replacing(bound, setting, None, &shown);
    planned.writing = match &setting.value {
        Value::Text(old) if !url::keeps_login(old, &value) => Writing::ByHand,
        _ if !setting.can_hold(&value) => Writing::ByHand,
        _ => Writing::Replace(setting, setting.with(None, &value)),
    };
    Some(planned)
}

/// The names in a URL's query.
fn query_names(url: &str) -> BTreeSet<String> {
    Query::from_text(url).pairs().map(|it| it.name()).collect()
}

/// A secret of a query, as it may be shown.
fn without_value(pair: Pair<'_>) -> String {
    let name = pair
        .text
        .split_once('=')
        .map_or(pair.text, |(name, _)| name);
    format!("{name}={MASK}")
}

/// A file that asks the environment stays as it is.
fn in_environment(name: &str, value: &str) -> Planned<'static> {
    Planned {
        edit: Edit {
            line: None,
            before: None,
            after: Some(format!(
                "{name}={}",
                Quotes::AsNeeded(Dialect::Shell).around(value)
            )),
        },
        writing: Writing::ByHand,
    }
}

fn replacing<'a>(
    bound: &Bound,
    setting: &'a Setting,
    key: Option<&str>,
    value: &str,
) -> Planned<'a> {
    let item = setting.with(key, value);
    Planned {
        edit: Edit {
            line: line(bound, setting),
            before: Some(shown(setting)),
            after: Some(item.clone()),
        },
        writing: if setting.can_hold(value) {
            Writing::Replace(setting, item)
        } else {
            Writing::ByHand
        },
    }
}

fn line(bound: &Bound, setting: &Setting) -> Option<usize> {
    (!bound.is_environment).then_some(setting.line)
}

/// As it stands, its password hidden; what only the program can evaluate is not shown at all.
fn shown(setting: &Setting) -> String {
    match &setting.value {
        Value::Text(text) => {
            let hidden = masked(text);
            if hidden == *text {
                setting.item.clone()
            } else {
                setting.with(None, &hidden)
            }
        }
        Value::Variable { name, .. } => setting.with(None, &format!("(the variable {name})")),
        Value::Hidden => setting.with(None, "(an expression)"),
    }
}

fn is_missing(bound: &Bound, role: Option<Role>) -> bool {
    role.is_some_and(|role| !bound.roles.contains_key(&role))
}

fn edit<'a>(bound: &'a Bound, step: &Step, fields: &Fields) -> Option<Planned<'a>> {
    if let Some(role) = step.drop {
        // Another setting has its place already.
        let takes_it = |it: &Step| it.instead_of == Some(role) && is_missing(bound, it.set);
        if bound.app.change.iter().any(takes_it) {
            return None;
        }
        let setting = bound.roles.get(&role)?;
        return Some(Planned {
            edit: Edit {
                line: line(bound, setting),
                before: Some(shown(setting)),
                after: None,
            },
            writing: Writing::Remove(setting),
        });
    }
    let role = step.set?;
    let value = value_of(&step.to, fields);
    if let Some(setting) = bound.roles.get(&role) {
        if let Value::Variable { name, .. } = &setting.value {
            return Some(in_environment(name, &value));
        }
        if setting.value == Value::Text(value.clone()) {
            return None;
        }
        return Some(replacing(bound, setting, None, &value));
    }
    added(bound, step, role, &value)
}

/// A setting that is not there yet: in the place of another one, or beside it.
fn added<'a>(bound: &'a Bound, step: &Step, role: Role, value: &str) -> Option<Planned<'a>> {
    let key = bound.app.patterns(role).first()?.rsplit('/').next();
    let by_rank = [Role::Host, Role::Port, Role::Socket, Role::Database];
    let replaced = step.instead_of.and_then(|it| bound.roles.get(&it));
    if let Some(setting) = replaced {
        return Some(replacing(bound, setting, key, value));
    }
    if role == Role::Url {
        return None;
    }
    let anchor = by_rank.iter().find_map(|it| bound.roles.get(it))?;
    let text = anchor.with(key, value);
    let (before, after) = match anchor.joins {
        Joins::Line => (None, text.clone()),
        Joins::With(between) => {
            let before = shown(anchor);
            (Some(before.clone()), format!("{before}{between}{text}"))
        }
    };
    Some(Planned {
        edit: Edit {
            line: line(bound, anchor),
            before,
            after: Some(after),
        },
        writing: if anchor.can_hold(value) {
            Writing::Beside(anchor, text)
        } else {
            Writing::ByHand
        },
    })
}
