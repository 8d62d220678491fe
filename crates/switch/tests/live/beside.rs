//! A private server with its administrator, and a data folder for switches.

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_experiment::servers::pooler::PoolMode;
use looptax_experiment::servers::{Config, Listening, PrivateServer, Reaper};
use looptax_host::discover::survey;
use looptax_model::dsn::{Address, Kind, Secret};
use looptax_model::record::Point;
use looptax_switch::diagnose::check::reach::{self, ReachRequest};
use looptax_switch::diagnose::check::{Client, Question, points};
use looptax_switch::{Kept, Named};
use looptax_wire::Login;
use tempfile::TempDir;

pub(crate) const NAMED: Named<'static> =
    Named { day: "20261123", at: "2026-11-23T12:00:00Z", title: "what stands in the way" };

/// Runs the child process that a check starts to try the socket, as the test's own user.
pub(crate) fn reach(socket: &str) -> ExitCode {
    let found =
        reach::child(&ReachRequest { socket: socket.into(), view: None, uid: None, gid: None, groups: Vec::new() });
    let done = serde_json::to_writer(std::io::stdout(), &found);
    ExitCode::from(u8::from(done.is_err()))
}

/// The fields are in the order in which they have to be dropped.
pub(crate) struct Beside {
    pub(crate) server: PrivateServer,
    _reaper: Reaper,
    pub(crate) kept: Kept,
    pub(crate) root: TempDir,
}

impl Beside {
    pub(crate) fn start(kind: Kind) -> Self {
        let root = tempfile::Builder::new().prefix("it-").tempdir().unwrap();
        // The account of every server has to be able to enter the folder.
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(root.path(), mode).unwrap();
        let self_exe = std::env::current_exe().unwrap();
        let reaper = Reaper::start(&self_exe).unwrap();
        let config = Config {
            kind,
            self_exe,
            scratch_root: root.path().to_owned(),
            max_connections: 20,
            rows: 100,
            listening: Listening::default(),
            pool_mode: PoolMode::default(),
        };
        Self {
            server: PrivateServer::start(&config, &reaper).unwrap(),
            _reaper: reaper,
            kept: Kept::in_data_folder(&root.path().join("data")),
            root,
        }
    }

    /// Returns the login of the server's own administrator, over the socket.
    pub(crate) fn admin(&self) -> Address {
        let login = &self.server.login;
        Address {
            user: Some(login.user.clone()),
            password: Some(login.password.clone()),
            socket: Some(self.server.socket.clone()),
            ..Address::bare(self.server.protocol)
        }
    }

    pub(crate) fn client(&self, user: &str, password: &str, database: Option<&str>) -> Address {
        Address {
            host: Some("127.0.0.1".to_owned()),
            port: self.server.tcp.port(),
            user: Some(user.to_owned()),
            password: Some(Secret::new(password)),
            database: database.map(str::to_owned),
            ..Address::bare(self.server.protocol)
        }
    }

    pub(crate) fn talk(&self) -> Conversation {
        let endpoint = Endpoint::unix(&self.server.socket).unwrap();
        let login = &self.server.login;
        let protocol = self.server.protocol;
        Conversation::open(protocol, &endpoint, login, Limits::default()).unwrap()
    }

    #[track_caller]
    pub(crate) fn run(&self, statements: &[&str]) {
        let mut talk = self.talk();
        for statement in statements {
            if let Err(error) = talk.execute(statement) {
                panic!("{statement}: {error}");
            }
        }
    }

    /// Returns the points of a check of the client's address.
    pub(crate) fn check(&self, client: &Address) -> Vec<Point> {
        let survey = survey(None);
        let who = Client::find(None, None).unwrap();
        points(Question {
            socket: Some(&self.server.socket),
            n_connections: Some(1),
            ..Question::of(client, &who, who.near(&survey))
        })
        .unwrap()
    }

    /// Logs in over the socket as the client; the error is the server's message.
    pub(crate) fn over_the_socket(&self, client: &Address) -> Result<Conversation, String> {
        let endpoint = Endpoint::unix(&self.server.socket).unwrap();
        let login = Login {
            user: client.user.clone().unwrap(),
            password: client.password.clone().unwrap(),
            database: client.database.clone(),
            ..Login::default()
        };
        let protocol = self.server.protocol;
        let opened = Conversation::open(protocol, &endpoint, &login, Limits::default());
        opened.map_err(|error| format!("{error:?}"))
    }
}
