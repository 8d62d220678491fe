//! looptax's claims about a file, and the comparison with what the driver does.
//!
//! Calls the library that `check` and `switch` call, with the same arguments; starts no program and opens no file.

use std::path::{Path, PathBuf};

use looptax_advise::app::{Found, Reading, Source, read, read_as, rewritten};
use looptax_advise::{Fields, Takes};
use looptax_model::dsn::{Address, Protocol, Secret};

use super::ground::{Ground, Place, RIGHT};
use super::subject::Subject;

/// A claim about a connection in a file.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    words: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// looptax does not know the target.
    Open,
    /// The driver connects to one of these places. There are several places if a name has several addresses, or if the
    /// usual socket is meant.
    To(Vec<Place>),
    /// The driver connects to nothing.
    Nowhere,
    /// The driver does not connect to these places, although the file names them.
    NotTo(Vec<Place>),
}

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Right,
    Open,
    False,
}

/// looptax's reading of a file's text.
pub(crate) struct Said {
    pub(crate) claims: Vec<Claim>,
    /// The texts that `switch` would write, one for each possible change.
    pub(crate) edits: Vec<Edited>,
    /// Whether the connection was recognised only by the names of its settings; `switch` then writes nothing.
    pub(crate) is_guessed: bool,
}

/// A text that `switch` would write.
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The socket that the driver has to reach with this text.
    pub(crate) socket: Place,
}

impl Said {
    pub(crate) fn words(&self) -> String {
        let words: Vec<&str> = self.claims.iter().map(|it| &*it.words).collect();
        words.join("; ")
    }

    /// Returns the kinds of places in the claims.
    pub(crate) fn classes(&self, ground: Ground) -> String {
        let class = |it: &Claim| match &it.what {
            What::Open => "open",
            What::Nowhere | What::NotTo(_) => "nowhere",
            What::To(places) => places.first().map_or("an unknown host", |it| ground.class(it)),
        };
        let classes: Vec<&str> = self.claims.iter().map(class).collect();
        classes.join(", ")
    }
}

/// Reads the text as looptax reads the application's file.
pub(crate) fn said(subject: &Subject, text: &str) -> Said {
    let ground = Ground::of(subject.protocol);
    if subject.file.is_empty() {
        return Said {
            claims: Claim::of_url(text.trim(), ground).into_iter().collect(),
            edits: Vec::new(),
            is_guessed: false,
        };
    }
    let path = format!("/srv/app/{}", subject.file);
    let source = Source {
        path: Some(&path),
        bytes: text.as_bytes(),
        neighbours: &subject.beside,
        program: None,
        included: &[],
        environment: None,
    };
    let found = own(read(&source), ground);
    let is_guessed = !found.is_empty() && found.iter().all(|it| it.is_guessed);
    let mut edits = Vec::new();
    for it in &found {
        edits.extend(edits_of(it, ground, text, &source, subject));
    }
    Said { claims: found.iter().map(|it| Claim::of(it, ground)).collect(), edits, is_guessed }
}

/// Returns the connections to a server of this kind.
fn own(reading: Reading, ground: Ground) -> Vec<Found> {
    let is_own = |it: &Found| it.address.as_ref().is_none_or(|it| it.protocol == ground.protocol);
    reading.found.into_iter().filter(is_own).collect()
}

/// Returns the texts that `switch` would write for one connection; empty if the connection is on the socket already, or
/// is not known.
fn edits_of(found: &Found, ground: Ground, text: &str, source: &Source<'_>, subject: &Subject) -> Vec<Edited> {
    let is_over_tcp = found.takes.is_some_and(|it| it != Takes::Unix);
    let Some(address) = found.address.as_ref().filter(|_| is_over_tcp && !found.is_guessed && !found.fails) else {
        return Vec::new();
    };
    let fields = fields(address, ground);
    let rewrites = if found.titles.len() > 1 {
        // With several possible applications, `--as` chooses one.
        let named = read_as(source, &subject.application).map(|it| own(it, ground)).unwrap_or_default();
        named.iter().flat_map(|it| it.rewrites(&fields, text)).collect()
    } else {
        found.rewrites(&fields, text)
    };
    let texts = rewrites.into_iter().flatten().filter_map(|it| rewritten(text, &it));
    let texts = texts.filter(|it| it != text);
    texts.map(|text| Edited { text, socket: Place::Socket(PathBuf::from(&fields.socket)) }).collect()
}

/// Returns the fields for the socket of the server that listens at a TCP address.
fn fields(address: &Address, ground: Ground) -> Fields {
    Fields {
        user: address.user.clone(),
        password: address.password.as_ref().map(Secret::reveal).map(str::to_owned),
        database: address.database.clone(),
        socket: ground.file_for(RIGHT, address.port).display().to_string(),
        folder: RIGHT.to_owned(),
        port: address.port,
        options: None,
        page: None,
    }
}

impl Claim {
    fn of(found: &Found, ground: Ground) -> Self {
        let what = match (found.takes, &found.address) {
            (None, _) | (_, None) => What::Open,
            (Some(Takes::Nothing), _) => What::Nowhere,
            // The file names a socket, or a host that does not exist. The claim is that the driver does not reach it.
            (Some(_), Some(address)) if found.fails => What::NotTo(places(Takes::Unix, address, ground)),
            (Some(takes), Some(address)) => What::To(places(takes, address, ground)),
        };
        let place = match &what {
            What::Open => "not known".to_owned(),
            What::Nowhere => "nowhere".to_owned(),
            What::NotTo(_) => "not what it names".to_owned(),
            What::To(places) => {
                let takes = found.takes.map(Takes::words).unwrap_or_default();
                let places: Vec<String> = places.iter().map(ToString::to_string).collect();
                let named =
                    found.address.as_ref().map(|it| format!("{}:{}", it.host.as_deref().unwrap_or("-"), it.port));
                format!("{takes}, {} ({})", places.join(" or "), named.unwrap_or_default())
            }
        };
        Self { words: format!("{}: {place}: {}", found.titles.join(", "), found.why), what }
    }

    /// Returns the claim from the address as `looptax check URL` reads it; `None` if `check` refuses the address.
    fn of_url(text: &str, ground: Ground) -> Option<Self> {
        let address = Address::parse(text).ok()?;
        let takes = if address.socket.is_some() { Takes::Unix } else { Takes::Tcp };
        let places = places(takes, &address, ground);
        let words: Vec<String> = places.iter().map(ToString::to_string).collect();
        let is_known = address.socket.is_some() || address.host.is_some();
        Some(Self { words: words.join(" or "), what: if is_known { What::To(places) } else { What::Open } })
    }

    /// Returns the result of each claim. Memcached's clients distribute their keys among all servers in a list, so a
    /// client may connect to any of these servers first.
    pub(crate) fn all_against(claims: &[Self], reached: &[Place], ground: Ground) -> Vec<Ending> {
        let mut endings: Vec<Ending> = claims.iter().map(|it| it.against(reached, ground)).collect();
        let is_divided = ground.protocol == Protocol::Memcached && endings.iter().any(|it| *it != Ending::False);
        endings.iter_mut().filter(|it| is_divided && **it == Ending::False).for_each(|it| *it = Ending::Right);
        endings
    }

    pub(crate) fn against(&self, reached: &[Place], ground: Ground) -> Ending {
        let is_right = match (&self.what, reached.first()) {
            (What::Open, _) => return Ending::Open,
            (What::Nowhere, first) => first.is_none(),
            (What::NotTo(places), first) => first.is_none_or(|it| !places.contains(it)),
            (What::To(places), Some(first)) => places.contains(first),
            // The driver tried a place at which nothing listens.
            (What::To(places), None) => !places.iter().any(|it| ground.listens(it)),
        };
        if is_right { Ending::Right } else { Ending::False }
    }
}

/// Returns the places to which a claim says that the connection goes.
fn places(takes: Takes, address: &Address, ground: Ground) -> Vec<Place> {
    let tcp = || {
        let addresses = Ground::addresses(address.host.as_deref()).into_iter();
        addresses.map(|ip| Place::Tcp(ip, address.port)).collect::<Vec<_>>()
    };
    let usual = || {
        let is_of_port = |it: &PathBuf| {
            [RIGHT, "/run/postgresql", "/tmp"].iter().any(|folder| *it == ground.file_for(folder, address.port))
                || !it.to_string_lossy().contains(".s.PGSQL.")
        };
        ground.usual_sockets().into_iter().filter(is_of_port).map(Place::Socket).collect::<Vec<_>>()
    };
    match (takes, address.socket_file()) {
        (Takes::Unix, Some(file)) => vec![of_socket(&file)],
        (Takes::Unix, None) => usual(),
        (Takes::Probe, _) => usual().into_iter().chain(tcp()).collect(),
        _ => tcp(),
    }
}

/// Returns the place of a socket: a path, or an abstract name.
pub(super) fn of_socket(file: &Path) -> Place {
    match file.to_string_lossy().strip_prefix('@') {
        Some(name) => Place::Abstract(name.to_owned()),
        None => Place::Socket(file.to_owned()),
    }
}
