//! Finds the other clients of a port that a server gives up for its socket. PHP-FPM is such a server, because it
//! listens at only one place.
//!
//! Reads only the files of one Compose project, so clients outside the project are not found. Called for all
//! connections to the port together.

use std::collections::BTreeSet;

use looptax_model::dsn::Kind;

use super::compose::File;
use super::project::Project;
use super::web;
use crate::app::found::Found;
use crate::app::table::Role;
use crate::app::web::{NamedPort, Proxy, named_ports};
use crate::app::whole::{Part, Whole};

/// Whether a connection leads to a server that gives up its port.
pub(super) fn is_given_up(found: &Found) -> bool {
    found.kind == Kind::PhpFpm.name()
}

/// Finds a client of a pool's port that is not among the connections to move.
pub(super) fn elsewhere(
    whole: &Whole,
    file: &File<'_>,
    (server, own): (usize, &[&Found]),
    found: &[Found],
) -> Option<String> {
    let port = own.first()?.address.as_ref()?.port;
    let title = &file.containers()[server].title;
    let of_same = |it: &&Found| own.iter().any(|own| own.service == it.service) && is_given_up(it);
    if let Some(hidden) = found.iter().filter(of_same).find(|it| it.address.is_none()) {
        let line = whole.line(hidden.line.unwrap_or_default());
        let at = format!("{} line {}", line.0.unwrap_or_default(), line.1);
        return Some(format!(
            "looptax does not know which server {at} leads to ({}); the server may be `{title}`",
            hidden.why
        ));
    }
    let is_of_several = |it: &&Found| {
        let host = it.bound.iter().find_map(|it| it.roles.get(&Role::Host));
        // If an upstream has several servers, the parser of nginx's files adds a number to its name: `upstream php 2`.
        host.is_some_and(|it| it.path[0].starts_with("upstream ") && it.path[0].split(' ').count() > 2)
    };
    if own.iter().any(is_of_several) {
        return Some(format!(
            "`{title}` is one of several servers of an upstream, and looptax does not move such servers"
        ));
    }
    if let Some(key) = file.says_port(server, port) {
        return Some(format!("`{key}` of `{title}` uses port {port}, on which no server would listen any more"));
    }
    let names = file.names(server);
    let is_named = |text: &str| names.iter().any(|it| text.contains(&format!("{it}:{port}")));
    let lines: BTreeSet<usize> = own.iter().filter_map(|it| it.line).collect();
    let is_site = |words: &str| {
        let mut mounts = file.containers().iter().flat_map(|it| it.mounts_at(web::SITES));
        mounts.any(|it| it.from.as_deref() == Some(words))
    };
    let goes_there = |(part, text): (&Part, &str)| {
        if !is_site(&part.words) {
            return is_named(text);
        }
        let is_other = |it: &NamedPort| {
            let may_be = names.contains(&&*it.host) || it.host.contains('$');
            may_be && !it.lines.clone().any(|line| lines.contains(&(line + part.first_line)))
        };
        named_ports(text, Proxy::Nginx, port).iter().any(is_other)
    };
    let other = whole.others().find(|it| goes_there(*it)).map(|it| it.0.words.clone());
    let other = other.or_else(|| is_named(whole.own()).then(|| "the Compose file".to_owned()));
    other.map(|it| {
        format!("{it} uses {title}:{port} in another place too, and no server would listen on that port any more")
    })
}
