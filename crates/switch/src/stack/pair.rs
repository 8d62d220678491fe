//! How two files belong together: which of them is a web server's, whose the other is, where one leads to the other.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::app::{Rewrite, rewritten};
use looptax_diagnose::check::Switchable;
use looptax_discover::Place;
use looptax_failure::Failure;

use super::back::{self, BackProgram};
use super::front::{self, FrontProgram};
use super::{StackWish, connections};
use crate::file::Original;
use crate::text::Encoding;
use crate::work::Edited;

/// What listens where a unit, a Procfile or an environment says, in the table of applications.
const BY_HAND: [&str; 5] = [
    "gunicorn",
    "uvicorn",
    "puma",
    "uwsgi",
    "systemd_socket_http",
];

/// A file with its text.
pub(super) struct Text<'a> {
    pub(super) named: &'a Path,
    pub(super) original: Original,
    encoding: Encoding,
    pub(super) content: String,
}

impl<'a> Text<'a> {
    pub(super) fn read(named: &'a Path) -> Result<Self, Failure> {
        let original = Original::read(named)?;
        let (encoding, content) = Encoding::read(original.bytes());
        Ok(Self {
            named,
            original,
            encoding,
            content,
        })
    }

    /// Its connections, as that application's, with what would be written for a socket.
    pub(super) fn read_as(
        &self,
        application: &str,
        socket: &Path,
    ) -> Result<Vec<Switchable>, Failure> {
        connections(self.original.path(), &self.content, application, socket)
    }

    /// The file with these bytes; `None` where they cannot be written.
    pub(super) fn edited(self, rewrites: &[Rewrite]) -> Option<Edited> {
        let new = rewritten(&self.content, rewrites)?;
        let new = self.encoding.write(&new)?;
        Some(Edited {
            original: self.original,
            new,
        })
    }
}

/// How the two belong together.
pub(super) struct Pair {
    pub(super) front: &'static dyn FrontProgram,
    pub(super) back: &'static dyn BackProgram,
    /// The names that the table of applications has for their files: the web server's first.
    pub(super) applications: [&'static str; 2],
    /// Where the pages go now; `None` where they go over the socket.
    pub(super) tcp: Option<SocketAddr>,
    /// What names the address in the file of what is behind: a pool.
    pub(super) label: String,
    /// The socket that it listens on already.
    pub(super) listens: Option<PathBuf>,
}

/// The web server's file, then the other, and how they belong together.
///
/// # Errors
/// That no two of the programs that are known would read them, or that one does not lead to the other.
pub(super) fn pair(wish: StackWish<'_>) -> Result<(Text<'_>, Text<'_>, Pair), Failure> {
    let [one, other] = [Text::read(wish.files[0])?, Text::read(wish.files[1])?];
    let in_order = search(&one, &other);
    if let Some(Ok(pair)) = in_order {
        return Ok((one, other, pair));
    }
    let turned = search(&other, &one);
    if let Some(Ok(pair)) = turned {
        return Ok((other, one, pair));
    }
    let why = in_order.or(turned).and_then(Result::err);
    let by_hand = || by_hand(&other, wish.socket).or_else(|| by_hand(&one, wish.socket));
    Err(why
        .or_else(by_hand)
        .unwrap_or_else(|| strangers(&one, &other)))
}

/// The first programs whose files these are, and whose ends meet; else why they do not.
fn search(site: &Text<'_>, pool: &Text<'_>) -> Option<Result<Pair, Failure>> {
    let mut why = None;
    for front in front::ALL {
        let is_own = |it: &&dyn BackProgram| {
            let end = pool.original.path().extension();
            end.is_some_and(|end| end == it.extension())
        };
        for back in back::ALL.into_iter().filter(is_own) {
            for application in front.applications() {
                for own in back.applications() {
                    let ends = Ends {
                        of_site: found(site, application),
                        of_pool: found(pool, own),
                    };
                    if !ends.speak_alike() {
                        continue;
                    }
                    let Some((tcp, label, listens)) = ends.meet() else {
                        why.get_or_insert_with(|| ends.strange((site, pool), back.title()));
                        continue;
                    };
                    return Some(Ok(Pair {
                        front,
                        back,
                        applications: [application, own],
                        tcp,
                        label,
                        listens,
                    }));
                }
            }
        }
    }
    why.map(Err)
}

fn found(text: &Text<'_>, application: &str) -> Vec<Switchable> {
    text.read_as(application, Path::new("/"))
        .unwrap_or_default()
}

/// That a file is what would have to change, and that its lines are typed: a command line's words are not written
/// together with another file.
fn by_hand(text: &Text<'_>, socket: Option<&Path>) -> Option<Failure> {
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
        format!(
            "{named} is of {}, which is not moved together with a web server's file",
            change.title
        ),
        format!(
            "by hand, in {named}: `{}`; then {}; the web server's lines: looptax check --app FILE --socket {}",
            lines.join("`, `"),
            change.restart,
            socket.display()
        ),
    ))
}

fn strangers(one: &Text<'_>, other: &Text<'_>) -> Failure {
    let shown = [one, other].map(|it| it.named.display().to_string());
    let names = |all: Vec<&str>| all.join(", ");
    let fronts = names(front::ALL.iter().map(|it| it.title()).collect());
    let backs = names(back::ALL.iter().map(|it| it.title()).collect());
    Failure::usage(
        format!(
            "{} and {} are not a web server's file ({fronts}) and the own file of what is behind it ({backs})",
            shown[0], shown[1]
        ),
        format!(
            "other pairs are not moved together: looptax check --app {} says the lines for each",
            shown[0]
        ),
    )
}

/// What both files say.
struct Ends {
    of_site: Vec<Switchable>,
    of_pool: Vec<Switchable>,
}

impl Ends {
    fn speak_alike(&self) -> bool {
        match (self.of_site.first(), self.of_pool.first()) {
            (Some(site), Some(pool)) => site.checked.product == pool.checked.product,
            _ => false,
        }
    }

    /// Where the pages go now, the name of what they go to, and the socket that it has.
    fn meet(&self) -> Option<(Option<SocketAddr>, String, Option<PathBuf>)> {
        let label = |it: &Switchable| it.checked.label.clone();
        let targets: Vec<SocketAddr> = self.of_site.iter().filter_map(|it| it.tcp).collect();
        for it in &self.of_pool {
            let Some(own) = it.tcp else { continue };
            // A port alone may be listened at by another address than it says.
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
        let (first, is_one) = (
            *targets.first()?,
            targets.windows(2).all(|pair| pair[0] == pair[1]),
        );
        is_one.then(|| (Some(first), label(own), Some(path)))
    }

    fn strange(&self, (site, pool): (&Text<'_>, &Text<'_>), title: &str) -> Failure {
        let places = |all: &[Switchable]| {
            let all: Vec<&str> = all.iter().map(|it| &*it.checked.place).collect();
            all.join(", ")
        };
        let (from, to) = (places(&self.of_site), places(&self.of_pool));
        Failure::usage(
            format!(
                "{} does not hand its pages to {}: it names {from}, and {title} listens at {to}",
                site.named.display(),
                pool.named.display()
            ),
            "name the file of what the pages go to",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(servers: &str, bind: &str, expected: Option<&str>) {
        let site = format!(
            "upstream app {{ {servers} }}\nserver {{ location / {{ proxy_pass http://app; }} }}\n"
        );
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
        // The address that is listened at, before one that has but the port.
        let own = "server 127.0.0.2:8000; server 127.0.0.1:8000;";
        check(own, "127.0.0.1:8000", Some("127.0.0.1:8000"));
    }
}
