//! The path to a socket through folders with random owners and permissions: what `check` says is compared with real
//! connections, and its commands, run exactly as printed, must remove the problems that it reports.
//!
//! All of this happens in a mount namespace with its own users and groups.

use looptax_testkit::dice::Dice;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use super::{number, open_up};
use crate::fixture::{Alive, Server, exe, is_root, is_there};

const WAYS: usize = 16;
const MOST_CHECKS: usize = 4;

/// The users, groups and folders of this test.
struct Place {
    keeper: Alive,
    server: Server,
    scratch: Scratch,
}

impl Place {
    fn start() -> Option<Self> {
        let server = Server::start(Kind::Redis)?;
        if !is_root() || !["unshare", "setfacl", "usermod", "redis-cli"].into_iter().all(is_there) {
            return None;
        }
        let scratch = Scratch::new();
        let etc = scratch.file("etc");
        let script = format!(
            "cp -a /etc {etc} && mount --bind {etc} /etc && groupadd --gid 7777 sockets && echo up && exec sleep 600",
            etc = etc.display()
        );
        let mut keeper =
            Alive::spawn(Command::new("unshare").args(["--mount", "sh", "-c", &script]).stdout(Stdio::piped()));
        let mut up = [0; 3];
        std::io::Read::read_exact(keeper.0.stdout.as_mut()?, &mut up).unwrap();
        Some(Self { keeper, server, scratch })
    }

    fn run(&self, words: &[&str]) -> Output {
        let namespace = format!("--mount=/proc/{}/ns/mnt", self.keeper.0.id());
        let mut command = Command::new("nsenter");
        command.arg(namespace).args(words);
        command.env("LOOPTAX_PASSWORD", self.server.password());
        command.output().unwrap()
    }

    /// Whether `nobody`, with its current groups, gets an answer over the socket.
    fn works(&self, socket: &str) -> bool {
        let as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--init-groups"];
        let ask = ["redis-cli", "-e", "--no-auth-warning", "-a", self.server.password()];
        let words = [&as_nobody[..], &ask, &["-s", socket, "PING"]].concat();
        self.run(&words).status.success()
    }

    /// Runs `check`; returns its exit code, the commands that it advises, and the whole output.
    fn said(&self, socket: &str) -> (i32, Vec<String>, String) {
        let url = format!("redis://{}/", self.server.it.tcp);
        let output = self.run(&[
            exe().to_str().unwrap(),
            "check",
            &url,
            "--socket",
            socket,
            "--user",
            "nobody",
            "-c",
            "1",
            "--json",
        ]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let points: Value = serde_json::from_str(&text).unwrap();
        let steps = points.as_array().unwrap().iter();
        let steps = steps.filter_map(|it| it["steps"].as_array()).flatten();
        let commands = steps.map(|it| it["text"].as_str().unwrap().to_owned());
        (output.status.code().unwrap(), commands.collect(), text)
    }
}

/// Gives two folders and the socket in them a random owner, group and mode each; returns a description.
fn make(folder: &Path, socket: &Path, dice: &mut Dice) -> String {
    let mut shown = Vec::new();
    let mut decide = |path: &Path, modes: &[u32]| {
        let owner = dice.one(&[0, 65_534, 1, 1]);
        let group = dice.one(&[0, 7_777, 7_777, 65_534, 1]);
        let mode = dice.one(modes);
        chown(path, Some(owner), Some(group)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        shown.push(format!("{} {owner}:{group} {mode:04o}", path.display()));
    };
    decide(socket, &[0o700, 0o770, 0o770, 0o777, 0o777, 0o755, 0o660, 0o070]);
    let folders = [0o700, 0o750, 0o750, 0o755, 0o711, 0o710, 0o600, 0o640, 0o070];
    decide(folder, &folders);
    decide(folder.parent().unwrap(), &folders);
    shown.join("\n")
}

#[test]
fn r20_check_is_right_of_random_ways_to_a_socket_and_its_commands_end_it() {
    let Some(place) = Place::start() else {
        return;
    };
    let base = place.scratch.work().clone();
    let _reachable = open_up(&base);
    let mut dice = Dice::new(number("LOOPTAX_SEED", 20) as u64);
    let mut socket = PathBuf::from(place.server.socket());
    let (mut n_well, mut n_mended) = (0, 0);
    for idx in 0..number("LOOPTAX_PAIRS", WAYS) {
        let folder = base.join(format!("a{idx}/b"));
        fs::create_dir_all(&folder).unwrap();
        let moved = folder.join("s.sock");
        fs::rename(&socket, &moved).unwrap();
        socket = moved;
        let shown = make(&folder, &socket, &mut dice);
        let path = socket.to_str().unwrap();
        let mut followed = Vec::new();
        for round in 0..=MOST_CHECKS {
            assert!(round < MOST_CHECKS, "advice without an end:\n{shown}\n{followed:#?}");
            let works = place.works(path);
            let (code, commands, text) = place.said(path);
            let is_right = code == i32::from(!works);
            assert!(is_right, "said {code}, works: {works}\n{shown}\n{followed:#?}\n{text}");
            if works {
                n_well += usize::from(round == 0);
                n_mended += usize::from(round > 0);
                break;
            }
            if commands.is_empty() {
                // In this case only a change of the server's own settings helps: the effect of a command would last
                // only until the server restarts.
                assert!(text.contains("configure the server to make"), "{shown}\n{text}");
                break;
            }
            for command in commands {
                let output = place.run(&["sh", "-c", &command]);
                assert!(output.status.success(), "{command}: {output:?}");
                followed.push(command);
            }
        }
        // `nobody` leaves the groups that it has joined.
        place.run(&["usermod", "-G", "", "nobody"]);
    }
    assert!(n_well > 0 && n_mended > 0, "{n_well} {n_mended}");
}

/// Starts a separate Redis for this test, with these settings.
fn redis(port: u16, settings: &[&str]) -> Alive {
    let own = ["--save", "", "--bind", "127.0.0.1"];
    let alive = Alive::spawn(
        Command::new("redis-server").args(["--port", &port.to_string()]).args(own).args(settings).stdout(Stdio::null()),
    );
    patience::wait_for("Redis", Duration::from_secs(10), || TcpStream::connect(("127.0.0.1", port)).ok());
    alive
}

/// A web server has no logins, but the kernel shows which process a socket belongs to.
#[test]
fn a_socket_of_another_process_than_the_port_s_is_told() {
    if !is_root() {
        return;
    }
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let pages = TcpListener::bind("127.0.0.1:0").unwrap();
    let scratch = Scratch::new();
    for scheme in ["http", "fastcgi"] {
        let url = format!("{scheme}://{}", pages.local_addr().unwrap());
        let args = ["check", &url, "--socket", &server.socket()];
        let run = Looptax::new(exe(), &scratch).args(args).run();
        run.expect_code(1);
        let words = format!("over the socket redis-server, pid {}", server.it.pid);
        assert!(run.stdout.contains(&words), "{}", run.stdout);
    }
}

#[test]
fn r20_settings_that_check_names_end_what_it_complains_of() {
    if !is_there("redis-server") {
        return;
    }
    let scratch = Scratch::new();
    let port = free_address().port();
    let url = format!("redis://127.0.0.1:{port}/");
    let check = || {
        let args = ["check", &url, "-c", "120"];
        Looptax::new(exe(), &scratch).args(args).run()
    };
    let server = redis(port, &["--tcp-backlog", "100"]);
    let run = check();
    run.expect_code(1);
    let settings = "write `unixsocket /run/redis/redis-server.sock` (in a folder that belongs to the server) and \
        `unixsocketperm 770` into the server's configuration and restart the server";
    assert!(run.words().contains(settings), "{}", run.stdout);
    drop(server);

    let socket = scratch.file("r.sock");
    let named = ["--unixsocket", socket.to_str().unwrap(), "--unixsocketperm", "777"];
    let server = redis(port, &[&named[..], &["--tcp-backlog", "100"]].concat());
    let run = check();
    run.expect_code(1);
    assert!(run.words().contains("to 120 and restart"), "{}", run.stdout);
    drop(server);

    let _server = redis(port, &[&named[..], &["--tcp-backlog", "120"]].concat());
    check().expect_code(0);
}
