//! The moved routes change while the program runs: the counts of each slice must be those that the servers saw.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_redirect::{Programs, ProgramsConfig, RouteCounts, Steering};
use looptax_testkit::dice::Dice;

use super::{Case, Dialer, Dialers, arrived, config};
use crate::server::{Bound, Server};

pub(super) const CASES: &[Case] = &[
    ("each_slice_counts_what_the_servers_saw_of_threads", || {
        slices(1, 4);
    }),
    ("each_slice_counts_what_the_servers_saw_of_processes", || {
        slices(3, 2);
    }),
    ("a_flip_amid_a_storm_mixes_no_slices", storm),
    ("a_socket_that_was_moved_is_answered_for_after_a_flip", again),
    ("who_answers_after_a_death_is_steered_too", taken_over),
    ("what_cannot_be_moved_is_counted_as_fallen", fallen),
];

/// A steered program with two servers, and connections over which its threads get orders.
struct Scene {
    steering: Steering,
    programs: Programs,
    supervisor_pid: u32,
    servers: [Server; 2],
    dialers: Vec<Dialer>,
}

impl Scene {
    fn start(n_processes: usize, n_threads: usize) -> Self {
        let bound = [(); 2].map(|()| Bound::at("127.0.0.1:0"));
        let steering = Steering::map(2).unwrap();
        let control = Dialers::listen(&bound[0]);
        let script = control.script(n_processes, n_threads);
        let config = config(&[&bound[0], &bound[1]], steering, &["sh", "-c", &script]);
        let output = None;
        let mut programs = Programs::begin(ProgramsConfig { config, output }).unwrap();
        let servers = bound.map(Bound::serve);
        let supervisor_pid = programs.start().unwrap().supervisor_pid;
        Self { steering, programs, supervisor_pid, servers, dialers: control.accept(n_processes * n_threads) }
    }

    fn counts(&self, slice: u32) -> Vec<RouteCounts> {
        self.steering.counts(slice).unwrap().routes
    }
}

fn slices(n_processes: usize, n_threads: usize) {
    const N_SLICES: u32 = 200;
    let mut scene = Scene::start(n_processes, n_threads);
    let mut dice = Dice::new(23);
    let mut n_moved = [0; 2];
    for slice in 1..=N_SLICES {
        let moved = dice.below(4) as u32;
        let before = scene.servers.each_ref().map(arrived);
        scene.steering.steer(slice, moved);
        let mut wanted = [RouteCounts::default(); 2];
        for dialer in &mut scene.dialers {
            let (route_idx, n) = (dice.below(2), dice.below(4));
            dialer.tell(&format!("dial {} {n}", scene.servers[route_idx].tcp));
            let is_moved = moved >> route_idx & 1 == 1;
            let route = &mut wanted[route_idx];
            *(if is_moved { &mut route.n_moved } else { &mut route.n_left }) += n as u64;
        }
        for dialer in &mut scene.dialers {
            dialer.hear();
        }
        assert_eq!(scene.counts(slice), wanted, "{slice} {moved:#b}");
        for (route_idx, route) in wanted.iter().enumerate() {
            let now = arrived(&scene.servers[route_idx]);
            let came = [0, 1].map(|way| (now[way] - before[route_idx][way]) as u64);
            assert_eq!(came, [route.n_left, route.n_moved], "{slice} {route_idx}");
            n_moved[route_idx] += route.n_moved;
        }
        let n: u64 = wanted.iter().map(|it| it.n_moved + it.n_left).sum();
        assert_eq!(scene.steering.counts(slice).unwrap().busy_ns > 0, n > 0);
    }
    assert_eq!(scene.programs.stats().n_moved, n_moved);
    assert_eq!(scene.programs.stats().n_left(), 0);
    scene.end();
}

/// Changes the moved routes whenever a connection has arrived, whichever thread is connecting.
fn storm() {
    const N_DIALS: usize = 225;
    let mut scene = Scene::start(2, 2);
    let (mut dice, mut masks) = (Dice::new(7), vec![0]);
    let is_over = AtomicBool::new(false);
    for (idx, dialer) in scene.dialers.iter_mut().enumerate() {
        dialer.tell(&format!("dial {} {N_DIALS}", scene.servers[idx % 2].tcp));
    }
    let (servers, dialers) = (&scene.servers, &mut scene.dialers);
    let all = || servers.iter().flat_map(arrived).sum::<usize>();
    thread::scope(|scope| {
        scope.spawn(|| {
            for dialer in dialers {
                dialer.hear();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut n_before = 0;
        while !is_over.load(Ordering::SeqCst) {
            let n_now = all();
            if n_now > n_before && masks.len() < 1_024 {
                n_before = n_now;
                let moved = dice.below(4) as u32;
                scene.steering.steer(masks.len() as u32, moved);
                masks.push(moved);
            }
            thread::yield_now();
        }
    });
    // On a machine with other work there are fewer changes, but some must have happened between connections.
    assert!(masks.len() > 10, "{}", masks.len());
    let mut sums = [[0; 2]; 2];
    for (slice, moved) in masks.iter().enumerate() {
        for (route_idx, counts) in scene.counts(slice as u32).into_iter().enumerate() {
            let is_moved = moved >> route_idx & 1 == 1;
            let other = if is_moved { counts.n_left } else { counts.n_moved };
            assert_eq!((other, counts.n_fallen), (0, 0), "{slice} {moved:#b}");
            sums[route_idx][0] += counts.n_left as usize;
            sums[route_idx][1] += counts.n_moved as usize;
        }
    }
    assert_eq!(scene.servers.each_ref().map(arrived), sums);
    scene.end();
}

/// A non-blocking `connect` is called again after its route is no longer moved, or after its route has become one that
/// is moved.
fn again() {
    let mut scene = Scene::start(1, 1);
    let to = scene.servers[0].tcp;
    for (slice, moved) in [(1, 1), (3, 0)] {
        scene.steering.steer(slice, moved);
        let begun = scene.dialers[0].ask(&format!("begin {to}"));
        scene.steering.steer(slice + 1, 1 - moved);
        let again = [(); 2].map(|()| scene.dialers[0].ask(&format!("again {to}")));
        assert_eq!([&*begun, &*again[0], &*again[1]], ["-115", "0", "-106"], "{moved}");
        let counts = scene.counts(slice)[0];
        let (n_moved, n_left) = (counts.n_moved, counts.n_left);
        assert_eq!((n_moved, n_left), (u64::from(moved), u64::from(1 - moved)));
        assert_eq!(scene.counts(slice + 1)[0], RouteCounts::default());
    }
    scene.end();
}

/// The supervisor is killed between two slices.
fn taken_over() {
    let mut scene = Scene::start(1, 1);
    let to = scene.servers[0].tcp;
    for slice in 1..=4 {
        scene.steering.steer(slice, slice & 1);
        if slice == 3 {
            let supervisor = scene.supervisor_pid.cast_signed();
            assert!(!scene.programs.has_lost_supervisor());
            assert_eq!(unsafe { libc::kill(supervisor, libc::SIGKILL) }, 0);
        }
        let ways = scene.dialers[0].ask(&format!("dial {to} 3"));
        let (n_moved, n_left) = if slice & 1 == 1 { (3, 0) } else { (0, 3) };
        assert_eq!(ways, format!("{n_left} {n_moved}"));
        let counts = scene.counts(slice)[0];
        assert_eq!((counts.n_moved, counts.n_left), (n_moved, n_left));
    }
    assert!(scene.programs.has_lost_supervisor());
    assert_eq!(scene.programs.has_ended(), None);
    scene.end();
}

/// The socket's file is gone: all connections go over TCP, in slices that move the route and in slices that do not.
fn fallen() {
    let mut scene = Scene::start(1, 1);
    std::fs::remove_file(&scene.servers[0].socket).unwrap();
    for (slice, moved) in [(1, 1), (2, 0)] {
        scene.steering.steer(slice, moved);
        let ways = scene.dialers[0].ask(&format!("dial {} 3", scene.servers[0].tcp));
        assert_eq!(ways, "3 0");
    }
    let (moving, leaving) = (scene.counts(1)[0], scene.counts(2)[0]);
    assert_eq!((moving.n_moved, moving.n_left, moving.n_fallen), (0, 0, 3));
    assert_eq!((leaving.n_moved, leaving.n_left, leaving.n_fallen), (0, 3, 0));
    assert_eq!(scene.programs.stats().n_left(), 3);
    scene.end();
}

impl Scene {
    /// Ends the program; all of its processes end when they are asked to.
    fn end(mut self) {
        assert!(!self.programs.pids_of_program().is_empty());
        assert_eq!(self.programs.end(Duration::from_secs(60)).unwrap(), 0);
        assert!(self.programs.pids_of_program().is_empty());
    }
}
