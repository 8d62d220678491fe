//! Makes the text of nginx's private copy: the servers of one site, on ports of 127.0.0.1. The copy writes none of the
//! original's files.
//!
//! Works on text only; `expand` has joined all files before. TLS is left out. Variables contain the port and the scheme
//! of the original, so that pages give the same answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;

use looptax_advise::app::{Rewrite, Statement, rewritten, statements};

use super::expand::Expanded;

/// Directives that write files, affect the process, or need TLS. The copy replaces or drops them.
const DROPPED: [&str; 16] = [
    "access_log",
    "error_log",
    "pid",
    "lock_file",
    "daemon",
    "master_process",
    "google_perftools_profiles",
    "fastcgi_store",
    "proxy_store",
    "uwsgi_store",
    "scgi_store",
    "http2",
    "http3",
    "ssl",
    "working_directory",
    "debug_points",
];
/// The beginnings of the names of further directives that need TLS.
const DROPPED_KINDS: [&str; 3] = ["ssl_", "quic_", "http3_"];
/// The directives for folders of temporary files that every nginx has.
const TEMPORARY: [&str; 3] = ["client_body_temp_path", "proxy_temp_path", "fastcgi_temp_path"];
/// The endings of the names of directives whose last word is a path, relative to the folder of the main file.
const PATHS: [&str; 9] = [
    "auth_basic_user_file",
    "auth_jwt_key_file",
    "geoip_country",
    "geoip_city",
    "geoip_org",
    "_ssl_certificate",
    "_ssl_certificate_key",
    "_ssl_trusted_certificate",
    "_ssl_crl",
];
/// Variables that depend on the port, and the variables that replace them in the copy.
const VARIABLES: [(&str, &str); 3] =
    [("https", "looptax_https"), ("scheme", "looptax_scheme"), ("server_port", "looptax_port")];

/// The facts from which the text of the copy is made.
pub(super) struct Wanted<'a> {
    /// The private folder.
    pub(super) folder: &'a Path,
    /// The folder of the original's main file.
    pub(super) main: &'a Path,
    /// The address on which the copy of the pool listens, in the form of `fastcgi_pass`.
    pub(super) pool: &'a str,
    /// The port of a server block that has no `listen`.
    pub(super) usual_port: u16,
}

/// A port of the original site, and the port of the copy that stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listen {
    pub(super) original: u16,
    pub(super) has_tls: bool,
    pub(super) private: u16,
    /// Whether a server block with this port passes pages to the pool.
    pub(super) has_pages: bool,
}

#[derive(Debug)]
pub(super) struct SiteText {
    pub(super) text: String,
    pub(super) listens: Vec<Listen>,
    /// The name of the server block that passes pages to the pool.
    pub(super) name: Option<String>,
    /// Whether some pages are also passed to other programs.
    pub(super) has_others: bool,
    /// The names of the folders for the copy's temporary files.
    pub(super) folders: Vec<String>,
}

/// Keeps only the server blocks of the site, and drops everything about streams and mail.
///
/// # Errors
/// The reason why nothing would be left to copy.
pub(super) fn only_site(all: &Expanded) -> Result<String, String> {
    let text = &*all.text;
    let whole = statements(text).ok_or("cannot split the files of nginx into directives")?;
    if text.contains("_by_lua_block") {
        return Err("the files of nginx contain Lua blocks, which looptax cannot copy".to_owned());
    }
    let mut rewrites = Vec::new();
    let mut n_kept = 0;
    for top in whole.iter().filter(|it| it.block.is_some()) {
        match top.word(text, 0) {
            "events" => {}
            "http" => {
                let is_server = |it: &&Statement| it.word(text, 0) == "server" && it.block.is_some();
                for server in top.block.iter().flatten().filter(is_server) {
                    let is_own = all.own.iter().any(|it| it.start < server.at.end && server.at.start < it.end);
                    n_kept += usize::from(is_own);
                    rewrites.extend((!is_own).then(|| removed(&server.at)));
                }
            }
            _ => rewrites.push(removed(&top.at)),
        }
    }
    if n_kept == 0 {
        return Err("the file contains no part of a server block".to_owned());
    }
    rewritten(text, &rewrites).ok_or_else(overlap)
}

/// Makes the copy. `text` contains only the site; `edits` changes the lines that lead to the pool.
///
/// # Errors
/// The reason why there can be no copy.
pub(super) fn copied(
    text: &str,
    edits: &[Rewrite],
    wanted: &Wanted<'_>,
    free: &mut dyn FnMut() -> io::Result<u16>,
) -> Result<SiteText, String> {
    let text = &*rewritten(text, edits).ok_or_else(overlap)?;
    let whole = statements(text).ok_or("cannot split the files of nginx into directives")?;
    let http = whole.iter().find(|it| it.word(text, 0) == "http").ok_or("the files of nginx have no http block")?;
    let mut copy = Copying {
        text,
        wanted,
        free,
        pages: passes(text, http, wanted.pool)?,
        rewrites: Vec::new(),
        ports: BTreeMap::new(),
        name: None,
        folders: Vec::new(),
    };
    for it in &whole {
        copy.statement(it);
    }
    let servers = http.block.iter().flatten().filter(|it| it.word(text, 0) == "server" && it.block.is_some());
    for server in servers {
        copy.listens(server)?;
    }
    copy.variables();
    let inside = http.inside(text).ok_or("the http block in nginx's files has no opening brace")?;
    let own = copy.of_http(http);
    copy.rewrites.push(Rewrite { at: inside..inside, text: own });
    let folder = wanted.folder.display();
    let head = format!("daemon off;\nmaster_process on;\npid {folder}/nginx.pid;\nerror_log stderr;\n");
    copy.rewrites.push(Rewrite { at: 0..0, text: head });
    let has_others = has_word(text, http.block.as_deref(), &["proxy_pass", "uwsgi_pass", "grpc_pass", "scgi_pass"]);
    let Copying { rewrites, ports, name, folders, .. } = copy;
    let text = rewritten(text, &rewrites).ok_or_else(overlap)?;
    Ok(SiteText { text, listens: ports.into_values().collect(), name, has_others, folders })
}

/// Returns the positions of the directives that pass pages to the pool.
///
/// # Errors
/// If such a directive passes pages to another server.
fn passes(text: &str, http: &Statement, pool: &str) -> Result<Vec<usize>, String> {
    let of_pool = |it: &&Statement| {
        let servers = it.block.iter().flatten().filter(|it| it.word(text, 0) == "server");
        let servers: Vec<&str> = servers.map(|it| it.word(text, 1)).collect();
        it.word(text, 0) == "upstream" && !servers.is_empty() && servers.iter().all(|it| *it == pool)
    };
    let upstreams: Vec<&str> = http.block.iter().flatten().filter(of_pool).map(|it| it.word(text, 1)).collect();
    let mut all = Vec::new();
    collect(text, http.block.as_deref(), "fastcgi_pass", &mut all);
    let is_other = |it: &&&Statement| it.word(text, 1) != pool && !upstreams.contains(&it.word(text, 1));
    match all.iter().find(is_other) {
        Some(other) => Err(format!("the site also passes pages to `{}`", other.word(text, 1))),
        None => Ok(all.iter().map(|it| it.at.start).collect()),
    }
}

fn collect<'a>(text: &str, block: Option<&'a [Statement]>, name: &str, into: &mut Vec<&'a Statement>) {
    for it in block.into_iter().flatten() {
        if it.word(text, 0) == name {
            into.push(it);
        }
        collect(text, it.block.as_deref(), name, into);
    }
}

fn has_word(text: &str, block: Option<&[Statement]>, names: &[&str]) -> bool {
    block
        .into_iter()
        .flatten()
        .any(|it| names.contains(&it.word(text, 0)) || has_word(text, it.block.as_deref(), names))
}

struct Copying<'a> {
    text: &'a str,
    wanted: &'a Wanted<'a>,
    free: &'a mut dyn FnMut() -> io::Result<u16>,
    /// The positions of directives that pass pages to the pool.
    pages: Vec<usize>,
    rewrites: Vec<Rewrite>,
    /// The copy's ports. The key is the original's port, or 0 for a server block that listens only on a socket.
    ports: BTreeMap<u16, Listen>,
    name: Option<String>,
    folders: Vec<String>,
}

impl Copying<'_> {
    /// Drops or changes a directive and the directives in its block.
    fn statement(&mut self, it: &Statement) {
        let name = it.word(self.text, 0);
        if let Some(block) = &it.block {
            // In these blocks the first words of lines are names, not directives.
            if !["types", "map", "geo", "split_clients"].contains(&name) {
                for it in block {
                    self.statement(it);
                }
            }
        } else if DROPPED.contains(&name) || DROPPED_KINDS.iter().any(|kind| name.starts_with(kind)) {
            self.rewrites.push(removed(&it.at));
        } else if name.ends_with("_temp_path") || name.ends_with("_cache_path") {
            let path = self.private_path();
            self.rewrites.extend(it.words.get(1).map(|at| Rewrite { at: at.clone(), text: path }));
        } else if PATHS.iter().any(|end| name.ends_with(end)) {
            let is_relative = |at: &&Range<usize>| !self.text[(*at).clone()].starts_with(['/', '$']);
            let known =
                it.words.last().filter(is_relative).filter(|at| !["off", "on"].contains(&&self.text[(*at).clone()]));
            let text = format!("{}/", self.wanted.main.display());
            self.rewrites.extend(known.map(|at| Rewrite { at: at.start..at.start, text }));
        }
    }

    fn private_path(&mut self) -> String {
        let name = format!("files-{}", self.folders.len() + 1);
        let path = format!("{}/{name}", self.wanted.folder.display());
        self.folders.push(name);
        path
    }

    /// Replaces the addresses on which a server block listens.
    fn listens(&mut self, server: &Statement) -> Result<(), String> {
        let text = self.text;
        let own = |name: &'static str| server.block.iter().flatten().filter(move |it| it.word(text, 0) == name);
        let has_pages = self.pages.iter().any(|at| server.at.contains(at));
        let is_all_tls = own("ssl").any(|it| it.word(text, 1) == "on");
        // Each port of the original, and whether the original uses TLS on this port.
        let mut originals: BTreeMap<u16, bool> = BTreeMap::new();
        for it in own("listen") {
            let words: Vec<&str> = (2..it.words.len()).map(|idx| it.word(text, idx)).collect();
            let has_tls = is_all_tls || words.contains(&"ssl") || words.contains(&"quic");
            self.rewrites.push(removed(&it.at));
            match port(it.word(text, 1)) {
                Some(port) => *originals.entry(port).or_default() |= has_tls,
                None if it.word(text, 1).starts_with("unix:") => {}
                None => return Err(format!("looptax does not know the port of `listen {}`", it.word(text, 1))),
            }
        }
        if originals.is_empty() {
            let has_socket = own("listen").next().is_some();
            originals.insert(if has_socket { 0 } else { self.wanted.usual_port }, is_all_tls);
        }
        let mut lines = String::new();
        for (original, has_tls) in originals {
            let known = match self.ports.get(&original) {
                Some(known) => known.private,
                None => (self.free)().map_err(|error| format!("no port is free: {error}"))?,
            };
            let new = Listen { original, has_tls, private: known, has_pages };
            let listen = self.ports.entry(original).or_insert(new);
            listen.has_tls |= has_tls;
            listen.has_pages |= has_pages;
            let _ = write!(lines, " listen 127.0.0.1:{known};");
        }
        let inside = server.inside(text).ok_or("a server block in nginx's files has no opening brace")?;
        self.rewrites.push(Rewrite { at: inside..inside, text: lines });
        if has_pages && self.name.is_none() {
            let mut names = own("server_name").flat_map(|it| (1..it.words.len()).map(|idx| it.word(text, idx)));
            self.name = names.find(|it| is_plain(it)).map(str::to_owned);
        }
        Ok(())
    }

    /// Replaces the variables that would show the copy's ports to the pages.
    fn variables(&mut self) {
        let (text, mut at) = (self.text, 0);
        while let Some(found) = text[at..].find('$') {
            let start = at + found + 1;
            let start = start + usize::from(text[start..].starts_with('{'));
            let rest = &text[start..];
            let n = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let known = VARIABLES.iter().find(|it| it.0 == &rest[..n]);
            let is_removed = |it: &Rewrite| it.at.contains(&start);
            if let Some((_, new)) = known.filter(|_| !self.rewrites.iter().any(is_removed)) {
                self.rewrites.push(Rewrite { at: start..start + n, text: (*new).to_owned() });
            }
            at = start + n;
        }
    }

    /// Returns the lines that are added at the beginning of the `http` block.
    fn of_http(&mut self, http: &Statement) -> String {
        let mut lines = String::from("\naccess_log off;\n");
        for name in TEMPORARY {
            if !http.block.iter().flatten().any(|it| it.word(self.text, 0) == name) {
                let _ = writeln!(lines, "{name} {};", self.private_path());
            }
        }
        let map = |name: &str, usual: &str, value: &dyn Fn(&Listen) -> String| {
            let mut text = format!("map $server_port ${name} {{ default {usual};");
            for it in self.ports.values() {
                let _ = write!(text, " {} {};", it.private, value(it));
            }
            text + " }\n"
        };
        let either =
            |yes: &'static str, no: &'static str| move |it: &Listen| if it.has_tls { yes } else { no }.to_owned();
        lines += &map(VARIABLES[0].1, "\"\"", &either("on", "\"\""));
        lines += &map(VARIABLES[1].1, "http", &either("https", "http"));
        let original = |it: &Listen| if it.original == 0 { it.private } else { it.original }.to_string();
        lines += &map(VARIABLES[2].1, "$server_port", &original);
        lines
    }
}

/// Returns the port of a `listen`; `None` if the `listen` has no port, or the port is not known.
fn port(word: &str) -> Option<u16> {
    if word.starts_with("unix:") {
        return None;
    }
    let behind = match word.rsplit_once(']') {
        Some((_, rest)) => rest.strip_prefix(':').unwrap_or("80"),
        None => match word.rsplit_once(':') {
            Some((_, port)) => port,
            None if word.chars().all(|c| c.is_ascii_digit()) => word,
            None => "80",
        },
    };
    behind.parse().ok().filter(|it| *it > 0)
}

/// Whether a server's name is the name of a single host.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
}

fn removed(at: &Range<usize>) -> Rewrite {
    Rewrite { at: at.clone(), text: String::new() }
}

fn overlap() -> String {
    "two changes of the files of nginx overlap".to_owned()
}

#[cfg(test)]
mod tests;
