//! Whole stacks in three separate network namespaces, as in three containers.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::skips::skip;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::stacks::{FASTCGI, POOL};
use super::{Pages, are_there, expect_chains, nginx_words};
use crate::application::php::{Php, write_pool};
use crate::application::{Group, PATIENCE, Place};
use crate::fixture::{Alive, is_installed, is_root};

/// A network namespace without a name; it ends with the process that holds it.
struct Network(Alive);

impl Network {
    fn new() -> Option<Self> {
        let mut words = Command::new("unshare");
        words.args(["--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"]);
        let mut holder = Alive(words.stdout(Stdio::piped()).spawn().unwrap());
        let mut up = [0; 3];
        let output = holder.0.stdout.as_mut().unwrap();
        if std::io::Read::read_exact(output, &mut up).is_err() {
            skip("no network namespace of its own");
            return None;
        }
        Some(Self(holder))
    }

    fn pid(&self) -> String {
        self.0.0.id().to_string()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.pid()]).args(words);
        command
    }

    #[track_caller]
    fn run(&self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        let done = self.command(&words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }

    /// Connects two network namespaces with a pair of interfaces; `own` is the address on this side, `other` on the
    /// other.
    fn plug_into(&self, network: &Self, name: &str, own: IpAddr, other: IpAddr) {
        let peer = network.pid();
        self.run(&format!("ip link add {name} type veth peer name {name} netns {peer}"));
        for (network, address) in [(self, own), (network, other)] {
            network.run(&format!("ip address add {address}/30 dev {name}"));
            network.run(&format!("ip link set {name} up"));
        }
    }

    /// Runs `act` in a thread inside this namespace; processes that it starts stay inside.
    fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/proc/{}/ns/net", self.pid())).unwrap();
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind).unwrap();
                act()
            });
            there.join().unwrap()
        })
    }
}

/// Starts a MariaDB on port 3306 of a network namespace, with an account for a page.
fn mariadb(place: &Place, network: &Network) -> Group {
    // An init file must have each statement on one line.
    let accounts = "CREATE DATABASE shop;\nCREATE USER 'shop'@'%' IDENTIFIED BY 'bread';\n\
        GRANT ALL ON shop.* TO 'shop'@'%';\n";
    place.write(&[("init.sql", accounts)]);
    let own = ["--no-defaults", "--user=root", "--datadir=«folder»/data"];
    place.run("mariadb-install-db", &[own[0], own[1], own[2], "--skip-test-db"]);
    let paths = ["--socket=«folder»/db.sock", "--pid-file=«folder»/db.pid", "--init-file=«folder»/init.sql"];
    let words = [&own[..], &paths, &["--bind-address=10.77.2.2", "--skip-name-resolve"]].concat();
    let started = network.within(|| place.start(mariadbd(), &words));
    patience::wait_for("MariaDB", PATIENCE, || UnixStream::connect(place.path("db.sock")).ok());
    started
}

fn mariadbd() -> PathBuf {
    find_binary(Kind::Mariadb).expect("the caller has looked for it")
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn three_containers_are_a_chain_over_bridges() {
    let Some(php) = Php::find("mysqli", &[]) else {
        return;
    };
    let programs = ["nginx", "unshare", "nsenter", "ip", "mariadb-install-db"];
    if !are_there(&programs) || !is_installed(Kind::Mariadb) || !is_root() {
        return;
    }
    let (Some(web), Some(app), Some(data)) = (Network::new(), Network::new(), Network::new()) else {
        return;
    };
    web.plug_into(&app, "one", ip("10.77.1.1"), ip("10.77.1.2"));
    app.plug_into(&data, "two", ip("10.77.2.1"), ip("10.77.2.2"));
    let place = Place::alone();
    super::open_folder(&place);
    let _database = mariadb(&place, &data);
    let page = { include_str!("files/page.php").replace("«host»", "10.77.2.2") }
        .replace("«mysql_socket»", "")
        .replace("«user»", "shop")
        .replace("«password»", "bread")
        .replace("«database»", "shop")
        .replace("«port»", "3306");
    place.write(&[("page.php", &page)]);
    write_pool(&place, &POOL.replace("«fpm»", "10.77.1.2:9000"));
    let _fpm = app.within(|| php.start_fpm(&place));
    let words = nginx_words(&place, "10.77.1.1:8000", &FASTCGI.replace("«pass»", "10.77.1.2:9000"));
    let front = web.within(|| place.start("nginx", &words));
    let pages = Pages::of(&place);
    let at: SocketAddr = "10.77.1.1:8000".parse().unwrap();
    let _visitors = web.within(|| pages.visitors(at, 2));
    let expected = ["nginx bridge 2/1 php-fpm", "php-fpm bridge 2/2 mariadb"];
    let found = expect_chains(&place.scratch, front.pid(), &[&expected]);
    let servers = found["servers"].as_array().unwrap();
    let fpm = servers.iter().find(|it| it["endpoints"][0]["address"] == "10.77.1.2:9000");
    assert!(fpm.is_some_and(|it| it["network"].is_string()), "{servers:#?}");
}

/// Passes data on with `splice`, as docker-proxy does.
const SPLICING: &str = "
import os, socket, threading
def pump(source, to):
    out, into = os.pipe()
    while n := os.splice(source.fileno(), into, 65536):
        while n:
            n -= os.splice(out, to.fileno(), n)
listening = socket.create_server(('127.0.0.1', 7001))
while True:
    client, _ = listening.accept()
    server = socket.create_connection(('10.77.2.2', 6379))
    for pair in (client, server), (server, client):
        threading.Thread(target=pump, args=pair, daemon=True).start()
";

const ASKING: &str = "
import socket, time
while True:
    try:
        server = socket.create_connection(('127.0.0.1', 7001))
        while server.send(b'PING\\r\\n') and server.recv(64):
            time.sleep(0.005)
    except OSError:
        time.sleep(0.1)
";

/// The kernel's counts lack a client that receives by `splice`: `find` printed 0.00 requests per second.
#[test]
fn a_proxy_that_splices_has_the_rate_of_its_segments() {
    let programs = ["unshare", "nsenter", "ip", "python3"];
    if !are_there(&programs) || !is_installed(Kind::Redis) || !is_root() {
        return;
    }
    let (Some(app), Some(data)) = (Network::new(), Network::new()) else {
        return;
    };
    app.plug_into(&data, "two", ip("10.77.2.1"), ip("10.77.2.2"));
    let place = Place::alone();
    let words = ["--port", "6379", "--bind", "10.77.2.2", "--save", "", "--dir", "«folder»"];
    let words = [&words[..], &["--protected-mode", "no"]].concat();
    let _server = data.within(|| place.start("redis-server", &words));
    let _asking = app.within(|| place.start("python3", &["-c", ASKING]));
    let proxy = app.within(|| place.start("python3", &["-c", SPLICING]));
    let rate = patience::wait_for("a rate of the proxy", PATIENCE, || {
        let found = crate::find::found(&place.scratch);
        let clients = found["clients"].as_array()?;
        let its_own = clients.iter().find(|it| it["pid"] == proxy.pid())?;
        its_own["requests_per_s"].as_f64().filter(|it| *it > 0.0)
    });
    assert!(rate > 10.0 && rate < 210.0, "{rate}");
}
