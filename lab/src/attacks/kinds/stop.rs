//! The attacker stops every process with the attacker's rights while root's `check PID` acts as the attacker.
//!
//! Finds runs that wait forever for a stopped child process; a time limit ends such a run.

use std::path::PathBuf;

use anyhow::Result;

use super::super::ground::Ground;
use super::super::made::SERVERS;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness};
use super::version::comes;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const STOP: Kind = Kind {
    name: "stop",
    about: "`check PID` of the attacker's process, while the attacker stops every process with the attacker's rights",
    share: 2,
    prepare: |ground| Readiness::ready(Stop { ground }),
};

struct Stop<'a> {
    ground: &'a Ground,
}

impl Attack for Stop<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let socket: PathBuf = ground.at("ours").join("stop.sock");
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let mut server = std::process::Command::new(ground.program(SERVERS[0]));
        server.args(["serve-deaf", &port]).arg(&socket);
        let _server = Ours::start(server.stdout(std::process::Stdio::null()))?;
        comes(&socket);
        let client = Ours::start(ground.her("sleep").arg("600"))?;
        let _stopper = Ours::start(&mut ground.part(&["stop"]))?;
        let pid = client.0.id().to_string();
        let url = format!("redis://127.0.0.1:{port}");
        let at = socket.display().to_string();
        let mut words = vec!["check", &url, "--pid", &pid];
        if coin.flip() {
            words.extend(["--socket", &at]);
        }
        ground.looptax(words).end()
    }
}
