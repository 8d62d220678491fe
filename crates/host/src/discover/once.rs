//! Keeps one inspection of processes and sockets, so that it can serve many requests.
//!
//! If looptax inspected the machine for each request, a command that looks up the sockets of several hundred addresses
//! would read all of `/proc` for each address, and could see a process for some of the addresses only. Therefore, while
//! a [`LookOnce`] exists, all requests of its thread about single addresses and processes use the results of one
//! inspection. [`survey`](super::survey()) always inspects the machine again.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::discover::DiscoverError;
use crate::discover::owners::Owners;
use crate::discover::process::{self, Process};
use crate::discover::sock_diag::{self, Sockets};

/// While this value exists, its thread keeps the results of its first inspection. Use it only for queries: code that
/// waits for a change must not hold it.
#[derive(Debug)]
pub struct LookOnce(PhantomData<Rc<()>>);

#[derive(Debug, Default)]
struct Memory {
    n_holders: usize,
    processes: Option<Rc<Vec<Process>>>,
    owners: Option<Rc<Owners>>,
    own_sockets: Option<Rc<Sockets>>,
    /// How often the machine was inspected, for each of the three results above.
    n_looks: [usize; 3],
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

impl LookOnce {
    /// Starts to keep results. If another `LookOnce` already keeps results, uses its results.
    #[must_use]
    pub fn begin() -> Self {
        MEMORY.with_borrow_mut(|it| it.n_holders += 1);
        Self(PhantomData)
    }
}

impl Drop for LookOnce {
    fn drop(&mut self) {
        MEMORY.with_borrow_mut(|it| {
            it.n_holders -= 1;
            if it.n_holders == 0 {
                *it = Memory::default();
            }
        });
    }
}

/// Whether `is_such` returns true for any visible process.
pub fn any_process(is_such: impl FnMut(&Process) -> bool) -> bool {
    processes().iter().any(is_such)
}

/// Returns the result of [`process::processes`], which is kept while a [`LookOnce`] exists.
pub(crate) fn processes() -> Rc<Vec<Process>> {
    if let Some(kept) = MEMORY.with_borrow(|it| it.processes.clone()) {
        return kept;
    }
    let found = Rc::new(process::processes());
    MEMORY.with_borrow_mut(|it| {
        it.n_looks[0] += 1;
        it.processes = Some(found.clone()).filter(|_| it.n_holders > 0);
    });
    found
}

/// Returns the owners of all sockets, which are kept while a [`LookOnce`] exists.
pub(crate) fn owners() -> Rc<Owners> {
    if let Some(kept) = MEMORY.with_borrow(|it| it.owners.clone()) {
        return kept;
    }
    let found = Rc::new(Owners::from_processes(&processes()));
    MEMORY.with_borrow_mut(|it| {
        it.n_looks[1] += 1;
        it.owners = Some(found.clone()).filter(|_| it.n_holders > 0);
    });
    found
}

/// Returns the result of [`sock_diag::own_sockets`], which is kept while a [`LookOnce`] exists.
pub(crate) fn own_sockets() -> Result<Rc<Sockets>, DiscoverError> {
    if let Some(kept) = MEMORY.with_borrow(|it| it.own_sockets.clone()) {
        return Ok(kept);
    }
    let found = Rc::new(sock_diag::own_sockets()?);
    MEMORY.with_borrow_mut(|it| {
        it.n_looks[2] += 1;
        it.own_sockets = Some(found.clone()).filter(|_| it.n_holders > 0);
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use looptax_model::dsn::Protocol;

    use super::*;
    use crate::discover::{any_process, is_listened_at, listener_at, ports_held, sockets_beside};

    /// Makes the requests that a check makes for each address.
    fn ask(at: SocketAddr) -> (bool, Option<u32>) {
        let own = process::process(std::process::id()).unwrap();
        sockets_beside(Protocol::Redis, at);
        ports_held(|it| it == at);
        any_process(|_| false);
        (is_listened_at(at, &own).unwrap(), listener_at(at, &own).map(|it| it.pid))
    }

    #[test]
    fn as_many_addresses_as_there_are_take_one_look_and_without_it_one_each() {
        let listeners: Vec<TcpListener> = (0..5).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let places: Vec<SocketAddr> = listeners.iter().map(|it| it.local_addr().unwrap()).collect();
        let n_looks = || MEMORY.with_borrow(|it| it.n_looks);
        let alone: Vec<_> = places.iter().map(|it| ask(*it)).collect();
        assert!(n_looks().iter().all(|it| *it >= places.len()), "{:?}", n_looks());
        MEMORY.take();
        {
            let _once = LookOnce::begin();
            let together: Vec<_> = places.iter().map(|it| ask(*it)).collect();
            assert_eq!(n_looks(), [1; 3]);
            assert_eq!(together, alone);
            drop(LookOnce::begin());
            assert!(ask(places[0]).0);
            assert_eq!(n_looks(), [1; 3], "the outer one goes on");
        }
        drop(listeners);
        assert!(!ask(places[0]).0, "nothing is kept behind it");
    }
}
