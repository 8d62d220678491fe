//! Server threads that are pinned while an epoch uses them, and given back.

use std::io;

use looptax_host::processes::{cores_of, let_use, stat};

use crate::connect::Worker;
use crate::cores::pin_thread;

/// Threads with the cores that they had before; they get those back when it is dropped, which has to be before their
/// connections close: a server may use a thread again for somebody else.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<Lent>);

#[derive(Debug)]
struct Lent {
    tid: u32,
    /// When it started: another thread may get its number.
    start_ticks: u64,
    before: Vec<usize>,
}

impl Held {
    /// Pins a thread to `core`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn pin(&mut self, worker: Worker, core: usize) -> io::Result<()> {
        let before = cores_of(worker.tid)?;
        let start_ticks = stat(worker.tid).map_or(0, |it| it.start_ticks);
        pin_thread(worker.tid, core)?;
        self.0.push(Lent { tid: worker.tid, start_ticks, before });
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for it in self.0.drain(..).rev() {
            if stat(it.tid).is_some_and(|now| now.start_ticks == it.start_ticks) {
                // Gone meanwhile, or no longer ours to place.
                let _ = let_use(it.tid, &it.before);
            }
        }
    }
}

/// Those of `cores` that all these threads may use; `None` where one of them is gone.
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
        // Twice, as a thread that serves two connections is.
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
