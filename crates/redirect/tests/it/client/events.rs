//! Event queues that watch a socket before it is connected, and afterwards.

use super::{Case, Told, connected, talk};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    ("epoll-before", |told| before(told, 0)),
    ("epoll-edge-before", |told| before(told, libc::EPOLLET)),
    ("epoll-once-before", |told| before(told, libc::EPOLLONESHOT)),
    ("epoll-after", after),
    ("epoll-crowded", crowded),
    ("epoll-two-queues", two_queues),
    ("epoll-late-queue", late_queue),
    ("epoll-high", high),
    ("epoll-many", many),
];

const IN_OUT: i32 = libc::EPOLLIN | libc::EPOLLOUT;

fn non_blocking(told: &Told<'_>) -> i32 {
    raw::socket(raw::family(told.to), libc::SOCK_STREAM | libc::SOCK_NONBLOCK)
}

/// Does what nginx does: adds a watch, connects, waits; then changes the watch and removes it.
fn before(told: &Told<'_>, mode: i32) {
    let queue = raw::epoll();
    let fd = non_blocking(told);
    let data = 0x1234_5678_9abc;
    println!("add {}", raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, fd, IN_OUT | mode, data));
    raw::connect(fd, told.to);
    follow(queue, fd, mode, data);
}

fn follow(queue: i32, fd: i32, mode: i32, data: u64) {
    // Either event may come first, or both may come together.
    let mut seen = 0;
    while seen & libc::EPOLLIN == 0 {
        let (events, got) = raw::epoll_wait(queue, -1);
        assert_eq!(got, data);
        seen |= events.cast_signed();
        assert_eq!(events.cast_signed() & (libc::EPOLLHUP | libc::EPOLLERR), 0);
        if mode & libc::EPOLLONESHOT != 0 {
            let again = raw::epoll_ctl(queue, libc::EPOLL_CTL_MOD, fd, libc::EPOLLIN | mode, data);
            assert_eq!(again, 0);
        }
    }
    println!("way {}", raw::read(fd).trim_end());
    let changed = raw::epoll_ctl(queue, libc::EPOLL_CTL_MOD, fd, libc::EPOLLIN | mode, data + 1);
    println!("change {changed}");
    println!("quiet {:?}", raw::epoll_wait(queue, 0));
    assert_eq!(raw::write(fd, "hello"), 5);
    println!("event {:?}", raw::epoll_wait(queue, -1));
    println!("echo {}", raw::read(fd));
    println!("again {}", raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, fd, IN_OUT, 1));
    println!("delete {}", raw::epoll_ctl(queue, libc::EPOLL_CTL_DEL, fd, 0, 0));
    println!("delete {}", raw::epoll_ctl(queue, libc::EPOLL_CTL_DEL, fd, 0, 0));
    raw::close(fd);
    println!("quiet {:?}", raw::epoll_wait(queue, 0));
}

fn after(told: &Told<'_>) {
    let queue = raw::epoll();
    let fd = connected(told.to);
    println!("add {}", raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, 7));
    println!("event {:?}", raw::epoll_wait(queue, -1));
    follow(queue, fd, 0, 7);
}

fn two_queues(told: &Told<'_>) {
    let (one, two) = (raw::epoll(), raw::epoll());
    let fd = non_blocking(told);
    raw::epoll_ctl(one, libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, 1);
    raw::epoll_ctl(two, libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, 2);
    raw::connect(fd, told.to);
    println!("one {:?}", raw::epoll_wait(one, -1));
    println!("two {:?}", raw::epoll_wait(two, -1));
    println!("way {}", raw::read(fd).trim_end());
}

/// Like `before`, but the supervisor's user has as many processes as it may have.
fn crowded(told: &Told<'_>) {
    let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
    // After this connection the supervisor is running.
    talk(connected(told.to));
    let limited = unsafe {
        let supervisor = libc::getppid();
        libc::prlimit(supervisor, libc::RLIMIT_NPROC, &raw const limit, std::ptr::null_mut())
    };
    assert_eq!(limited, 0);
    before(told, 0);
}

/// Makes a queue after the process has already connected.
fn late_queue(told: &Told<'_>) {
    connected(told.to);
    before(told, 0);
    before(told, libc::EPOLLET);
}

/// Connects under numbers that the supervisor uses for something else, and under numbers that it does not have.
fn high(told: &Told<'_>) {
    for number in [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 500, 1000] {
        let queue = unsafe { libc::fcntl(raw::epoll(), libc::F_DUPFD, 600) };
        let low = non_blocking(told);
        unsafe { libc::dup2(low, number) };
        if low != number {
            raw::close(low);
        }
        raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, number, libc::EPOLLIN, number as u64);
        raw::connect(number, told.to);
        println!("event {:?}", raw::epoll_wait(queue, -1));
        println!("way {}", raw::read(number).trim_end());
        raw::epoll_ctl(queue, libc::EPOLL_CTL_DEL, number, 0, 0);
    }
}

/// Makes the requested number of watches, then connects some of the watched sockets.
fn many(told: &Told<'_>) {
    let n: usize = told.words[0].parse().unwrap();
    let queue = raw::epoll();
    let sockets: Vec<i32> = (0..n).map(|_| non_blocking(told)).collect();
    for fd in &sockets {
        assert!(*fd > 0, "{fd}");
        assert_eq!(raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, *fd, libc::EPOLLIN | libc::EPOLLET, *fd as u64), 0);
    }
    // A socket that is not connected reports a hang-up, once.
    while raw::epoll_wait(queue, 0) != (0, 0) {}
    for fd in [sockets[0], sockets[n / 2], sockets[n - 1]] {
        raw::connect(fd, told.to);
        let (events, data) = raw::epoll_wait(queue, -1);
        println!("{} {}", events.cast_signed() & libc::EPOLLIN, data == fd as u64);
        println!("way {}", raw::read(fd).trim_end());
    }
}
