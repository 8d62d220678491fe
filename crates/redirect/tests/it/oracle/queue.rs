//! The ways in which a program waits for its sockets.

use std::collections::BTreeMap;
use std::io;
use std::mem::zeroed;
use std::sync::Mutex;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};

use crate::raw;

pub(super) const IN: i16 = libc::POLLIN;
pub(super) const OUT: i16 = libc::POLLOUT;
pub(super) const HUNG_UP: i16 = libc::POLLHUP;

/// The data of the waker's event.
const WOKEN: usize = usize::MAX;
const MOST_EVENTS: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `epoll`, with these flags in addition to the events.
    Epoll(i32),
    Mio,
    Poll,
    Select,
}

/// All ways by their names.
pub(super) const WAYS: [(&str, Way); 6] = [
    ("epoll", Way::Epoll(0)),
    ("epoll-edge", Way::Epoll(libc::EPOLLET)),
    ("epoll-once", Way::Epoll(libc::EPOLLONESHOT)),
    ("mio", Way::Mio),
    ("poll", Way::Poll),
    ("select", Way::Select),
];

impl Way {
    pub(super) fn parse(name: &str) -> Self {
        WAYS.iter().find(|it| it.0 == name).unwrap().1
    }
}

/// The queue on which one thread waits; any thread sets the events that it waits for.
pub(super) struct Queue {
    way: Way,
    epoll: i32,
    wake: i32,
    /// The entries of `poll` and `select`: by descriptor number, the index of the connection and the events to wait
    /// for.
    list: Mutex<BTreeMap<i32, (usize, i16)>>,
    mio: Option<(Mutex<Poll>, Registry, Waker)>,
}

impl Queue {
    pub(super) fn new(way: Way) -> Self {
        let wake = raw::number(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) }.into()) as i32;
        let epoll = if matches!(way, Way::Epoll(_)) { raw::epoll() } else { -1 };
        if epoll >= 0 {
            raw::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, wake, libc::EPOLLIN, WOKEN as u64);
        }
        let mio = (way == Way::Mio).then(|| {
            let poll = Poll::new().unwrap();
            let registry = poll.registry().try_clone().unwrap();
            let waker = Waker::new(poll.registry(), Token(WOKEN)).unwrap();
            (Mutex::new(poll), registry, waker)
        });
        Self { way, epoll, wake, list: Mutex::default(), mio }
    }

    /// Returns whether each event ends the watch until the watch is begun again.
    pub(super) fn is_once(&self) -> bool {
        self.way == Way::Epoll(libc::EPOLLONESHOT)
    }

    pub(super) fn wake(&self) {
        if let Some((_, _, waker)) = &self.mio {
            waker.wake().unwrap();
        }
        let one = 1_u64;
        unsafe { libc::write(self.wake, (&raw const one).cast(), size_of::<u64>()) };
    }

    pub(super) fn watch(&self, fd: i32, idx: usize, interest: i16) -> i64 {
        match (self.way, &self.mio) {
            (Way::Epoll(flags), _) => {
                raw::epoll_ctl(self.epoll, libc::EPOLL_CTL_ADD, fd, i32::from(interest) | flags, idx as u64)
            }
            (_, Some((_, registry, _))) => number(registry.register(&mut SourceFd(&fd), Token(idx), of_mio(interest))),
            _ => {
                self.list.lock().unwrap().insert(fd, (idx, interest));
                self.wake();
                0
            }
        }
    }

    /// Changes the events to wait for. If a call fails because there is no watch, adds a watch, as event libraries do.
    /// Returns how many calls failed because an exchange fell between two of them.
    pub(super) fn change(&self, fd: i32, idx: usize, interest: i16) -> u32 {
        let mut n_failed = 0;
        loop {
            let changed = match (self.way, &self.mio) {
                (Way::Epoll(flags), _) => {
                    raw::epoll_ctl(self.epoll, libc::EPOLL_CTL_MOD, fd, i32::from(interest) | flags, idx as u64)
                }
                (_, Some((_, registry, _))) => {
                    number(registry.reregister(&mut SourceFd(&fd), Token(idx), of_mio(interest)))
                }
                _ => {
                    self.list.lock().unwrap().insert(fd, (idx, interest));
                    0
                }
            };
            if changed == 0 || self.watch(fd, idx, interest) == 0 {
                return n_failed + u32::from(changed != 0);
            }
            n_failed += 1;
        }
    }

    pub(super) fn end(&self, fd: i32) -> i64 {
        match (self.way, &self.mio) {
            (Way::Epoll(_), _) => raw::epoll_ctl(self.epoll, libc::EPOLL_CTL_DEL, fd, 0, 0),
            (_, Some((_, registry, _))) => number(registry.deregister(&mut SourceFd(&fd))),
            _ => {
                self.list.lock().unwrap().remove(&fd);
                0
            }
        }
    }

    /// Waits for events, and returns them by connection.
    pub(super) fn wait(&self) -> Vec<(usize, i16)> {
        let mut found = match (self.way, &self.mio) {
            (Way::Epoll(_), _) => self.wait_epoll(),
            (_, Some((poll, _, _))) => wait_mio(&mut poll.lock().unwrap()),
            (Way::Select, _) => self.wait_select(),
            _ => self.wait_poll(),
        };
        found.retain(|(idx, _)| *idx != WOKEN);
        let mut n = 0_u64;
        unsafe { libc::read(self.wake, (&raw mut n).cast(), size_of::<u64>()) };
        found
    }

    fn wait_epoll(&self) -> Vec<(usize, i16)> {
        let mut events: [libc::epoll_event; MOST_EVENTS as usize] = unsafe { zeroed() };
        let n = unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), i32::from(MOST_EVENTS), -1) };
        events[..n.max(0) as usize].iter().map(|it| (it.u64 as usize, it.events as i16)).collect()
    }

    fn wait_poll(&self) -> Vec<(usize, i16)> {
        let list = self.list.lock().unwrap().clone();
        let all = list.iter().map(|(fd, it)| (*fd, *it)).chain([(self.wake, (WOKEN, IN))]);
        let (mut asked, who): (Vec<_>, Vec<_>) =
            all.map(|(fd, (idx, events))| (libc::pollfd { fd, events, revents: 0 }, idx)).unzip();
        unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, -1) };
        let told = who.into_iter().zip(asked.iter().map(|it| it.revents));
        told.filter(|(_, bits)| *bits != 0).collect()
    }

    fn wait_select(&self) -> Vec<(usize, i16)> {
        let list = self.list.lock().unwrap().clone();
        unsafe {
            let [mut reading, mut writing]: [libc::fd_set; 2] = zeroed();
            libc::FD_SET(self.wake, &raw mut reading);
            for (fd, (_, interest)) in &list {
                if interest & IN != 0 {
                    libc::FD_SET(*fd, &raw mut reading);
                }
                if interest & OUT != 0 {
                    libc::FD_SET(*fd, &raw mut writing);
                }
            }
            let n = list.keys().copied().chain([self.wake]).max().unwrap_or_default() + 1;
            let none = std::ptr::null_mut();
            if libc::select(n, &raw mut reading, &raw mut writing, none, none.cast()) < 0 {
                return Vec::new();
            }
            let bits = |fd: i32, set: &libc::fd_set, bit: i16| if libc::FD_ISSET(fd, set) { bit } else { 0 };
            let told = list.iter().map(|(fd, (idx, _))| (*idx, bits(*fd, &reading, IN) | bits(*fd, &writing, OUT)));
            told.filter(|(_, bits)| *bits != 0).collect()
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        for fd in [self.epoll, self.wake].into_iter().filter(|it| *it >= 0) {
            raw::close(fd);
        }
    }
}

fn wait_mio(poll: &mut Poll) -> Vec<(usize, i16)> {
    let mut events = Events::with_capacity(MOST_EVENTS.into());
    if poll.poll(&mut events, None).is_err() {
        return Vec::new();
    }
    let bits = |event: &mio::event::Event| {
        let bit = |is_so: bool, bit: i16| if is_so { bit } else { 0 };
        bit(event.is_readable(), IN) | bit(event.is_writable(), OUT) | bit(event.is_write_closed(), HUNG_UP)
    };
    events.iter().map(|it| (it.token().0, bits(it))).collect()
}

fn of_mio(interest: i16) -> Interest {
    match (interest & IN != 0, interest & OUT != 0) {
        (true, true) => Interest::READABLE | Interest::WRITABLE,
        (false, true) => Interest::WRITABLE,
        _ => Interest::READABLE,
    }
}

/// Returns the negative error, or zero.
fn number(result: io::Result<()>) -> i64 {
    result.err().map_or(0, |it| -i64::from(it.raw_os_error().unwrap()))
}
