//! Determines how two files belong together: which file is a web server's, which program reads the other file, and
//! which address connects the two programs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::diagnose::check::Switchable;
use looptax_host::discover::Place;
use looptax_model::failure::Failure;

use super::back::{self, BackProgram};
use super::connections;
use super::front::{self, FrontProgram};
use crate::text::Text;

/// The applications whose address is in a unit, a Procfile or an environment variable, by their names in the table of
/// applications.
const BY_HAND: [&str; 5] = ["gunicorn", "uvicorn", "puma", "uwsgi", "systemd_socket_http"];

impl Text {
    /// Reads the file as this application's file; returns its connections, with the text that would be written for a
    /// socket.
    pub(super) fn read_as(&self, application: &str, socket: &Path) -> Result<Vec<Switchable>, Failure> {
        connections(self.original.path(), &self.content, application, socket)
    }
}

pub(super) struct Pair {
    pub(super) front: &'static dyn FrontProgram,
    pub(super) back: &'static dyn BackProgram,
    /// The names of the two files in the table of applications; the web server's name is first.
    pub(super) applications: [&'static str; 2],
    /// The address to which the web server passes pages at present; `None` if it uses the socket.
    pub(super) tcp: Option<SocketAddr>,
    /// The name of the section of the upstream's file that contains the address, for example the name of a PHP-FPM
    /// pool.
    pub(super) label: String,
    /// The socket on which the upstream already listens.
    pub(super) listens: Option<PathBuf>,
}

/// Returns the web server's file, then the other file, and how they belong together.
///
/// # Errors
/// If no two programs that looptax knows read these files, or if the web server's file does not lead to the other
/// program.
pub(super) fn pair(files: [&Path; 2], socket: Option<&Path>) -> Result<(Text, Text, Pair), Failure> {
    let [one, other] = [Text::read(files[0])?, Text::read(files[1])?];
    let in_order = search(&one, &other);
    if let Search::Pair(pair) = in_order {
        return Ok((one, other, pair));
    }
    let turned = search(&other, &one);
    if let Search::Pair(pair) = turned {
        return Ok((other, one, pair));
    }
    let by_hand = || by_hand(&other, socket).or_else(|| by_hand(&one, socket));
    let why = match (in_order, turned) {
        (Search::Apart(why), _) | (_, Search::Apart(why)) => Some(why),
        (_, _) => by_hand(),
    };
    Err(why.unwrap_or_else(|| strangers(&one, &other)))
}

/// The result of [`search`] for the two files in one of the two orders.
enum Search {
    Pair(Pair),
    /// The files belong to two programs that may work together, but the first file does not lead to the second program.
    Apart(Failure),
    /// The files do not belong to two programs that may work together.
    Strangers,
}

/// Finds the first pair of programs to which the two files belong, if the address is the same in both files. If there
/// is no such pair, returns the reason, preferably for two programs with the same protocol.
fn search(site: &Text, pool: &Text) -> Search {
    let mut apart: Option<(bool, Failure)> = None;
    for front in front::ALL {
        let is_own = |it: &&dyn BackProgram| {
            let end = pool.original.path().extension();
            end.is_some_and(|end| end == it.extension())
        };
        for back in back::ALL.into_iter().filter(is_own) {
            for application in front.applications() {
                for own in back.applications() {
                    let ends = Ends { of_site: found(site, application), of_pool: found(pool, own) };
                    let Some(speak_alike) = ends.speak_alike() else {
                        continue;
                    };
                    let met = ends.meet().filter(|_| speak_alike);
                    let Some((tcp, label, listens)) = met else {
                        if apart.as_ref().is_none_or(|it| !it.0 && speak_alike) {
                            let why = ends.strange((site, pool), back.title());
                            apart = Some((speak_alike, why));
                        }
                        continue;
                    };
                    return Search::Pair(Pair { front, back, applications: [application, own], tcp, label, listens });
                }
            }
        }
    }
    apart.map_or(Search::Strangers, |it| Search::Apart(it.1))
}

fn found(text: &Text, application: &str) -> Vec<Switchable> {
    text.read_as(application, Path::new("/")).unwrap_or_default()
}

/// Explains that a person has to edit the file: looptax does not change a command line together with another file.
fn by_hand(text: &Text, socket: Option<&Path>) -> Option<Failure> {
    let socket = socket.unwrap_or(Path::new("/run/NAME/NAME.sock"));
    let it = BY_HAND.iter().find_map(|name| {
        let all = text.read_as(name, socket).unwrap_or_default();
        all.into_iter().find(|it| it.tcp.is_some())
    })?;
    let change = it.checked.changes.first()?;
    let after = change.edits.iter().filter_map(|it| it.after.as_deref());
    let lines: Vec<&str> = after.collect();
    let named = text.named.display();
    Some(Failure::usage(
        format!("{named} is a file of {}, which looptax does not move together with a web server's file", change.title),
        format!(
            "by hand, in {named}: `{}`; then {}; for the web server's lines, run: looptax check FILE --socket {}",
            lines.join("`, `"),
            change.restart,
            socket.display()
        ),
    ))
}

fn strangers(one: &Text, other: &Text) -> Failure {
    let shown = [one, other].map(|it| it.named.display().to_string());
    let names = |mut all: Vec<&str>| {
        // Apache's program has two names, but one title.
        all.dedup();
        all.join(", ")
    };
    let fronts = names(front::ALL.iter().map(|it| it.title()).collect());
    let backs = names(back::ALL.iter().map(|it| it.title()).collect());
    Failure::usage(
        format!(
            "{} and {} are not a pair that looptax can switch together: a web server's file ({fronts}) and the file \
             of the program behind the web server ({backs})",
            shown[0], shown[1]
        ),
        format!(
            "looptax also accepts an application's file together with a server's own file: redis.conf, valkey.conf, \
             memcached.conf, postgresql.conf, …; if one of the two is the command of --restart, write \
             --restart='COMMAND'; looptax check {} prints the lines of other files",
            shown[0]
        ),
    )
}

/// The addresses in both files.
struct Ends {
    of_site: Vec<Switchable>,
    of_pool: Vec<Switchable>,
}

impl Ends {
    /// Whether both files use the same protocol; `None` if one of the files has no address.
    fn speak_alike(&self) -> Option<bool> {
        let (site, pool) = (self.of_site.first()?, self.of_pool.first()?);
        Some(site.checked.product == pool.checked.product)
    }

    /// Returns the address to which the web server passes pages, the name of its section, and the socket that the
    /// upstream already has.
    fn meet(&self) -> Option<(Option<SocketAddr>, String, Option<PathBuf>)> {
        let label = |it: &Switchable| it.checked.label.clone();
        let targets: Vec<SocketAddr> = self.of_site.iter().filter_map(|it| it.tcp).collect();
        for it in &self.of_pool {
            let Some(own) = it.tcp else { continue };
            // If a file contains only a port, its program may listen on another address than looptax assumes.
            let takes = |to: &&SocketAddr| Place::Tcp(own).takes(**to);
            let is_port = |to: &&SocketAddr| own.port() == to.port();
            let to = { targets.iter().find(takes) }.or_else(|| targets.iter().find(is_port));
            if let Some(to) = to {
                return Some((Some(*to), label(it), None));
            }
        }
        let on_socket = |it: &Switchable| it.address.as_ref()?.socket.clone();
        let (own, path) = { self.of_pool.iter() }.find_map(|it| Some((it, on_socket(it)?)))?;
        let mut of_site = self.of_site.iter().filter_map(on_socket);
        if of_site.any(|it| it == path) {
            return Some((None, label(own), Some(path)));
        }
        let (first, is_one) = (*targets.first()?, targets.windows(2).all(|pair| pair[0] == pair[1]));
        is_one.then(|| (Some(first), label(own), Some(path)))
    }

    fn strange(&self, (site, pool): (&Text, &Text), title: &str) -> Failure {
        let places = |all: &[Switchable]| {
            let mut shown: Vec<&str> = Vec::new();
            for it in all {
                if !shown.contains(&&*it.checked.place) {
                    shown.push(&it.checked.place);
                }
            }
            let protocol = all.first().map(|it| protocol(&it.checked.product));
            format!("{} ({})", shown.join(", "), protocol.unwrap_or_default())
        };
        let (from, to) = (places(&self.of_site), places(&self.of_pool));
        Failure::usage(
            format!(
                "{} does not pass its pages to {}: the site passes them to {from}, and {title} listens at {to}",
                site.named.display(),
                pool.named.display()
            ),
            "pass the file of the program that serves the site's pages",
        )
    }
}

/// Returns the protocol of this kind of server, for a person.
fn protocol(product: &str) -> &str {
    match product {
        "php-fpm" => "FastCGI",
        "http" => "HTTP",
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "files of the test's own")]
mod tests {
    use looptax_testkit::scratch::Scratch;

    use super::*;

    #[track_caller]
    fn check(servers: &str, bind: &str, expected: Option<&str>) {
        let site = format!("upstream app {{ {servers} }}\nserver {{ location / {{ proxy_pass http://app; }} }}\n");
        let own = format!("bind = \"{bind}\"\n");
        let read = |path: &str, text: &str, application| {
            connections(Path::new(path), text, application, Path::new("/")).unwrap()
        };
        let ends = Ends {
            of_site: read("/etc/nginx/sites/shop", &site, "nginx_proxy"),
            of_pool: read("/srv/gunicorn.conf.py", &own, "gunicorn"),
        };
        let met = ends.meet().and_then(|it| it.0).map(|it| it.to_string());
        assert_eq!(met.as_deref(), expected, "{servers} {bind}");
    }

    #[test]
    fn another_machine_at_the_same_port_is_not_where_the_two_meet() {
        let both = "server 203.0.113.7:8000; server 127.0.0.1:8000;";
        check(both, "0.0.0.0:8000", Some("127.0.0.1:8000"));
        check("server 203.0.113.7:8000;", "0.0.0.0:8000", None);
        // An address that is the same in both files is preferred to an address of which only the port is the same.
        let own = "server 127.0.0.2:8000; server 127.0.0.1:8000;";
        check(own, "127.0.0.1:8000", Some("127.0.0.1:8000"));
    }

    /// Returns the message about two files that do not belong together.
    #[track_caller]
    fn refused(files: [(&str, &str); 2]) -> String {
        let scratch = Scratch::new();
        let paths = files.map(|(name, text)| {
            let path = scratch.file(name);
            std::fs::write(&path, text).unwrap();
            path
        });
        let Err(why) = pair([&paths[0], &paths[1]], None) else { panic!("{files:?} belong together") };
        why.to_string()
    }

    #[test]
    fn a_site_that_hands_nothing_to_the_file_says_where_it_goes_and_where_that_listens() {
        let fastcgi = ("shop", "server { location / { fastcgi_pass 127.0.0.1:29000; } }\n");
        let http = ("api", "server { location / { proxy_pass http://127.0.0.1:28000; } }\n");
        let gunicorn = ("gunicorn.conf.py", "bind = \"127.0.0.1:8000\"\n");
        let pool = ("shop.conf", "[shop]\nlisten = 127.0.0.1:29000\npm.max_children = 2\n");
        for (files, words) in [
            (
                [fastcgi, gunicorn],
                "the site passes them to 127.0.0.1:29000 (FastCGI), and Gunicorn listens at 127.0.0.1:8000 (HTTP)",
            ),
            (
                [gunicorn, http],
                "the site passes them to 127.0.0.1:28000 (HTTP), and Gunicorn listens at 127.0.0.1:8000 (HTTP)",
            ),
            (
                [http, pool],
                "the site passes them to 127.0.0.1:28000 (HTTP), and PHP-FPM listens at 127.0.0.1:29000 (FastCGI)",
            ),
        ] {
            let said = refused(files);
            assert!(said.contains(words), "{said}");
        }
        let said = refused([("a", "x\n"), ("b", "y\n")]);
        let list = "(nginx, Apache, Caddy, HAProxy)";
        assert!(said.contains(list), "{said}");
    }
}
