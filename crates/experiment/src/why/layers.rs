//! Layers of a request's CPU time: assigns a sampled call chain to a layer, by the patterns of `data/layers.toml`.
//!
//! The search starts at the leaf of a chain and goes outwards: the first frame that the table lists decides. Functions
//! that are called from all layers belong to no layer and count for their caller.

use std::collections::HashMap;

use crate::observer::Doer;
use serde::Deserialize;

const TABLE: &str = include_str!(concat!(env!("OUT_DIR"), "/layers.json"));

#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// The function's symbol; empty if it is not known.
    pub(crate) name: &'a str,
    /// Either `kernel`, or the name of a kernel module such as `[veth]`, or the file name of a program or library.
    pub(crate) module: &'a str,
    pub(crate) is_kernel: bool,
}

/// The table in the form of the file `data/layers.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    layers: Vec<String>,
    row: Vec<Row>,
    user: User,
}

/// A group of the kernel's functions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    layer: String,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    modules: Vec<String>,
    #[allow(dead_code, reason = "for readers of the table; a test asks for it")]
    source: String,
    #[allow(dead_code, reason = "for readers of the table; a test asks for it")]
    kernels: String,
    #[serde(default)]
    #[allow(dead_code, reason = "a test compares it with sampled chains")]
    unseen: String,
}

/// The names by which TLS is recognized in user space.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    tls: Vec<String>,
    tls_modules: Vec<String>,
    shared_modules: Vec<String>,
}

/// The effect that a frame has on its call chain, if the table lists the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The chain belongs to the layer with this index.
    Layer(usize),
    /// If all frames from the leaf up to this frame are helpers, the chain belongs to system calls. Otherwise this
    /// frame does not decide the layer.
    Entry,
    /// The frame is skipped, and its time counts for its caller.
    Helper,
}

/// The layers, and the patterns of functions that belong to them.
#[derive(Debug)]
pub(crate) struct Layers {
    names: Vec<String>,
    symbols: Patterns<Meaning>,
    modules: Patterns<Meaning>,
    tls: Patterns<()>,
    tls_modules: Patterns<()>,
    shared_modules: Patterns<()>,
    own: [usize; 5],
    tls_layer: usize,
    system_calls: usize,
}

impl Layers {
    /// Reads the table that is built into the program.
    ///
    /// # Panics
    /// If the table has a mistake, which a test would find.
    pub(crate) fn builtin() -> Self {
        let table: Table = serde_json::from_str(TABLE).expect("a test reads the same table");
        let find_layer = |name: &str| {
            let found = table.layers.iter().position(|layer| layer == name);
            found.expect("a test looks up every layer of the table")
        };
        let (mut symbols, mut modules) = (Patterns::default(), Patterns::default());
        for row in &table.row {
            let meaning = match row.layer.as_str() {
                "entry" => Meaning::Entry,
                "helper" => Meaning::Helper,
                name => Meaning::Layer(find_layer(name)),
            };
            symbols.insert(&row.patterns, meaning);
            modules.insert(&row.modules, meaning);
        }
        Self {
            symbols,
            modules,
            tls: Patterns::from_list(&table.user.tls),
            tls_modules: Patterns::from_list(&table.user.tls_modules),
            shared_modules: Patterns::from_list(&table.user.shared_modules),
            own: ["client", "server", "port proxy", "pooler", "supervisor"]
                .map(|role| find_layer(&format!("{role}, its own code"))),
            tls_layer: find_layer("TLS"),
            system_calls: find_layer("system calls: entry, exit, descriptors"),
            names: table.layers,
        }
    }

    /// Returns the names of the layers, in the order of a report. The last name is `not attributed`.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the layer of a chain, as an index into [`Layers::names`]. The chain starts with its leaf: first the
    /// kernel's frames, then the program's.
    pub(crate) fn layer_of(&self, doer: Doer, chain: &[Seen<'_>]) -> usize {
        let n_kernel = chain.iter().take_while(|frame| frame.is_kernel).count();
        let (kernel, user) = chain.split_at(n_kernel);
        let found = if kernel.is_empty() { self.find_user_layer(doer, user) } else { self.find_kernel_layer(kernel) };
        found.unwrap_or(self.names.len() - 1)
    }

    fn find_kernel_layer(&self, chain: &[Seen<'_>]) -> Option<usize> {
        let mut only_helpers = true;
        for frame in chain {
            match self.find_meaning(frame) {
                Some(Meaning::Layer(layer)) => return Some(layer),
                Some(Meaning::Entry) if only_helpers => return Some(self.system_calls),
                Some(Meaning::Helper) => {}
                // If the table does not list the functions of a subsystem, the cost of these functions must not count
                // as the cost of a system call.
                Some(Meaning::Entry) | None => only_helpers = false,
            }
        }
        None
    }

    fn find_meaning(&self, frame: &Seen<'_>) -> Option<Meaning> {
        let by_name = self.symbols.find(strip_suffix(frame.name));
        by_name.or_else(|| self.modules.find(frame.module))
    }

    fn find_user_layer(&self, doer: Doer, chain: &[Seen<'_>]) -> Option<usize> {
        let first = chain.first()?;
        let is_shared = |frame: &&Seen<'_>| frame.module.is_empty() || self.shared_modules.find(frame.module).is_some();
        let decides = chain.iter().find(|frame| !is_shared(frame));
        let decides = decides.unwrap_or(first);
        if self.tls.find(decides.name).is_some() || self.tls_modules.find(decides.module).is_some() {
            return Some(self.tls_layer);
        }
        let [client, server, proxy, pooler, supervisor] = self.own;
        match doer {
            Doer::Client => Some(client),
            Doer::Server => Some(server),
            Doer::Proxy => Some(proxy),
            Doer::Pooler => Some(pooler),
            Doer::Supervisor => Some(supervisor),
        }
    }
}

/// Removes a suffix that the compiler adds to the name of a kernel function: `.constprop.0`, `.isra.0`, `.part.0`,
/// `.cold`.
fn strip_suffix(name: &str) -> &str {
    match name.split_once('.') {
        Some((function, _)) if !function.is_empty() => function,
        _ => name,
    }
}

/// Exact names, and patterns with a `*` at their start or end. If several match, an exact name takes precedence, then
/// the longest pattern.
#[derive(Debug)]
struct Patterns<T> {
    exact: HashMap<String, T>,
    wild: Vec<Wild<T>>,
}

/// A pattern with a `*`.
#[derive(Debug)]
struct Wild<T> {
    text: String,
    is_open_before: bool,
    is_open_after: bool,
    value: T,
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self { exact: HashMap::new(), wild: Vec::new() }
    }
}

impl Patterns<()> {
    fn from_list(patterns: &[String]) -> Self {
        let mut list = Self::default();
        list.insert(patterns, ());
        list
    }
}

impl<T: Copy> Patterns<T> {
    fn insert(&mut self, patterns: &[String], value: T) {
        for pattern in patterns {
            let text = pattern.trim_matches('*');
            if text == pattern {
                self.exact.insert(text.to_owned(), value);
                continue;
            }
            self.wild.push(Wild {
                text: text.to_owned(),
                is_open_before: pattern.starts_with('*'),
                is_open_after: pattern.ends_with('*'),
                value,
            });
        }
        self.wild.sort_by_key(|wild| usize::MAX - wild.text.len());
    }

    fn find(&self, name: &str) -> Option<T> {
        let exact = self.exact.get(name).copied();
        exact.or_else(|| self.wild.iter().find(|it| it.matches(name)).map(|it| it.value))
    }
}

impl<T> Wild<T> {
    fn matches(&self, name: &str) -> bool {
        match (self.is_open_before, self.is_open_after) {
            (true, true) => name.contains(&self.text),
            (true, false) => name.ends_with(&self.text),
            _ => name.starts_with(&self.text),
        }
    }
}

#[cfg(test)]
mod tests;
