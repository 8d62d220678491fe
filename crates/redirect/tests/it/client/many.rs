//! Many connections: threads, signals, descriptors.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::{Case, Told, connected};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    ("threads", threads),
    ("signals", signals),
    ("descriptors", descriptors),
    ("repeat", repeat),
    ("reopened", reopened),
    ("watched", watched),
    ("fill-queue", fill_queue),
    ("stuck", stuck),
];

/// The address of one thread's `connect` is in memory that is filled after another thread has connected:
/// `userfaultfd(2)`.
fn stuck(told: &Told<'_>) {
    const API: u64 = 0xaa;
    const SAY_API: u64 = 0xc018_aa3f;
    const REGISTER: u64 = 0xc020_aa00;
    const FILL: u64 = 0xc028_aa03;
    // If no answer arrives, this alarm ends the program.
    unsafe { libc::alarm(20) };
    let ask = |fd: i32, request: u64, words: &mut [u64]| {
        let result = unsafe { libc::ioctl(fd, request as _, words.as_mut_ptr()) };
        assert_eq!(raw::number(result.into()), 0);
    };
    let faults = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) } as i32;
    ask(faults, SAY_API, &mut [API, 0, 0]);
    let (kind, rights) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4_096, rights, kind, -1, 0) } as u64;
    ask(faults, REGISTER, &mut [page, 4_096, 1, 0]);
    let (fd, to) = (raw::tcp(told.to), told.to);
    let waiting = thread::spawn(move || {
        let result = unsafe { libc::connect(fd, page as *const _, 16) };
        assert_eq!(raw::number(result.into()), 0);
    });
    // Other connections are answered while that thread waits, however many are made.
    for _ in 0..50 {
        raw::close(connected(to));
        thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut filled = raw::raw(told.to, 4_096);
    ask(faults, FILL, &mut [page, filled.as_mut_ptr() as u64, 4_096, 0, 0]);
    waiting.join().unwrap();
    println!("way {}", raw::read(fd).trim_end());
}

fn number(told: &Told<'_>, idx: usize) -> usize {
    told.words[idx].parse().unwrap()
}

/// Connects, exchanges data, and returns whether the connection used the socket.
fn dial(told: &Told<'_>) -> bool {
    let mut stream = TcpStream::connect(told.to).unwrap();
    stream.set_nodelay(true).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), told.to);
    assert_eq!(stream.local_addr().unwrap().ip(), told.to.ip());
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1);
        line.push(byte[0]);
    }
    let mut back = [0; 5];
    stream.write_all(b"hello").unwrap();
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello");
    line.starts_with(b"unix")
}

/// Starts threads that each dial a number of times, all from the same moment on.
fn threads(told: &Told<'_>) {
    let (n_threads, n_dials) = (number(told, 0), number(told, 1));
    let (n_moved, has_begun) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..n_threads {
            let work = || {
                while !has_begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                for _ in 0..n_dials {
                    if dial(told) {
                        n_moved.fetch_add(1, Ordering::Relaxed);
                    }
                }
            };
            let builder = thread::Builder::new().stack_size(64 * 1024);
            builder.spawn_scoped(scope, work).unwrap();
        }
        has_begun.store(true, Ordering::Release);
    });
    println!("way {}", n_moved.load(Ordering::Relaxed));
    println!("dials {}", n_threads * n_dials);
}

static N_SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: i32) {
    N_SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Connects during a storm of signals. The arguments are `restart` or `interrupt`, and the number of connections.
fn signals(told: &Told<'_>) {
    let is_restarting = told.words[0] == "restart";
    let is_connecting_alone = told.words.get(2).is_some();
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(i32) as usize;
        action.sa_flags = if is_restarting { libc::SA_RESTART } else { 0 };
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let every = libc::timeval { tv_sec: 0, tv_usec: 50 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
    let (mut n_good, mut n_interrupted, mut n_wrong) = (0, 0, 0);
    for _ in 0..number(told, 1) {
        let fd = raw::tcp(told.to);
        let mut result = raw::connect(fd, told.to);
        if result == -i64::from(libc::EINTR) {
            n_interrupted += 1;
            // The kernel continues to connect, or has not begun; in both cases this is how to wait.
            raw::poll(fd, libc::POLLOUT, 1000);
            result = raw::connect(fd, told.to);
            while result == -i64::from(libc::EINTR) {
                result = raw::connect(fd, told.to);
            }
            if result == -i64::from(libc::EISCONN) {
                result = 0;
            }
        }
        let is_connected =
            if is_connecting_alone { undisturbed(|| raw::name(true, fd, 16).0) } else { raw::name(true, fd, 16).0 };
        match (result, is_connected) {
            (0, 0 | -4) => n_good += 1,
            other => {
                n_wrong += 1;
                println!("wrong {other:?}");
            }
        }
        raw::close(fd);
    }
    println!("way {n_interrupted} interrupted, {} signals", N_SIGNALS.load(Ordering::Relaxed));
    println!("good {n_good} wrong {n_wrong}");
    if is_restarting {
        println!("interrupted {n_interrupted}");
    }
}

fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let change = |how| unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGALRM);
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    };
    change(libc::SIG_BLOCK);
    let result = work();
    change(libc::SIG_UNBLOCK);
    result
}

/// Connects with a number of other descriptors open.
fn descriptors(told: &Told<'_>) {
    let n = number(told, 0);
    for _ in 0..n {
        let copy = unsafe { libc::dup(1) };
        assert!(copy > 0, "{copy}");
    }
    let queue = raw::epoll();
    let fd = raw::tcp(told.to);
    raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, 9);
    println!("connect {}", raw::connect(fd, told.to));
    println!("event {:?}", raw::epoll_wait(queue, -1));
    println!("way {}", raw::read(fd).trim_end());
    let fd = connected(told.to);
    println!("way {}", raw::read(fd).trim_end());
}

/// Connects and closes a number of times. After a tenth and at the end, prints which descriptors the supervisor, its
/// parent, has open.
fn repeat(told: &Told<'_>) {
    let n = number(told, 0);
    for idx in 0..n {
        let fd = connected(told.to);
        if idx + 1 == n / 10 || idx + 1 == n {
            // The supervisor accepts a call when it has finished the call before it.
            raw::name(true, fd, 16);
            // The lowest of several counts: a thread that ends late holds some descriptors for a while, a leak holds
            // them forever.
            let mut fewest = open_above();
            for _ in 1..20 {
                std::thread::sleep(std::time::Duration::from_millis(10));
                fewest = std::cmp::min_by_key(fewest, open_above(), Vec::len);
            }
            println!("supervisor has {} descriptors {fewest:?}", fewest.len());
        }
        raw::close(fd);
    }
    println!("dials {n}");
}

/// Returns the descriptors that the parent process has open.
fn open_above() -> Vec<String> {
    let parent = unsafe { libc::getppid() };
    let open = std::fs::read_dir(format!("/proc/{parent}/fd")).unwrap();
    open.filter_map(|it| Some(std::fs::read_link(it.ok()?.path()).ok()?.display().to_string())).collect()
}

/// One thread connects a descriptor number that another thread closes and opens again all the time.
fn reopened(told: &Told<'_>) {
    let n = number(told, 0);
    let number = 50;
    let is_over = AtomicBool::new(false);
    let n_clobbered = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let null = std::fs::File::open("/dev/null").unwrap();
            let null = std::os::fd::AsRawFd::as_raw_fd(&null);
            while !is_over.load(Ordering::Relaxed) {
                // The number refers to a socket, then to another file, which must not be replaced.
                unsafe { libc::dup2(null, number) };
                let name = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
                if name.to_str() != Some("/dev/null") {
                    n_clobbered.fetch_add(1, Ordering::Relaxed);
                }
                let socket = raw::tcp(told.to);
                unsafe { libc::dup2(socket, number) };
                raw::close(socket);
            }
        });
        for _ in 0..n {
            let result = raw::connect(number, told.to);
            let is_known =
                [0, libc::EBADF, libc::ENOTSOCK, libc::EISCONN].iter().any(|errno| -i64::from(*errno) == result);
            assert!(is_known, "{result}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("clobbered {}", n_clobbered.load(Ordering::Relaxed));
}

/// One thread connects a socket while another thread begins, changes or ends a watch on it: that thread's last call
/// decides.
fn watched(told: &Told<'_>) {
    const ADD: i32 = libc::EPOLL_CTL_ADD;
    const CHANGE: i32 = libc::EPOLL_CTL_MOD;
    const END: i32 = libc::EPOLL_CTL_DEL;
    // By case: the calls before `connect`, the calls at the same time as `connect`, and whether the queue finally
    // reports the socket. The data of a call are its number.
    const CASES: [(&[i32], &[i32], bool); 5] = [
        (&[], &[ADD], true),
        (&[], &[ADD, CHANGE], true),
        (&[ADD], &[CHANGE], true),
        (&[ADD], &[END], false),
        (&[ADD], &[END, ADD], true),
    ];
    let (mut wrong, mut n_between, mut n_overwritten) = (Vec::new(), 0, 0);
    for idx in 0..number(told, 0) {
        let (before, beside, is_watched) = CASES[idx % CASES.len()];
        let queue = raw::epoll();
        let kind = if (idx / CASES.len()).is_multiple_of(2) { 0 } else { libc::SOCK_NONBLOCK };
        let fd = raw::socket(raw::family(told.to), libc::SOCK_STREAM | kind);
        let call = |(data, what): (usize, &i32)| raw::epoll_ctl(queue, *what, fd, libc::EPOLLIN, data as u64);
        assert!(before.iter().enumerate().map(call).all(|it| it == 0));
        let both = Barrier::new(2);
        let answers = thread::scope(|scope| {
            let other = scope.spawn(|| {
                both.wait();
                for _ in 0..idx % 40 * 400 {
                    std::hint::spin_loop();
                }
                beside.iter().enumerate().map(|(at, what)| call((before.len() + at, what))).collect::<Vec<_>>()
            });
            both.wait();
            raw::connect(fd, told.to);
            other.join().unwrap()
        });
        // The server sends first.
        assert_eq!(raw::poll(fd, libc::POLLIN, 5_000) & libc::POLLIN, libc::POLLIN);
        let last = before.len() + beside.len() - 1;
        let event = raw::epoll_wait(queue, if is_watched { 1_000 } else { 0 });
        let is_told = event == (libc::EPOLLIN as u32, last as u64);
        // The first of two calls came before the exchange, the second one after it: no kernel can exchange a file in
        // all queues at once.
        let is_between = |it: &i64| [libc::ENOENT, libc::EEXIST].iter().any(|errno| -i64::from(*errno) == *it);
        // The call came in the microseconds in which the new file's watch begins: no kernel has a call that changes a
        // watch only if it is unchanged.
        let is_overwritten = !before.is_empty() && event == (libc::EPOLLIN as u32, 0);
        if beside.len() == 2 && is_between(&answers[1]) {
            n_between += 1;
        } else if is_watched && is_overwritten && answers.iter().all(|it| *it == 0) {
            n_overwritten += 1;
        } else if is_told != is_watched || answers.iter().any(|it| *it != 0) {
            wrong.push(format!("{idx} {kind} {before:?} {beside:?}: {event:?} {answers:?}"));
        }
        raw::close(fd);
        raw::close(queue);
    }
    println!("wrong {} {wrong:?} between {n_between} overwritten {n_overwritten}", wrong.len());
}

/// Connects until the queue is full, and then further: first with blocking sockets, then with a non-blocking one.
fn fill_queue(told: &Told<'_>) {
    for _ in 0..number(told, 0) {
        println!("blocking {}", raw::connect(raw::tcp(told.to), told.to));
    }
    let fd = raw::socket(raw::family(told.to), libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    let result = raw::connect(fd, told.to);
    println!("not blocking {}", [0, -i64::from(libc::EINPROGRESS)].contains(&result));
}
