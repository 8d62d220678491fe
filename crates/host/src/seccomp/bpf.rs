//! Builds filters of system calls as programs for the kernel, with names of goals instead of jump distances.
//!
//! # Source
//! seccomp(2); linux/filter.h.

use std::ffi::c_long;

pub use libc::sock_filter;

/// The offset of the call's number in `seccomp_data`.
pub const AT_NUMBER: u32 = 0;
pub const AT_ARCH: u32 = 4;

/// Returns the offset of the lower half of an argument, for this machine's byte order.
pub const fn at_argument(idx: u32) -> u32 {
    16 + 8 * idx + if cfg!(target_endian = "big") { 4 } else { 0 }
}

/// This machine's architecture; 0 if filters are not implemented for it. Source: linux/audit.h, `AUDIT_ARCH_X86_64`,
/// `AUDIT_ARCH_AARCH64`.
#[cfg(target_arch = "x86_64")]
pub const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub const ARCH: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const ARCH: u32 = 0;

/// The bit in the call numbers of x32 programs, which have the same architecture. Source: asm/unistd.h.
pub const X32_BIT: u32 = 0x4000_0000;

pub const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
/// An instruction that jumps if the word is equal.
pub const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
/// An instruction that jumps if any of these bits is set.
pub const IF_ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
/// An instruction that jumps if the word is at least this large.
pub const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
pub const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// A step of a filter, whose jumps lead to named goals.
#[derive(Debug, Clone, Copy)]
pub enum Step<Goal> {
    Here(Goal),
    /// Loads the word at this offset.
    Load(u32),
    /// Jumps if the word is equal.
    Equal(u32, Goal),
    /// Jumps if the word is not equal.
    NotEqual(u32, Goal),
    /// Jumps if the word is at least this large.
    AtLeast(u32, Goal),
    /// Jumps if any of these bits is set.
    AnyBit(u32, Goal),
    Return(u32),
}

/// Replaces the goals with distances. Every jump must lead forward and over fewer than 256 steps.
pub fn assemble<Goal: Copy + PartialEq>(steps: &[Step<Goal>]) -> Vec<sock_filter> {
    let is_code = |step: &&Step<Goal>| !matches!(step, Step::Here(_));
    let place = |goal: Goal| {
        let before = steps.iter().take_while(|step| !matches!(step, Step::Here(it) if *it == goal));
        before.filter(is_code).count()
    };
    let code = steps.iter().filter(is_code).enumerate();
    code.map(|(idx, step)| {
        let distance = |goal| (place(goal) - idx - 1) as u8;
        let (code, k, jt, jf) = match *step {
            Step::Here(_) => (0, 0, 0, 0),
            Step::Load(offset) => (LOAD, offset, 0, 0),
            Step::Equal(k, goal) => (IF_EQUAL, k, distance(goal), 0),
            Step::NotEqual(k, goal) => (IF_EQUAL, k, 0, distance(goal)),
            Step::AtLeast(k, goal) => (IF_AT_LEAST, k, distance(goal), 0),
            Step::AnyBit(k, goal) => (IF_ANY_BIT, k, distance(goal), 0),
            Step::Return(action) => (RETURN, action, 0, 0),
        };
        sock_filter { code, jt, jf, k }
    })
    .collect()
}

/// Returns a program's decision about a call, as the kernel would make it; for tests of filters.
///
/// # Panics
/// If the program has an instruction that [`assemble`] does not make.
pub fn decide(program: &[sock_filter], arch: u32, number: c_long, args: [u64; 6]) -> u32 {
    let mut data = Vec::new();
    data.extend_from_slice(&(number as u32).to_ne_bytes());
    data.extend_from_slice(&arch.to_ne_bytes());
    data.extend_from_slice(&[0; 8]);
    data.extend(args.iter().flat_map(|it| it.to_ne_bytes()));
    let (mut at, mut value) = (0, 0);
    loop {
        let step = program[at];
        at += 1;
        let is_true = match step.code {
            LOAD => {
                let bytes = data[step.k as usize..].first_chunk();
                value = u32::from_ne_bytes(*bytes.expect("a program loads only bytes of the data"));
                continue;
            }
            RETURN => return step.k,
            IF_EQUAL => value == step.k,
            IF_AT_LEAST => value >= step.k,
            IF_ANY_BIT => value & step.k != 0,
            code => unreachable!("instruction {code}"),
        };
        at += usize::from(if is_true { step.jt } else { step.jf });
    }
}
