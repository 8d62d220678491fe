//! Part of a proof: opens as many connections to the socket at once as the application has workers; the server has to
//! answer all of them.
//!
//! The burst does not log in: the server's first answer is enough. `carry` runs the burst if a person agreed to it.

use std::path::PathBuf;
use std::time::Duration;

use looptax_bench::path::{Endpoint, Storm, first_question, refuses};
use looptax_model::dsn::Protocol;
use looptax_model::record::{StepCode, SwitchStep};

use crate::step::step;

/// If a connection gets no answer within this time, it has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connections that looptax opens at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burst {
    pub socket: PathBuf,
    pub protocol: Protocol,
    pub n_connections: u32,
}

impl Burst {
    /// Opens the connections without waiting: if the socket's queue is full, connecting fails at once, as in some
    /// drivers.
    pub(crate) fn run(&self) -> Result<SwitchStep, SwitchStep> {
        let (n, at) = (self.n_connections, self.socket.display());
        let failed = |why: String| step(StepCode::BurstFailed, format!("a burst of {n} connections to {at}: {why}"));
        let Some(question) = first_question(self.protocol) else {
            return Err(failed(format!(
                "looptax does not know what to send first on a connection to {}",
                self.protocol.title()
            )));
        };
        let storm = Storm {
            endpoint: &Endpoint::Unix(self.socket.clone()),
            n_connections: n,
            gap: Duration::ZERO,
            blocks: false,
            pauses: Vec::new(),
            ends_with_second: false,
            limit: None,
            question,
            stays: true,
            refuses: refuses(self.protocol),
            patience: PATIENCE,
        };
        let fates = storm.run(&|| ()).map_err(|error| failed(error.to_string()))?;
        let mut errors = fates.iter().filter_map(|it| it.error.as_deref());
        if let Some(error) = errors.next() {
            let n_failed = 1 + errors.count();
            return Err(failed(format!("{n_failed} connects failed, the first with {error}")));
        }
        let last = fates.iter().map(|it| it.at).max().unwrap_or_default();
        let words = format!(
            "the server answered all {n} simultaneous connects to {at}, the last after {} ms",
            last.as_millis()
        );
        Ok(step(StepCode::BurstAnswered, words))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_burst_holds_if_all_are_answered_and_fails_where_the_queue_is_short() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let burst = Burst { socket, protocol: Protocol::Redis, n_connections: 9 };
        let answering = listener.try_clone().unwrap();
        let server = std::thread::spawn(move || {
            let mut all = Vec::new();
            for _ in 0..9 {
                let (mut one, _) = answering.accept().unwrap();
                one.read_exact(&mut [0; 6]).unwrap();
                one.write_all(b"+PONG\r\n").unwrap();
                all.push(one);
            }
        });
        assert_eq!(burst.run().unwrap().code, StepCode::BurstAnswered);
        server.join().unwrap();
        rustix::net::listen(&listener, 3).unwrap();
        let short = Burst { n_connections: 9, ..burst.clone() }.run().unwrap_err();
        assert_eq!(short.code, StepCode::BurstFailed);
        assert!(short.words.contains("9 connects failed") || short.words.contains("EAGAIN"), "{}", short.words);
    }
}
