//! Tests of the sampler on this process, as far as this machine and user allow sampling.

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::*;
use crate::why::symbols::{Function, Symbols};

const PERIOD_NS: u64 = 99_991;
/// CPU time to spend in user space, in nanoseconds. The test spends the same amount in the kernel.
const SPIN_NS: u64 = 60_000_000;

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Spends CPU time in user space; returns how much, in nanoseconds.
#[inline(never)]
fn spin_in_a_function_of_our_own() -> u64 {
    let start_ns = thread_cpu_ns();
    let mut sum = 0_u64;
    loop {
        // Without optimization, an iterator would be a separate function.
        let mut i = 0;
        while i < 100_000 {
            sum = sum.wrapping_mul(31) ^ i;
            i += 1;
        }
        black_box(sum);
        let spent_ns = thread_cpu_ns() - start_ns;
        if spent_ns > SPIN_NS {
            return spent_ns;
        }
    }
}

/// Spends CPU time in the kernel; returns how much, in nanoseconds.
fn copy_in_the_kernel() -> u64 {
    let mut zeros = File::open("/dev/zero").unwrap();
    let mut buffer = vec![0; 1 << 20];
    let start_ns = thread_cpu_ns();
    loop {
        zeros.read_exact(&mut buffer).unwrap();
        let spent_ns = thread_cpu_ns() - start_ns;
        if spent_ns > SPIN_NS {
            return spent_ns;
        }
    }
}

fn own_cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// The samples of a spinning thread, added up.
#[derive(Debug, Default)]
struct Seen {
    weight_ns: u64,
    by_function_ns: HashMap<String, u64>,
    are_names_hidden: bool,
    in_kernel: Vec<Function>,
}

/// Samples this thread while it spins. If the kernel refuses, checks that the error explains the refusal, and returns
/// `None`.
fn sample_spinning() -> Option<(Sampler, Seen, u64)> {
    let mut sampler = match Sampler::open(PERIOD_NS, &own_cores()) {
        Ok(sampler) => sampler,
        Err(failure) => {
            assert!(failure.to_string().contains("perf_event"), "{failure:#}");
            assert!(failure.hint().is_some(), "{failure:#}");
            return None;
        }
    };
    let (pid, tid) = (std::process::id(), rustix::thread::gettid());
    let tid = tid.as_raw_nonzero().get().cast_unsigned();
    sampler.watch(&[pid]).unwrap();
    let mut n_before = 0;
    spin_in_a_function_of_our_own();
    // Only samples are counted: the kernel also reports processes that other tests start.
    sampler.drain(&mut |drained| n_before += u32::from(matches!(drained, Drained::Sample(_))));
    assert_eq!(n_before, 0, "it was switched off");
    sampler.start(PERIOD_NS).unwrap();
    let start_ns = now_ns();
    let spent_ns = spin_in_a_function_of_our_own() + copy_in_the_kernel();
    let end_ns = now_ns();
    sampler.pause().unwrap();
    let (mut leaves, mut kernel) = (Vec::new(), Vec::new());
    let mut seen = Seen::default();
    let mut last_ns = 0;
    sampler.drain(&mut |drained| {
        let Drained::Sample(sample) = drained else {
            return;
        };
        assert!(sample.time_ns >= last_ns);
        last_ns = sample.time_ns;
        assert!(sample.n_kernel <= sample.frames.len());
        let is_within = (start_ns..end_ns).contains(&sample.time_ns);
        if (sample.pid, sample.tid, is_within) == (pid, tid, true) {
            leaves.extend(sample.frames.first().copied());
            seen.weight_ns += sample.weight_ns;
            kernel.extend(&sample.frames[..sample.n_kernel]);
        }
    });
    let mut symbols = Symbols::new();
    for leaf in leaves {
        let function = symbols.resolve(sampler.places(), leaf);
        let name = symbols.function(function).name.clone().unwrap_or_default();
        *seen.by_function_ns.entry(name).or_default() += PERIOD_NS;
    }
    for frame in kernel {
        let function = symbols.resolve(sampler.places(), frame);
        seen.in_kernel.push(symbols.function(function).clone());
    }
    seen.are_names_hidden = symbols.note().is_some();
    Some((sampler, seen, spent_ns))
}

#[test]
fn a_function_that_spins_has_the_time_that_it_spends() {
    let Some((sampler, seen, spent_ns)) = sample_spinning() else {
        return;
    };
    // On a busy machine the timer is late, so the limits are wide.
    let lost_ns = sampler.n_missing() * PERIOD_NS;
    let expected_ns = if sampler.sees_kernel() { spent_ns } else { spent_ns / 2 };
    assert!(seen.weight_ns + lost_ns > expected_ns / 4, "{seen:?}");
    assert!(seen.weight_ns < expected_ns * 4, "{seen:?}");
    let name = "spin_in_a_function_of_our_own";
    let own = seen.by_function_ns.iter().filter(|(it, _)| it.contains(name));
    let own_ns: u64 = own.map(|(_, weight_ns)| weight_ns).sum();
    // If the kernel is visible, the function has half of the samples; otherwise it has nearly all. The test requires a
    // quarter.
    assert!(own_ns * 4 > seen.weight_ns, "{:?}", seen.by_function_ns);
    if sampler.sees_kernel() {
        let is_named = |it: &Function| it.name.as_deref().is_some_and(|name| name.contains("zero"));
        assert!(seen.in_kernel.iter().all(|function| function.is_kernel));
        assert!(seen.are_names_hidden || seen.in_kernel.iter().any(is_named));
        assert!(!seen.in_kernel.is_empty());
    } else {
        assert!(seen.in_kernel.is_empty());
        assert!(!sampler.sees_machine());
        assert!(sampler.notes()[0].contains("not of the kernel"));
    }
}

#[test]
fn whoever_sees_less_is_told_what_each_setting_brings() {
    assert_eq!(note_scope(Scope::Machine), Vec::<String>::new());
    let with_kernel = note_scope(Scope::OwnWithKernel).concat();
    assert!(with_kernel.contains("paranoid=-1`"), "{with_kernel}");
    let own = note_scope(Scope::Own).concat();
    for words in ["paranoid=1` adds the kernel's work", "`=-1` the whole machine"] {
        assert!(own.contains(words), "{own}");
    }
}
