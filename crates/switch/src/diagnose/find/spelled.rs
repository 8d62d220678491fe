//! Finds the command that prints the lines by which an application server gets a socket: lines for that server, and for
//! the web server in front of it.
//!
//! For a database, a setting of the database is enough; here the files of two servers have to change together.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use looptax_advise::app;
use looptax_host::discover::{Endpoint, Home, Survey, monitored};
use looptax_model::dsn::Kind;

/// Explains how a server that listens only on TCP gets a socket.
pub(super) fn how(server_idx: usize, survey: &Survey) -> String {
    let server = &survey.servers[server_idx];
    if let Some(how) = contained(server_idx, survey) {
        return how;
    }
    let at = server.endpoints.iter().find_map(Endpoint::tcp).map(reached);
    let before = before(server_idx, survey);
    let own = server.kind.facts().how_to_add_a_socket;
    let spelled = at.and_then(|at| spelled(server.kind, &server.name, at, before));
    spelled.map_or_else(|| own.to_owned(), |it| format!("{own}; {it}"))
}

/// Explains how a server in a container gets a socket that its clients see; `None` for any other server.
fn contained(server_idx: usize, survey: &Survey) -> Option<String> {
    let server = &survey.servers[server_idx];
    let protocol = server.kind.protocol().filter(|_| matches!(server.process.home, Home::Container { .. }))?;
    if let Some(file) = monitored(&server.process).and_then(|it| it.compose_file) {
        let file = file.to_string_lossy();
        let file = shell_words::quote(&file);
        return Some(format!(
            "`looptax switch {file} --containers --dry-run` shows the lines for both sides, if the server's \
             application is in the same Compose file"
        ));
    }
    let published = survey.published.iter().find(|it| it.server_idx == server_idx);
    let port = published.and_then(|it| it.endpoints.iter().find_map(Endpoint::port));
    Some(match port {
        Some(port) => {
            format!(
                "`looptax check {protocol}://127.0.0.1:{port}` shows how the server's container can share a \
                 folder for a socket"
            )
        }
        None => app::by_hand(&server.name, protocol, false),
    })
}

/// Returns the commands for a server with this kind, name and address; `None` for a server that does not run pages.
fn spelled(kind: Kind, name: &str, at: SocketAddr, before: Option<&str>) -> Option<String> {
    let (scheme, folder, page) = match kind {
        Kind::PhpFpm => ("fastcgi", "php", ""),
        Kind::Uwsgi => ("uwsgi", "uwsgi", ""),
        Kind::Http => ("http", "site", "/"),
        _ => return None,
    };
    let names: Vec<&str> = before.into_iter().chain(own_side(kind, name)).collect();
    let names = if names.is_empty() { String::new() } else { format!(" --for {}", names.join(",")) };
    let own = own_side(kind, name).filter(|_| before.is_some());
    let switch = match own {
        Some("php-fpm") => ", and `looptax switch SITE POOL --url PAGE` changes both files",
        Some("gunicorn" | "uwsgi" | "puma") => ", and `looptax switch SITE OWN --url PAGE` changes both files",
        _ => "",
    };
    Some(format!(
        "`looptax dsn {scheme}://{at}{page} --socket /run/{folder}/site.sock{names}` shows how to write the \
        socket{switch}"
    ))
}

/// Returns the address at which a client on this machine reaches a listener.
fn reached(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}

/// Returns the name for `dsn --for` that stands for the server's own file.
fn own_side(kind: Kind, name: &str) -> Option<&'static str> {
    match kind {
        Kind::PhpFpm => Some("php-fpm"),
        Kind::Uwsgi => Some("uwsgi"),
        _ => {
            let known = ["gunicorn", "uvicorn", "puma", "node"];
            known.into_iter().find(|it| *it == name)
        }
    }
}

/// Returns the name for `dsn --for` that stands for the web server in front of this server. If none was seen, returns
/// the name of the only kind of web server on this machine.
fn before(server_idx: usize, survey: &Survey) -> Option<&'static str> {
    let stack = &survey.stack;
    let links = stack.links.iter().filter(|it| it.server == server_idx);
    let mut clients = links.filter_map(|it| Some(&stack.services[it.client?]));
    let kind = survey.servers[server_idx].kind;
    let of = |name: &str| web_server(name, kind);
    if let Some(seen) = clients.find_map(|it| of(&it.name)) {
        return Some(seen);
    }
    let mut all: Vec<&str> = stack.services.iter().filter_map(|it| of(&it.name)).collect();
    all.sort_unstable();
    all.dedup();
    match all[..] {
        [alone] => of(alone),
        _ => None,
    }
}

fn web_server(program: &str, kind: Kind) -> Option<&'static str> {
    match program {
        "nginx" | "openresty" | "angie" => Some("nginx"),
        "apache" | "apache2" | "httpd" => Some("apache"),
        "caddy" if kind != Kind::Uwsgi => Some("caddy"),
        "haproxy" if kind != Kind::Uwsgi => Some("haproxy"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, name: &str, before: Option<&str>, expected: Option<&str>) {
        let at = reached("0.0.0.0:9000".parse().unwrap());
        assert_eq!(spelled(kind, name, at, before).as_deref(), expected);
    }

    #[test]
    fn r25_the_command_names_the_server_and_the_web_server_before_it() {
        let nginx = Some("nginx");
        check(
            Kind::PhpFpm,
            "php-fpm8.2",
            nginx,
            Some(
                "`looptax dsn fastcgi://127.0.0.1:9000 --socket /run/php/site.sock --for nginx,php-fpm` shows how \
                 to write the socket, and `looptax switch SITE POOL --url PAGE` changes both files",
            ),
        );
        check(
            Kind::Http,
            "gunicorn",
            nginx,
            Some(
                "`looptax dsn http://127.0.0.1:9000/ --socket /run/site/site.sock --for nginx,gunicorn` shows how \
                 to write the socket, and `looptax switch SITE OWN --url PAGE` changes both files",
            ),
        );
        check(
            Kind::Http,
            "python3.11",
            None,
            Some("`looptax dsn http://127.0.0.1:9000/ --socket /run/site/site.sock` shows how to write the socket"),
        );
        check(Kind::Mariadb, "mariadbd", nginx, None);
    }
}
