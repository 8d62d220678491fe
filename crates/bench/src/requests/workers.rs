//! Starts the client threads of an epoch from their origins, ends the threads, and takes their memory back.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::connect::Origin;
use crate::cores::CoreMap;
use crate::error::BenchError;
use crate::load::{ClientThread, Load, SliceBarrier, ThreadBuffers};

/// The return value of a client thread: its buffers, and whether it could be pinned.
type Left = (ThreadBuffers, io::Result<()>);

/// The client threads of an epoch, which end when this value is dropped.
pub(super) struct Workers {
    pub(super) barrier: Arc<SliceBarrier>,
    running: Vec<JoinHandle<Left>>,
}

impl Workers {
    /// Starts the threads, which then wait at the barrier for commands.
    pub(super) fn start(
        threads: Vec<ClientThread>,
        map: &CoreMap,
        load: &Load,
        cores: &[usize],
        io_limit: Duration,
    ) -> Result<Self, BenchError> {
        let sockets = threads.iter().flat_map(ClientThread::sockets).collect();
        let mut workers = Self {
            barrier: Arc::new(SliceBarrier::new(threads.len(), sockets, io_limit)),
            running: Vec::with_capacity(threads.len()),
        };
        let cores: Arc<[usize]> = cores.into();
        for (place, thread) in threads.into_iter().enumerate() {
            let (barrier, load, cores) = (Arc::clone(&workers.barrier), *load, Arc::clone(&cores));
            let core = map.client[thread.idx];
            let origin = thread.origin.clone();
            let started = start_from(origin.as_deref(), move || thread.run(&barrier, place, &load, core, &cores));
            let started = started.map_err(failed("start a client thread"))?;
            workers.running.push(started);
        }
        Ok(workers)
    }

    /// Ends the threads and returns their memory.
    pub(super) fn end(&mut self) -> Result<Vec<ThreadBuffers>, BenchError> {
        self.barrier.leave();
        let ended: Vec<Left> = self
            .running
            .drain(..)
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let mut buffers = Vec::with_capacity(ended.len());
        for (thread, pinned) in ended {
            pinned.map_err(failed("pin a client thread"))?;
            buffers.push(thread);
        }
        Ok(buffers)
    }
}

impl Drop for Workers {
    /// Ends the threads; otherwise they would wait for a coordinator that has given up.
    fn drop(&mut self) {
        self.barrier.leave();
        for handle in self.running.drain(..) {
            // If the thread panicked, the panic is already reported.
            let _ = handle.join();
        }
    }
}

fn failed(action: &'static str) -> impl Fn(io::Error) -> BenchError {
    move |source| BenchError::Machine { action, source }
}

/// Starts a thread from the origin's thread or, without an origin, from this one.
fn start_from(
    origin: Option<&dyn Origin>,
    life: impl FnOnce() -> Left + Send + 'static,
) -> io::Result<JoinHandle<Left>> {
    let Some(origin) = origin else {
        return thread::Builder::new().spawn(life);
    };
    let (tell, hear) = mpsc::channel();
    origin.run(Box::new(move || {
        // The send fails only if the coordinator is gone.
        let _ = tell.send(thread::Builder::new().spawn(life));
    }));
    hear.recv().unwrap_or_else(|_| Err(io::ErrorKind::NotConnected.into()))
}
