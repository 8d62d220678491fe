//! The bpf(2) calls, each behind a function that is safe to call: the only unsafe code of this room.
//!
//! libc has no names for its structures and numbers; they are those of linux/bpf.h. Every descriptor is
//! closed on exec, which the kernel sees to itself. Called by `mod` alone.

use std::ffi::{c_int, c_long};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::assembler::Instruction;

const MAP_CREATE: c_int = 0;
const MAP_LOOKUP: c_int = 1;
const MAP_UPDATE: c_int = 2;
const PROG_LOAD: c_int = 5;
const PROG_ATTACH: c_int = 8;
const LINK_CREATE: c_int = 28;

const ATTACH_CGROUP_SOCK_OPS: u32 = 3;
const ATTACH_SK_MSG_VERDICT: u32 = 7;

/// `BPF_OBJ_NAME_LEN`, with the closing zero.
const NAME_BYTES: usize = 16;
/// Enough for what the kernel has to say about programs as short as ours.
const LOG_BYTES: usize = 64 * 1024;
/// `NR_CPUS` is at most this on every architecture that we load programs on (arch/x86/Kconfig; arm64
/// stays below), and the kernel writes one value per core that may ever be there.
const MAX_CORES: usize = 8192;
/// No helper that we call asks for a licence that is compatible with the kernel's.
const LICENSE: &[u8] = b"MIT OR Apache-2.0\0";

/// Kinds of maps. Source: `bpf_map_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapKind {
    Hash = 1,
    Array = 2,
    PerCpuArray = 6,
    LruHash = 9,
    SockHash = 18,
}

/// Kinds of programs. Source: `bpf_prog_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramKind {
    SockOps = 13,
    SkMsg = 16,
}

/// What a map is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapShape {
    pub(super) kind: MapKind,
    pub(super) key_bytes: u32,
    pub(super) value_bytes: u32,
    pub(super) max_entries: u32,
    /// At most 15 bytes.
    pub(super) name: &'static str,
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    max_entries: u32,
    flags: u32,
    inner_map: u32,
    numa_node: u32,
    name: [u8; NAME_BYTES],
}

#[repr(C)]
struct MapElement {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    n_instructions: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
}

#[repr(C)]
struct ProgAttach {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    target: u32,
    kind: u32,
    flags: u32,
}

/// Makes a bpf call.
///
/// # Safety
/// `T` is laid out as the kernel's `bpf_attr` begins for this command, and the addresses in it are of
/// live memory of the sizes that the command reads or writes.
unsafe fn bpf<T>(command: c_int, attributes: &mut T) -> io::Result<c_long> {
    let address: *mut T = attributes;
    // SAFETY: the structure is live and of this size; what it points to is what the caller promises.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, address, size_of::<T>()) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Owns the descriptor that a bpf call gave.
fn new_fd(number: c_long) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows its number.
    unsafe { OwnedFd::from_raw_fd(number as RawFd) }
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

fn name_bytes(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    let n = name.len().min(NAME_BYTES - 1);
    bytes[..n].copy_from_slice(&name.as_bytes()[..n]);
    bytes
}

/// A map, and what its keys and values are.
#[derive(Debug)]
pub(super) struct Map {
    fd: OwnedFd,
    shape: MapShape,
}

impl Map {
    /// Makes one.
    pub(super) fn create(shape: MapShape) -> io::Result<Self> {
        let mut attributes = MapCreate {
            kind: shape.kind as u32,
            key_bytes: shape.key_bytes,
            value_bytes: shape.value_bytes,
            max_entries: shape.max_entries,
            flags: 0,
            inner_map: 0,
            numa_node: 0,
            name: name_bytes(shape.name),
        };
        // SAFETY: the attributes are those of this command, and hold no address.
        let fd = unsafe { bpf(MAP_CREATE, &mut attributes) }.map(new_fd)?;
        Ok(Self { fd, shape })
    }

    /// As a program's text names it.
    pub(super) fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Puts a value in, over the one that is there.
    ///
    /// # Errors
    /// `EINVAL` when key or value are not of the map's sizes; the kernel's.
    pub(super) fn insert(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let shape = &self.shape;
        let sizes = (shape.key_bytes as usize, shape.value_bytes as usize);
        // A value per core would be longer than it says.
        if shape.kind == MapKind::PerCpuArray || (key.len(), value.len()) != sizes {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let mut attributes = MapElement {
            map: number(self.fd.as_fd()),
            padding: 0,
            key: key.as_ptr() as u64,
            value: value.as_ptr() as u64,
            flags: 0,
        };
        // SAFETY: key and value are live, and as long as the kernel reads.
        unsafe { bpf(MAP_UPDATE, &mut attributes) }.map(drop)
    }

    /// The sum over all cores of the four numbers that are the only value of a per-core array.
    ///
    /// # Errors
    /// `EINVAL` for any other map; the kernel's.
    pub(super) fn sum_of_cores(&self) -> io::Result<[u64; 4]> {
        let mut values = vec![[0_u64; 4]; MAX_CORES];
        let is_such = self.shape.kind == MapKind::PerCpuArray
            && (self.shape.key_bytes, self.shape.value_bytes) == (4, size_of::<[u64; 4]>() as u32);
        if !is_such {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let key = 0_u32;
        let mut attributes = MapElement {
            map: number(self.fd.as_fd()),
            padding: 0,
            key: (&raw const key) as u64,
            value: values.as_mut_ptr() as u64,
            flags: 0,
        };
        // SAFETY: the kernel reads four bytes, and writes 32 for each possible core, of which there are
        // at most MAX_CORES.
        unsafe { bpf(MAP_LOOKUP, &mut attributes) }?;
        let mut sum = [0; 4];
        for value in values {
            for (total, part) in sum.iter_mut().zip(value) {
                *total += part;
            }
        }
        Ok(sum)
    }

    /// Makes a program the verdict on messages of the sockets in this map, for as long as the map has a
    /// descriptor.
    pub(super) fn attach_verdict(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        let mut attributes = ProgAttach {
            target: number(self.fd.as_fd()),
            program: number(program),
            kind: ATTACH_SK_MSG_VERDICT,
            flags: 0,
        };
        // SAFETY: the attributes are those of this command, and hold no address.
        unsafe { bpf(PROG_ATTACH, &mut attributes) }.map(drop)
    }
}

/// Loads a program. `log` gets what the kernel's check says, where it is wanted.
pub(super) fn load(
    kind: ProgramKind,
    name: &str,
    code: &[Instruction],
    log: Option<&mut Vec<u8>>,
) -> io::Result<OwnedFd> {
    let (log_level, log_bytes, log) = log.map_or((0, 0, 0), |log| {
        log.resize(LOG_BYTES, 0);
        (1, LOG_BYTES as u32, log.as_mut_ptr() as u64)
    });
    let mut attributes = ProgLoad {
        kind: kind as u32,
        n_instructions: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level,
        log_bytes,
        log,
        kernel_version: 0,
        flags: 0,
        name: name_bytes(name),
    };
    // SAFETY: instructions, licence and log are live, of the given lengths or closed by a zero.
    unsafe { bpf(PROG_LOAD, &mut attributes) }.map(new_fd)
}

/// Makes a program hear of the sockets of a cgroup, for as long as the link has a descriptor.
pub(super) fn link_to_cgroup(
    cgroup: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
) -> io::Result<OwnedFd> {
    let mut attributes = LinkCreate {
        program: number(program),
        target: number(cgroup),
        kind: ATTACH_CGROUP_SOCK_OPS,
        flags: 0,
    };
    // SAFETY: the attributes are those of this command, and hold no address.
    unsafe { bpf(LINK_CREATE, &mut attributes) }.map(new_fd)
}
