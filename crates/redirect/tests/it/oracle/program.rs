//! A random program: thirty calls that depend only on a seed, made by some threads in turn.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::calls::{CALLS, World};
use crate::raw;

/// Number of calls of a program, after its first socket and connection.
const N_CALLS: u64 = 30;
const N_THREADS: u64 = 3;

/// Random numbers that depend only on a seed.
pub(super) struct Coin(SplitMix64);

impl Coin {
    pub(super) fn of(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

type Turn = Box<dyn FnOnce(&mut World) -> String + Send>;

/// Runs `program ADDRESS SEED N`: N programs, one after another.
pub(crate) fn main(words: &[String]) -> ExitCode {
    let to: SocketAddr = words[0].parse().unwrap();
    let (seed, n): (u64, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    for idx in 0..n {
        let seed = seed.wrapping_add(idx);
        println!("program {seed}");
        run(to, Coin::of(seed));
    }
    ExitCode::SUCCESS
}

fn run(to: SocketAddr, mut coin: Coin) {
    let world = Arc::new(Mutex::new(World::new(to)));
    let (tell, told) = channel();
    let threads: Vec<(Sender<Turn>, _)> = (0..N_THREADS)
        .map(|_| {
            let (give, turns) = channel();
            let (world, tell) = (Arc::clone(&world), tell.clone());
            (give, thread::spawn(move || work(&world, &turns, &tell)))
        })
        .collect();
    let take_turn = |idx: u64, turn: Turn| {
        threads[idx as usize].0.send(turn).unwrap();
        println!("{}", told.recv().unwrap());
    };
    if coin.below(10) > 0 {
        take_turn(0, super::calls::first(&mut coin, to));
    }
    for _ in 0..N_CALLS {
        let (_, prepare) = coin.one_of(CALLS);
        let turn = prepare(&mut coin);
        take_turn(coin.below(N_THREADS), turn);
    }
    for (give, thread) in threads {
        drop(give);
        thread.join().unwrap();
    }
    world.lock().unwrap().close_all();
}

fn work(world: &Mutex<World>, turns: &Receiver<Turn>, tell: &Sender<String>) {
    for turn in turns {
        let said = turn(&mut world.lock().unwrap());
        tell.send(said).unwrap();
    }
}

/// Waits a short time for an event of a descriptor, so that the event has happened in both runs.
pub(super) fn settle(fd: i32, events: i16) {
    raw::poll(fd, events, 300);
}

/// Waits for an event that always happens, however late on a loaded machine.
pub(super) fn settle_surely(fd: i32, events: i16) {
    raw::poll(fd, events, 2_000);
}
