//! Finds the command that writes both sides of a connection between two containers of a file. The check prints this
//! command as the next step.
//!
//! Each connection has its own command: a command with an application's name for `--as` may move one connection, but
//! not another connection of the same file. Called by `subject`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use looptax_advise::app::{self, Found, Share};

use super::bounded_read::Files;
use super::sources::{FileText, Looked, is_container_unit, text};

/// For each connection of a file, the command that writes both its sides, or the reason why there is none.
#[derive(Debug)]
pub(super) struct Offered {
    /// The texts for the connections between containers, by line and then by kind of server.
    each: BTreeMap<usize, BTreeMap<&'static str, Option<String>>>,
    /// The text for every other connection.
    others: Option<String>,
}

impl Offered {
    pub(super) fn of(&self, found: &Found) -> Option<&str> {
        let of_line = found.line.and_then(|it| self.each.get(&it));
        // `found` was read from the whole file, but `each` container by container. Only one of the two readings may
        // recognise the kind of server from an image.
        let own = of_line.and_then(|it| it.get(found.kind).or_else(|| it.values().next().filter(|_| it.len() == 1)));
        own.unwrap_or(&self.others).as_deref()
    }
}

/// A connection that was read container by container, and the socket folder that its two containers would share.
type Shared<'a> = (&'a Found, &'a Option<Result<Share, String>>);

/// The line of a connection and the kind of its server, because one line may contain two connections.
type Place = (usize, &'static str);

fn place_of(found: &Found) -> Option<Place> {
    Some((found.line?, found.kind))
}

/// For a file of containers that was passed without `--containers`, finds the commands that write both sides, or the
/// reasons why there are none.
pub(super) fn offered(file: &FileText<'_>) -> Option<Offered> {
    let shown = file.path.display();
    if file.by_container || file.server_unit.is_some() {
        return None;
    }
    if is_container_unit(file.path) {
        let command = writes(&format!("looptax switch {shown} SERVER.container"), "");
        return Some(Offered { each: BTreeMap::new(), others: Some(command) });
    }
    let plain = format!("looptax switch {shown} --containers");
    let looked = text(&FileText { by_container: true, ..*file }).ok()?;
    let shares = app::shares(&looked.whole, &looked.reading.found, &looked.neighbours);
    let all: Vec<Shared<'_>> = looked.reading.found.iter().zip(&shares).collect();
    let mut places: BTreeMap<Place, Vec<Shared<'_>>> = BTreeMap::new();
    for shared in &all {
        if let Some(place) = place_of(shared.0) {
            places.entry(place).or_default().push(*shared);
        }
    }
    let mut written: BTreeMap<String, BTreeSet<Place>> = BTreeMap::new();
    let mut each: BTreeMap<usize, BTreeMap<&'static str, Option<String>>> = BTreeMap::new();
    for ((line, kind), own) in places {
        let is_known = own.iter().any(|it| it.0.has_known_kind());
        let mut is_written = |name: &str| {
            let places = written.entry(name.to_owned()).or_insert_with(|| places_written(file, name));
            places.iter().any(|it| it.0 == line && (!is_known || it.1 == kind))
        };
        let offer = plainly(&own, &looked, &plain).or_else(|| named(&own, &plain, &mut is_written));
        let offer = offer.or_else(|| why_not(&own, &plain));
        each.entry(line).or_default().insert(kind, offer);
    }
    let others = plainly(&all, &looked, &plain).or_else(|| why_not(&all, &plain));
    Some(Offered { each, others })
}

/// Reads a file, and then does the same as [`offered`].
pub(super) fn offered_by(path: &Path) -> Option<Offered> {
    let bytes = Files::Ours.read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    offered(&FileText {
        path,
        text: &text,
        pid: None,
        application: None,
        environment: &BTreeMap::new(),
        by_container: false,
        server_unit: None,
    })
}

fn writes(command: &str, condition: &str) -> String {
    format!("`{command}` writes both sides{condition}; --dry-run shows the changes")
}

/// Returns the command without an application's name for `--as`, if this command writes one of these connections.
fn plainly(own: &[Shared<'_>], looked: &Looked, plain: &str) -> Option<String> {
    own.iter().any(|it| is_moved(*it, looked)).then(|| writes(plain, ""))
}

/// Returns the command with the application's name, if only one name fits and no connection contradicts this name.
/// Otherwise lists the fitting names, if the command would write the connection with one of them.
fn named(own: &[Shared<'_>], plain: &str, is_written: &mut dyn FnMut(&str) -> bool) -> Option<String> {
    let unknown: Vec<&Found> = own.iter().map(|it| it.0).filter(|it| !it.may_be.is_empty()).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in unknown.iter().flat_map(|it| &it.may_be) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if !names.iter().any(|it| is_written(it)) {
        return None;
    }
    let sole = unknown.first().and_then(|it| it.sole_reader.as_deref());
    if let Some(name) = sole.filter(|it| unknown.iter().all(|other| other.sole_reader.as_deref() == Some(*it))) {
        return Some(writes(&format!("{plain} --as '{name}'"), ", if that application reads the file"));
    }
    let variable = unknown.iter().find_map(|it| it.named_by()).unwrap_or("its variables");
    let names: Vec<String> = names.into_iter().map(|it| format!("'{it}'")).collect();
    Some(format!(
        "looptax does not know which application reads {variable}: pass the application's name with --as to \
        `{plain}` (names: {})",
        names.join(", ")
    ))
}

fn why_not(own: &[Shared<'_>], plain: &str) -> Option<String> {
    let why = own.iter().find_map(|it| it.1.as_ref()?.as_ref().err())?;
    Some(format!("`{plain}` does not change this connection, because {why}"))
}

/// Returns the lines and kinds of the connections that `switch --containers` would write for this application.
fn places_written(file: &FileText<'_>, application: &str) -> BTreeSet<Place> {
    let Ok(looked) = text(&FileText { by_container: true, application: Some(application), ..*file }) else {
        return BTreeSet::new();
    };
    let shares = app::shares(&looked.whole, &looked.reading.found, &looked.neighbours);
    let moved = looked.reading.found.iter().zip(&shares).filter(|it| is_moved(*it, &looked));
    moved.filter_map(|it| place_of(it.0)).collect()
}

/// Whether `switch --containers` would write a connection.
fn is_moved((found, share): Shared<'_>, looked: &Looked) -> bool {
    let (Some(Ok(share)), Some(address)) = (share, &found.address) else {
        return false;
    };
    let password = address.password.as_ref().map(|it| it.reveal().to_owned());
    let moves = found.moves(&share.fields(address, password), looked.whole.text());
    !found.is_guessed && moves.into_iter().any(|it| it.and_then(|it| share.complete(it)).is_some())
}
