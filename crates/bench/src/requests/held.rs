//! Server threads that are pinned for an epoch, and get their earlier cores back.

use std::io;

use looptax_host::lent::Lent;
use looptax_host::processes::cores_of;

use crate::connect::Worker;
use crate::cores::pin_thread;

/// The pinned threads, with the cores that they had before. Dropping this value restores these cores. Drop it before
/// the connections close: after they have closed, the server may use a thread for another client.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<Lent>);

impl Held {
    /// Pins a thread to `core`.
    ///
    /// # Errors
    /// If the thread has ended, or the kernel refuses.
    pub(super) fn pin(&mut self, worker: Worker, core: usize) -> io::Result<()> {
        let lent = Lent::now(worker.tid).ok_or(io::ErrorKind::NotFound)?;
        pin_thread(worker.tid, core)?;
        self.0.push(lent);
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.iter().rev().for_each(Lent::give_back);
    }
}

/// Returns those of `cores` that all threads of `workers` may use; `None` if one of the threads has ended.
pub(super) fn shared_cores(workers: impl Iterator<Item = Worker>, cores: &[usize]) -> Option<Vec<usize>> {
    let mut shared = cores.to_vec();
    for worker in workers {
        let own = cores_of(worker.tid).ok()?;
        shared.retain(|core| own.contains(core));
    }
    Some(shared)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::cores::allowed_cores;

    #[test]
    fn a_thread_has_its_cores_again_when_it_is_given_back() {
        let mut sleep = Command::new("sleep").arg("600").spawn().unwrap();
        let worker = Worker { pid: sleep.id(), tid: sleep.id() };
        let cores = allowed_cores().unwrap();
        let now = || cores_of(sleep.id()).unwrap();
        let mut held = Held::default();
        held.pin(worker, cores[0]).unwrap();
        assert_eq!(now(), cores[..1]);
        // Pinned twice, like a thread that serves two connections.
        held.pin(worker, cores[cores.len() - 1]).unwrap();
        assert_eq!(now(), cores[cores.len() - 1..]);
        drop(held);
        assert_eq!(now(), cores);
        assert_eq!(shared_cores([worker].into_iter(), &cores), Some(cores));
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        assert_eq!(shared_cores([worker].into_iter(), &[0]), None);
        assert!(Held::default().pin(worker, 0).is_err());
    }
}
