//! `run` with a port that a container publishes: a Redis in separate namespaces, and a relay that has the name
//! `docker-proxy` and its target on its command line, as Docker's relay does.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use looptax_testkit::{patience, programs};

use crate::fixture::{Alive, Server, exe, is_installed, is_root, is_there};

const PORT: &str = "6379";

/// Relays the first connection to the first socket in its arguments, and every later connection to the second.
const RELAY: &str = r#"
use IO::Select; use IO::Socket::INET; use IO::Socket::UNIX;
$| = 1;
my @to = @ARGV[0, 1];
my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die;
my $all = IO::Select->new($listener);
my %other;
print $listener->sockport, "\n";
while (my @ready = $all->can_read) {
    for my $one (@ready) {
        if ($one == $listener) {
            my $client = $listener->accept;
            my $server = IO::Socket::UNIX->new($to[0]) or die;
            shift @to if $to[1];
            ($other{$client}, $other{$server}) = ($server, $client);
            $all->add($client, $server);
        } elsif (my $other = $other{$one}) {
            my $bytes;
            next if sysread($one, $bytes, 65536) and syswrite $other, $bytes;
            $all->remove($one, $other);
            delete @other{$one, $other};
            $_->close for $one, $other;
        }
    }
}
"#;

/// A server in a container, with the folder that the container calls `inside`.
struct Container {
    address: &'static str,
    server: Alive,
    scratch: Scratch,
}

impl Container {
    /// Starts the server at an address that only its network namespace has, and that no other test uses. `mount` is a
    /// shell command that mounts something over the folder `$inside`.
    fn start(address: &'static str, mount: &str) -> Option<Self> {
        if !is_installed(Kind::Redis) || !is_root() {
            return None;
        }
        if !["unshare", "ip", "perl"].into_iter().all(is_there) {
            return None;
        }
        let scratch = Scratch::new();
        for folder in ["shared", "inside"] {
            fs::create_dir(scratch.file(folder)).unwrap();
        }
        let script = format!(
            "ip link set lo up && ip address add {address}/32 dev lo && {mount} && exec redis-server \
             --bind 0.0.0.0 --protected-mode no --port {PORT} --save '' \
             --dir $inside --unixsocket $inside/redis.sock"
        );
        let server = Alive(
            Command::new("unshare")
                .args(["--net", "--mount", "sh", "-c", &script])
                .env("inside", scratch.file("inside"))
                .env("shared", scratch.file("shared"))
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let container = Self { address, server, scratch };
        patience::wait_for("the socket", Duration::from_secs(20), || UnixStream::connect(container.outside()).ok());
        Some(container)
    }

    fn socket(&self) -> PathBuf {
        self.scratch.file("inside/redis.sock")
    }

    /// Returns the path of the socket for a process that may look into the container.
    fn outside(&self) -> String {
        let root = format!("/proc/{}/root", self.server.0.id());
        format!("{root}{}", self.socket().display())
    }

    /// Starts a relay for the port of the container; returns the relay and its port on this machine.
    fn publish(&self, elsewhere: &str) -> (Alive, u16) {
        let program = self.scratch.file("docker-proxy");
        programs::copy("/usr/bin/perl", &program);
        let mut proxy = Alive(
            Command::new(program)
                .args(["-e", RELAY, "--", &self.outside(), elsewhere])
                .args(["-proto", "tcp", "-host-ip", "127.0.0.1"])
                .args(["-container-ip", self.address, "-container-port", PORT])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut line = String::new();
        let output = proxy.0.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        (proxy, line.trim().parse().unwrap())
    }

    fn run(&self, port: u16, words: &[&str]) -> Finished {
        Looptax::new(exe(), &self.scratch).args(["run", "--port", &port.to_string()]).args(words).run()
    }

    fn check(&self, port: u16) -> Finished {
        Looptax::new(exe(), &self.scratch).args(["check", "--verbose", &format!("redis://127.0.0.1:{port}")]).run()
    }
}

/// Opens a connection and waits for an answer, so that the relay has connected to its target.
fn connected(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"PING\r\n").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    stream
}

/// The text without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const SHARED: &str = "mount --bind $shared $inside";

#[test]
fn a_published_port_is_moved_to_the_socket_in_a_shared_folder() {
    let Some(container) = Container::start("198.18.77.1", SHARED) else {
        return;
    };
    let (_proxy, port) = container.publish("");
    let dial = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'PING\\r\\nQUIT\\r\\n' >&3; cat <&3");
    let moved = container.run(port, &["--", "bash", "-c", &dial]);
    moved.expect_code(0);
    assert_eq!(moved.stdout, "+PONG\r\n+OK\r\n");
    let socket = container.scratch.file("shared/redis.sock");
    let line = format!("looptax: 1 connection moved, 0 left on TCP: 127.0.0.1:{port} -> {}", socket.display());
    assert!(moved.stderr.contains(&line), "{}", moved.stderr);
    let (server, told) = (container.server.0.id(), container.run(port, &["-v", "--", "true"]));
    let plan = format!("(redis-server through docker-proxy, pid {server}) -> {}\n", socket.display());
    assert!(told.stderr.contains(&plan), "{}", told.stderr);
    let check = container.check(port);
    check.expect_code(0);
    let words = one_line(&check.stdout);
    assert!(words.contains(&format!("port {port} leads through docker-proxy, pid")), "{words}");
    assert!(words.contains("to redis-server") && words.contains(&socket.display().to_string()), "{words}");
}

/// On this machine another server has a socket at the same path, so the path by itself proves nothing.
#[test]
fn a_published_port_stays_on_tcp_where_the_socket_is_the_containers_own() {
    let Some(container) = Container::start("198.18.77.3", "mount -t tmpfs none $inside") else {
        return;
    };
    let _other = UnixListener::bind(container.socket()).unwrap();
    let (_proxy, port) = container.publish("");
    let run = container.run(port, &["--dry-run"]);
    run.expect_code(1);
    let words = "is not in a folder that looptax shares with the container";
    assert!(run.stdout.contains(words), "{}", run.stdout);
    let check = container.check(port);
    check.expect_code(1);
    let inside = container.scratch.file("inside");
    let words = one_line(&check.stdout);
    let socket = container.socket();
    assert!(words.contains(&format!("the server's socket {} is in a folder that only", socket.display())), "{words}");
    assert!(words.contains(&format!("-socket:{}`", inside.display())), "{words}");
}

#[test]
fn a_proxy_that_leads_elsewhere_too_is_not_moved() {
    let Some(container) = Container::start("198.18.77.2", SHARED) else {
        return;
    };
    let Some(other) = Server::start(Kind::Redis) else {
        return;
    };
    let (_proxy, port) = container.publish(&other.socket());
    let first = connected(port);
    container.run(port, &["--dry-run"]).expect_code(0);
    drop(first);
    let _second = connected(port);
    let run = container.run(port, &["--dry-run"]);
    run.expect_code(1);
    assert!(!run.stdout.contains("->"), "{}", run.stdout);
}

/// Two containers have the same address, so looptax cannot know which of them is meant.
#[test]
fn a_published_address_that_two_have_is_not_moved() {
    let start = || Container::start("198.18.77.4", SHARED);
    let (Some(container), Some(_twin)) = (start(), start()) else {
        return;
    };
    let (_proxy, port) = container.publish("");
    let run = container.run(port, &["--dry-run"]);
    run.expect_code(1);
    assert!(!run.stdout.contains("->"), "{}", run.stdout);
}
