//! Many connections at the same time: `find` reports all of them, and a snapshot stays cheap.

use std::net::TcpStream;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use rustix::process::{Resource, getrlimit};
use serde_json::Value;

use crate::fixture::{Server, exe};

const N_CONNECTIONS: u32 = 2_000;

#[test]
fn two_thousand_connections_are_one_row() {
    let limit = getrlimit(Resource::Nofile).current;
    if limit.is_some_and(|it| it < u64::from(N_CONNECTIONS) + 500) {
        skip("fewer files may be open than the test needs");
        return;
    }
    let Some(server) = Server::start_for(Kind::Redis, N_CONNECTIONS) else {
        return;
    };
    let open = (0..N_CONNECTIONS).map(|_| TcpStream::connect(server.it.tcp).unwrap());
    let open: Vec<TcpStream> = open.collect();
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["find", "--once", "--json"]).run();
    run.expect_code(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let ways = crate::find::ways(&found, std::process::id(), server.it.pid);
    assert_eq!(ways, [format!("loopback {}", open.len())]);
}
