//! What a switch of a file would do: which connections, which bytes, and what speaks against it. Writes nothing.

use std::path::Path;

use looptax_advise::app::{Rewrite, rewritten};
use looptax_diagnose::check::{Around, FileText, Sources, Switchable};
use looptax_failure::Failure;
use looptax_record::SwitchVerdict;

use crate::file::Original;
use crate::remark::{Remark, remarks};
use crate::text::Encoding;
use crate::work::Edited;

/// What somebody wants switched.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The file, as it was given.
    pub path: &'a Path,
    /// The process that reads it.
    pub pid: Option<u32>,
    /// Which of its connections, counted from one; empty for all that can be.
    pub only: &'a [usize],
    /// Which application it is, where several may be meant.
    pub application: Option<&'a str>,
}

/// What would be done.
#[derive(Debug)]
pub struct Plan {
    /// Every connection of the file.
    pub connections: Vec<Planned>,
    /// What was not understood in it.
    pub unread: Vec<String>,
    /// The files with what is to be written there: the one that was named, or those where its values are set. Empty
    /// where nothing is.
    pub edited: Vec<Edited>,
    /// What is to be known of the file.
    pub remarks: Vec<Remark>,
}

/// A connection of the file.
#[derive(Debug)]
pub struct Planned {
    /// What is known of it.
    pub found: Switchable,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is moved by the change of this index of `changes`.
    Moves(usize),
    /// It is on the socket.
    IsThere,
    /// Somebody wants others only.
    Unwanted,
    /// Its points say why not.
    Blocked,
    /// It stands in the way that something is not known; its points say what.
    Open,
    /// Of these applications one has to be named; of all that are known where there is none.
    WhichApplication(Vec<String>),
    /// The change does not belong into this file, or cannot be made there; the connection's changes say what to do.
    ByHand,
}

/// Plans the switch of a file.
///
/// # Errors
/// That the file cannot be read, or names no connection.
pub fn plan(wish: Wish<'_>, around: Around<'_>) -> Result<Plan, Failure> {
    let original = Original::read(wish.path)?;
    let (encoding, text) = Encoding::read(original.bytes());
    let file = FileText {
        path: wish.path,
        text: &text,
        pid: wish.pid,
        application: wish.application,
    };
    let (found, sources) = Sources::switchable(&file, around)?;
    if sources.is_empty() {
        return Err(sources.nothing(Some(wish.path), around.near.servers.len()));
    }
    if let Some(number) = wish.only.iter().find(|it| !(1..=found.len()).contains(*it)) {
        return Err(Failure::usage(
            format!(
                "there is no connection {number}: the file has {}",
                found.len()
            ),
            "--only takes the numbers that the plan gives them: --dry-run shows it",
        ));
    }
    let mut connections = Vec::new();
    for (idx, found) in found.into_iter().enumerate() {
        let is_wanted = wish.only.is_empty() || wish.only.contains(&(idx + 1));
        let fate = if is_wanted {
            fate(&found, wish.application)
        } else {
            Fate::Unwanted
        };
        connections.push(Planned { found, fate });
    }
    let new = new_text(&mut connections, &text).and_then(|new| encoding.write(&new));
    Ok(Plan {
        unread: sources.unread(),
        remarks: remarks(wish.path, &original),
        edited: new
            .map(|new| Edited { original, new })
            .into_iter()
            .collect(),
        connections,
    })
}

fn fate(found: &Switchable, application: Option<&str>) -> Fate {
    match found.checked.verdict {
        SwitchVerdict::AlreadyThere => return Fate::IsThere,
        SwitchVerdict::WouldNotWork | SwitchVerdict::NobodyThere => return Fate::Blocked,
        SwitchVerdict::Open => return Fate::Open,
        SwitchVerdict::WouldWork => {}
    }
    if found.is_guessed {
        return Fate::WhichApplication(Vec::new());
    }
    let titles: Vec<&str> = { found.checked.changes.iter() }
        .map(|it| &*it.title)
        .collect();
    let named =
        application.and_then(|name| titles.iter().position(|it| it.eq_ignore_ascii_case(name)));
    // Whichever is meant, the same bytes are written.
    let idx = named.or_else(|| all_alike(&found.rewrites).then_some(0));
    let Some(idx) = idx else {
        return Fate::WhichApplication(titles.into_iter().map(str::to_owned).collect());
    };
    match found.rewrites.get(idx) {
        Some(Some(_)) => Fate::Moves(idx),
        _ => Fate::ByHand,
    }
}

fn all_alike(rewrites: &[Option<Vec<Rewrite>>]) -> bool {
    rewrites.windows(2).all(|pair| pair[0] == pair[1])
}

/// The text with every change that is made; `None` where none is. Two changes of the same bytes are left to people.
fn new_text(connections: &mut [Planned], text: &str) -> Option<String> {
    let mut all: Vec<Rewrite> = Vec::new();
    for planned in connections {
        let Fate::Moves(idx) = planned.fate else {
            continue;
        };
        let own = planned.found.rewrites[idx].clone().unwrap_or_default();
        // Parts of a file that several connections share are written once.
        let added = own.into_iter().filter(|it| !all.contains(it));
        let together: Vec<Rewrite> = all.iter().cloned().chain(added).collect();
        if rewritten(text, &together).is_some() {
            all = together;
        } else {
            planned.fate = Fate::ByHand;
        }
    }
    if all.is_empty() {
        return None;
    }
    rewritten(text, &all).filter(|new| new != text)
}
