//! Turns settings into connections: for each application in the table, selects the settings that the application reads.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use looptax_model::dsn::{Condition, Protocol};

use super::bound::Bound;
use super::containers::kind_of_service;
use super::found::{Found, UNKNOWN_KIND};
use super::lists;
use super::lookup::{Lookup, is_unset, look_up, text_of};
use super::pattern::{captured, fits};
use super::setting::{MOST_SETTINGS, Setting, Value};
use super::signs::Signs;
use super::source::{MOST_BYTES, Source};
use super::table::{App, Decision, GUESSED, Role, Words, apps};
use super::url;
use crate::Takes;

/// Maximum number of connections of one kind that looptax reads from a file. A check logs in to each of them.
pub(super) const MOST_CONNECTIONS: usize = 32;

/// Returns the maximum number of connections that looptax reads from a file of this application. The limit is higher
/// for a proxy, because looptax does not log in to the servers behind a proxy. A line beyond the limit would keep its
/// old address when the other lines change, and no server would listen at this address any more.
pub(super) const fn most_connections(app: &App) -> usize {
    if app.format.proxy().is_some() { MOST_SETTINGS } else { MOST_CONNECTIONS }
}

/// The beginning of the text about a connection whose application looptax does not know.
const BY_KEYS: &str = "found by the keys in the file; looptax does not know the application, and changes the file \
    only with --as";
const BY_CALL: &str = "found by the call of a driver; looptax does not change such calls";

/// Finds the connections of one application among the settings. `is_meant` means that the settings belong to this
/// application, even if another application reads the same settings.
pub(super) fn bound_of(app: &'static App, settings: &[Setting], source: &Source<'_>, is_meant: bool) -> Vec<Bound> {
    let mut all: Vec<Setting> = settings.to_vec();
    if let Some(sign) = app.doubled {
        for setting in &mut all {
            setting.read_doubled(sign);
        }
    }
    if let Some(sign) = &app.section {
        for setting in &mut all {
            setting.read_section(sign);
        }
    }
    let lists = app.lists.iter();
    let is_list = |it: &&Setting| lists.clone().any(|list| captured(list, &it.path).is_some());
    let parts: Vec<Setting> = all.iter().filter(is_list).flat_map(lists::parts).collect();
    all.extend(parts);
    let signs = || Signs::of(source);
    if !app.needs.is_empty() && !signs().has_any(&app.needs) || !app.unless.is_empty() && signs().has_any(&app.unless) {
        return Vec::new();
    }
    let is_over = |name: &&String| {
        let is_end = |it: &Setting| {
            it.path.join("/").strip_suffix(&***name).is_some_and(|it| it.is_empty() || it.ends_with('/'))
        };
        all.iter().any(is_end)
    };
    let over = app.over.iter().find(is_over).map(|name| format!("{name} is set and may give another address"));
    groups_of(app, &all)
        .into_iter()
        .filter(|(_, roles)| is_connection(app, roles))
        .take(most_connections(app))
        .filter_map(|(captures, roles)| {
            let mut applies = applies(app, &captures, &all, (source, is_meant))?;
            if applies == Applies::Perhaps
                && let Some(Value::Text(host)) = roles.get(&Role::Host).map(|it| &all[*it].value)
                && let Some(kind) = kind_of_service(host, &all)
            {
                if kind != app.kind {
                    return None;
                }
                applies = Applies::Yes;
            }
            let by_rank = [Role::Url, Role::Host, Role::Socket, Role::Database];
            let anchor = by_rank.iter().find_map(|it| roles.get(it)).copied()?;
            let setting = |role: Role, idx: usize| {
                let is_name = role == Role::Database && is_list(&&all[idx]);
                if is_name { named_database(&all[idx]) } else { Some(all[idx].clone()) }
            };
            let resolved = roles.iter().filter_map(|(role, idx)| {
                let is_variable = matches!(all[*idx].value, Value::Variable { .. });
                let text = text_of(&all[*idx], source).ok().filter(|_| is_variable)?;
                Some((*role, text))
            });
            Some(Bound {
                app,
                resolved: resolved.collect(),
                roles: roles
                    .iter()
                    .filter(|(role, idx)| **role != Role::Url || !is_unset(&all[**idx].value, source))
                    .filter_map(|(role, idx)| Some((*role, setting(*role, *idx)?)))
                    .collect(),
                is_kind_said: matches!(applies, Applies::Yes | Applies::InDoubt(_)),
                is_kind_known: applies != Applies::Perhaps || roles.contains_key(&Role::Url),
                doubt: match applies {
                    _ if over.is_some() => over.clone(),
                    Applies::Yes | Applies::ByDefault => None,
                    Applies::Perhaps => Some(app.unsaid.clone()).filter(|_| !roles.contains_key(&Role::Url)),
                    Applies::InDoubt(why) => Some(format!("the setting that selects this connection is {why}")),
                },
                is_environment: source.path.is_none(),
                carrier: None,
                conditions: conditions(app, &all[anchor], &all, source),
                anchor: all[anchor].line * MOST_BYTES + anchor.min(MOST_BYTES - 1),
                label: captures.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("."),
            })
        })
        .flat_map(lists::servers)
        .collect()
}

/// Returns the conditions that other settings set for a connection of libpq (such as `sslmode`, `channel_binding`):
/// settings in the same part of the file as `anchor`, and libpq's own variables (`PG…`).
fn conditions(app: &App, anchor: &Setting, all: &[Setting], source: &Source<'_>) -> Vec<Condition> {
    if app.kind.protocol() != Some(Protocol::Postgres) {
        return Vec::new();
    }
    let part = anchor.path.split_last().map_or(&[][..], |it| it.1);
    let set = all.iter().filter_map(|it| {
        let name = it.path.last()?;
        let counts = name.starts_with("PG") || it.path.starts_with(part);
        Condition::of(name, text_of(it, source).ok().filter(|_| counts)?.trim())
    });
    set.collect()
}

/// If a list of settings does not set the database, the list's name is the database's name. Returns this name as a
/// setting; `None` for the name `*`, which means any database.
fn named_database(list: &Setting) -> Option<Setting> {
    let name = list.path.last().filter(|it| *it != "*")?;
    let (item, key, literal) = (String::new(), 0..0, 0..0);
    Some(Setting { value: Value::Text(name.clone()), item, key, literal, ..list.clone() })
}

/// Groups the settings into connections. In the settings of a connection, the wildcards of the patterns match the same
/// texts.
fn groups_of(app: &App, all: &[Setting]) -> BTreeMap<Vec<String>, BTreeMap<Role, usize>> {
    let mut groups: BTreeMap<Vec<String>, BTreeMap<Role, usize>> = BTreeMap::new();
    for role in Role::ALL {
        // Earlier patterns take precedence. Of several settings with the same name, the last one takes precedence.
        for pattern in app.patterns(role).iter().rev() {
            for (idx, setting) in all.iter().enumerate() {
                if let Some(captures) = captured(pattern, &setting.path) {
                    let roles = groups.entry(captures).or_default();
                    // An empty setting does not replace a setting with a value.
                    let is_empty = setting.value == Value::Text(String::new());
                    let has_other = roles.get(&role).is_some_and(|it| all[*it].path != setting.path);
                    if !is_empty || !has_other {
                        roles.insert(role, idx);
                    }
                }
            }
        }
    }
    // A pattern with fewer wildcards captures fewer texts. Its setting belongs to every connection whose captured texts
    // begin with the pattern's captured texts.
    let shared = groups.clone();
    for (captures, roles) in &mut groups {
        let outer = (0..captures.len()).rev().filter_map(|it| shared.get(&captures[..it]));
        for (role, idx) in outer.flatten() {
            roles.entry(*role).or_insert(*idx);
        }
    }
    groups
}

fn is_connection(app: &App, roles: &BTreeMap<Role, usize>) -> bool {
    let is_there = |role: &Role| roles.contains_key(role);
    [Role::Url, Role::Host, Role::Socket].iter().any(is_there)
        || (app.nowhere == Some(Takes::Unix) && is_there(&Role::Database))
}

#[derive(Debug, PartialEq, Eq)]
enum Applies {
    Yes,
    /// No setting contradicts the application.
    ByDefault,
    /// No setting confirms the application, and other applications have the same settings.
    Perhaps,
    /// The setting that confirms the application may not take effect.
    InDoubt(String),
}

/// Decides whether the application reads the settings of this connection. Searches the keys of the application's
/// `decide` in order, and uses the first key that has a value. A `*` in the key matches the same text as the `*` in the
/// names of the connection's settings.
fn applies(
    app: &App,
    captures: &[String],
    all: &[Setting],
    (source, is_meant): (&Source<'_>, bool),
) -> Option<Applies> {
    let deciding = |decision: &Decision| {
        all.iter().rev().find_map(|setting| {
            let own = captured(&decision.key, &setting.path)?;
            // If the key belongs to a group, it decides for every connection in that group.
            let is_same = captures.starts_with(&own);
            let certain = Setting { doubt: None, ..setting.clone() };
            if !is_same {
                return None;
            }
            let open = text_of(&certain, source);
            match (open, &setting.value) {
                (Ok(value), _) => Some((value, setting.doubt.clone())),
                // The default in the file, which may not be the value that takes effect.
                (Err(why), Value::Variable { fallback: Some(value), .. }) => Some((value.clone(), Some(why))),
                (Err(_), _) => None,
            }
        })
    };
    for decision in &app.decide {
        if let Some((value, doubt)) = deciding(decision).filter(|it| !it.0.is_empty()) {
            let is_own = decision.is.iter().any(|it| fits(it, &value));
            if decision.hint && !is_own {
                continue;
            }
            return is_own.then(|| doubt.map_or(Applies::Yes, Applies::InDoubt));
        }
    }
    match (app.otherwise || is_meant, app.unsaid.is_empty()) {
        (false, _) => None,
        (true, true) => Some(Applies::ByDefault),
        (true, false) => Some(Applies::Perhaps),
    }
}

/// Joins the connections that were found. If several applications read the same setting, their connections become one
/// connection with several readers.
///
/// If `is_named` is false, drops each connection that has common names (`DB_HOST`) and no sign of the application.
/// [`guess`](super::guess) handles such connections.
pub(super) fn merged(bound: Vec<Bound>, source: &Source<'_>, is_named: bool) -> Vec<Found> {
    let mut groups: BTreeMap<(usize, &'static str), Vec<Bound>> = BTreeMap::new();
    let signs = Signs::of(source);
    let signed = bound.iter().filter(|it| signs.are_of(it.app));
    let signed: BTreeSet<usize> = signed.map(|it| it.anchor).collect();
    for it in bound {
        let Some(kind) = kind_of(&it, source) else {
            continue;
        };
        groups.entry((it.anchor, kind)).or_default().push(it);
    }
    let mut found: Vec<Found> = Vec::new();
    for ((anchor, kind), mut readers) in groups {
        // Two patterns of one application may match the same setting.
        readers.dedup_by(|a, b| ptr::eq(a.app, b.app));
        if signed.contains(&anchor) {
            readers.retain(|it| signs.are_of(it.app));
        } else if !is_named && source.path.is_some() && readers.iter().all(is_by_common_names) {
            continue;
        }
        if !readers.is_empty() {
            found.push(found_of(kind, readers, source, &signs));
        }
    }
    // In a Rails file, `default` is a template for the other entries.
    if found.len() > 1 {
        let lines: Vec<Option<usize>> = found.iter().filter(|it| it.label != "default").map(|it| it.line).collect();
        found.retain(|it| it.label != "default" || !lines.contains(&it.line));
    }
    found
}

/// Whether an application that has signs was found only by setting names that many programs use.
fn is_by_common_names(bound: &Bound) -> bool {
    let is_anywhere = bound.app.files.iter().any(|it| it == "**/.env");
    is_anywhere && !bound.app.signs.is_empty() && !bound.roles.contains_key(&Role::Url)
}

/// Returns the kind of server according to a URL; `None` if the application does not use this kind.
fn kind_of(bound: &Bound, source: &Source<'_>) -> Option<&'static str> {
    if !bound.is_kind_known {
        return Some(UNKNOWN_KIND);
    }
    let own = bound.app.kind;
    let Some(setting) = bound.roles.get(&Role::Url) else {
        return Some(own.name());
    };
    match text_of(setting, source) {
        Ok(text) if !text.is_empty() => {
            let schemes = &bound.app.schemes;
            let is_own = schemes.is_empty() || schemes.iter().any(|it| fits(it, scheme(&text)));
            let parsed = url::parse_as(own, &text).filter(|_| is_own)?;
            (parsed.kind() == own).then(|| own.name())
        }
        _ if bound.roles.contains_key(&Role::Host) => Some(own.name()),
        Ok(_) => None,
        // The variable's default shows the kind of server.
        Err(_) => match &setting.value {
            Value::Variable { fallback: Some(text), .. } => (url::parse(text)?.kind() == own).then(|| own.name()),
            Value::Hidden if setting.item[setting.literal.clone()].contains("://") => {
                let raw = setting.item[setting.literal.clone()].trim_matches(['\'', '"', '`']);
                let schemes = &bound.app.schemes;
                let is_own = schemes.is_empty() || schemes.iter().any(|it| fits(it, scheme(raw)));
                (is_own && url::kind_of_scheme(scheme(raw)) == Some(own)).then(|| own.name())
            }
            Value::Text(text) => {
                let schemes = &bound.app.schemes;
                let is_own = schemes.is_empty() || schemes.iter().any(|it| fits(it, scheme(text)));
                // A URL with a part that is filled in later may not be a valid address yet.
                let kind = url::parse(text).map(|it| it.kind()).or_else(|| url::kind_of_scheme(scheme(text)));
                (is_own && kind? == own).then(|| own.name())
            }
            _ if has_another_kind(bound.app) && !bound.is_kind_said => Some(UNKNOWN_KIND),
            _ => Some(own.name()),
        },
    }
}

/// Whether other applications use the same URL setting for another kind of server.
fn has_another_kind(app: &App) -> bool {
    let is_other = |it: &App| {
        let is_shared = it.url.iter().any(|pattern| app.url.contains(pattern));
        let is_own = it.calls.is_empty() == app.calls.is_empty()
            && (app.calls.is_empty() || it.calls.iter().any(|call| app.calls.contains(call)));
        it.format == app.format && it.kind != app.kind && is_shared && is_own
    };
    apps().iter().any(is_other)
}

/// Returns the scheme of a URL: `jdbc:mysql` of `jdbc:mysql://…`; `go` for `user@tcp(host)/`.
fn scheme(text: &str) -> &str {
    match text.trim().split_once("://") {
        Some((scheme, _)) => scheme,
        None if url::is_go(text) => "go",
        None if text.starts_with("jdbc:postgresql:") => "jdbc:postgresql",
        None => "",
    }
}

/// Returns the titles of applications, each title once, in the order of the applications.
pub(super) fn titles_of(apps: impl Iterator<Item = &'static App>) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for app in apps {
        if !titles.contains(&app.title) {
            titles.push(app.title.clone());
        }
    }
    titles
}

fn found_of(kind: &'static str, readers: Vec<Bound>, source: &Source<'_>, signs: &Signs) -> Found {
    let mut read: Vec<(Bound, Lookup)> = { readers.into_iter() }
        .map(|it| {
            let lookup = look_up(&it, source);
            (it, lookup)
        })
        .collect();
    // If looptax tested the URL's form with some of the applications and not with others, the URL belongs to one of the
    // tested applications.
    if read.iter().any(|it| !it.1.is_untried) {
        read.retain(|it| !it.1.is_untried);
    }
    let (readers, lookups): (Vec<Bound>, Vec<Lookup>) = read.into_iter().unzip();
    // If the applications use different transports, looptax takes the server from an application that uses TCP.
    let first = lookups.iter().position(|it| it.takes == Some(Takes::Tcp)).unwrap_or(0);
    let differs = lookups.iter().any(|it| it.takes != lookups[first].takes);
    let titles = titles_of(readers.iter().map(|it| it.app));
    let mut lookup = lookups.into_iter().nth(first).unwrap_or_default();
    if differs {
        // The file does not show which application reads the connection's settings.
        lookup.takes = None;
    }
    let anchor = readers.first().and_then(|reader| {
        let roles = [Role::Url, Role::Host, Role::Socket, Role::Database];
        roles.iter().find_map(|role| reader.roles.get(role))
    });
    let is_guessed = readers.iter().all(|it| it.app.name == GUESSED);
    let told_by = readers.iter().flat_map(|it| it.carrier.into_iter().chain([it.app])).flat_map(App::words);
    let told_by = told_by.flat_map(Words::signs).filter(|it| signs.has(it)).map(String::as_str);
    let is_call = readers.iter().any(|it| !it.app.calls.is_empty());
    let how = if is_call { BY_CALL } else { BY_KEYS };
    let said = if is_guessed { format!("{how}; {}", lookup.why) } else { lookup.why };
    Found {
        is_guessed,
        service: None,
        inside: None,
        pool: None,
        may_be: Vec::new(),
        sole_reader: None,
        taken: Vec::new(),
        secrets: Vec::new(),
        at_container: None,
        label: readers.first().map(|it| it.label.clone()).unwrap_or_default(),
        line: anchor.filter(|_| source.path.is_some()).map(|it| it.line),
        at: anchor.filter(|_| source.path.is_some()).map(Setting::place),
        titles,
        kind,
        address: lookup.address,
        unspoken: lookup.unspoken,
        takes: lookup.takes,
        fails: lookup.fails && !differs,
        why: if differs {
            format!("{said}; other applications that may read this file use another transport")
        } else {
            said
        },
        credentials: lookup.credentials,
        signs: told_by.collect(),
        bound: readers,
    }
}
