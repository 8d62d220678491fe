//! TCP whose two ends are spliced inside the kernel: the arm `sockmap`.
//!
//! Two small programs of ours: one, at a cgroup of our own, notes both ends of each new connection to a
//! server that was named; the other hands every message straight to the other end. Nothing is pinned, so
//! all of it ends with this process, however it ends. An experiment for requests and replies: there is
//! no back-pressure. Called by whoever opens arms; `sys` makes the calls, `programs` holds the text.

mod assembler;
mod cgroup;
mod error;
mod hierarchy;
mod programs;
mod rights;
mod sys;

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};

use assembler::Instruction;
pub use cgroup::OwnCgroup;
pub use error::SockmapError;
use programs::{COUNTER_BYTES, END_BYTES, Maps, SERVER_BYTES, STATE_BYTES, STOPPED};
use rights::explain;
use sys::{Map, MapKind, MapShape, ProgramKind};

/// Most ends at once, two for each connection. Linux has local ports for 28,232 connections to a server,
/// unless told otherwise.
const MAX_ENDS: u32 = 65_536;
/// Most servers at once; a run has a handful.
const MAX_SERVERS: u32 = 64;
/// Most ends that are remembered to have sent plain TCP; the oldest is forgotten first, and by then its
/// connection is closed or has no message on the way.
const MAX_PLAIN_ENDS: u32 = 16_384;

/// What has been counted since the start, over all servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SockmapCounts {
    /// Messages that were handed straight to the other end.
    pub n_redirected: u64,
    /// Messages of noted ends that went as plain TCP, because the other end was not there, or not yet.
    pub n_plain: u64,
    /// Ends of connections that were noted, those closed since among them: two for each connection.
    pub n_sockets: u64,
    /// Ends that the kernel refused to note.
    pub n_refused: u64,
}

/// Splices connections between processes in a cgroup of ours, until it is dropped.
///
/// From then on all is plain TCP, on open connections too; nothing on the way is lost or overtaken. When
/// the process is killed instead, connections that stay open between others stay spliced until they are
/// closed, and with the last of them the kernel forgets the programs.
#[derive(Debug)]
pub struct Sockmap {
    /// Hears of new connections for as long as it is open.
    _link: OwnedFd,
    loaded: Loaded,
}

/// Maps and programs, not yet at a cgroup.
#[derive(Debug)]
struct Loaded {
    /// Held open: the verdict on messages goes with the map's last descriptor.
    _ends: Map,
    servers: Map,
    state: Map,
    counters: Map,
    note_end: OwnedFd,
}

impl Sockmap {
    /// Attaches to the cgroup. Nothing is spliced until a server is named.
    ///
    /// # Errors
    /// [`SockmapError`]: what is missing.
    pub fn start(cgroup: &OwnCgroup) -> Result<Self, SockmapError> {
        let loaded = Loaded::new()?;
        let link = sys::link_to_cgroup(cgroup.handle(), loaded.note_end.as_fd())
            .map_err(|source| explain("attach a program to our cgroup", source))?;
        Ok(Self {
            _link: link,
            loaded,
        })
    }

    /// Why it cannot be had here; `None` when it can. Loads everything, attaches nothing, makes no
    /// cgroup.
    pub fn obstacle() -> Option<SockmapError> {
        let folder = hierarchy::own_folder().and_then(|folder| {
            match looptax_host::read::may(&folder, rustix::fs::Access::WRITE_OK) {
                Ok(()) => Ok(()),
                Err(errno) => Err(SockmapError::Folder {
                    action: "make another below",
                    folder,
                    source: errno.into(),
                }),
            }
        });
        Loaded::new().map(drop).and(folder).err()
    }

    /// From now on splices new connections to this server, of which both ends are in the cgroup.
    ///
    /// # Errors
    /// [`SockmapError::Kernel`] when there are too many.
    pub fn splice(&self, server: SocketAddrV4) -> Result<(), SockmapError> {
        let mut key = [0; SERVER_BYTES as usize];
        key[..4].copy_from_slice(&server.ip().octets());
        key[4..].copy_from_slice(&u32::from(server.port()).to_ne_bytes());
        let inserted = self.loaded.servers.insert(&key, &[1; 4]);
        inserted.map_err(|source| explain("name another server", source))
    }

    /// What has been counted until now.
    ///
    /// # Errors
    /// [`SockmapError::Kernel`].
    ///
    /// # Cost
    /// A system call, and 256 KiB for the counts of all cores.
    pub fn counts(&self) -> Result<SockmapCounts, SockmapError> {
        let sum = self.loaded.counters.sum_of_cores();
        let sum = sum.map_err(|source| explain("read the counts", source))?;
        let at = |offset: i16| sum[offset.unsigned_abs() as usize / size_of::<u64>()];
        Ok(SockmapCounts {
            n_redirected: at(programs::REDIRECTED),
            n_plain: at(programs::PLAIN),
            n_sockets: at(programs::SOCKETS),
            n_refused: at(programs::REFUSED),
        })
    }
}

impl Drop for Sockmap {
    fn drop(&mut self) {
        // Sockets keep the program for as long as they live. Should this fail, they stay spliced.
        self.loaded.state.insert(&[0; 4], &STOPPED).ok();
    }
}

impl Loaded {
    fn new() -> Result<Self, SockmapError> {
        if cfg!(target_endian = "big") {
            return Err(SockmapError::Processor);
        }
        let ends = map(MapKind::SockHash, "looptax_ends", END_BYTES, 4, MAX_ENDS)?;
        let servers = map(
            MapKind::Hash,
            "looptax_servers",
            SERVER_BYTES,
            4,
            MAX_SERVERS,
        )?;
        let plain_ends = map(
            MapKind::LruHash,
            "looptax_plain",
            END_BYTES,
            4,
            MAX_PLAIN_ENDS,
        )?;
        let state = map(MapKind::Array, "looptax_state", 4, STATE_BYTES, 1)?;
        let counters = map(MapKind::PerCpuArray, "looptax_counts", 4, COUNTER_BYTES, 1)?;
        let maps = Maps {
            ends: ends.number(),
            servers: servers.number(),
            plain_ends: plain_ends.number(),
            state: state.number(),
            counters: counters.number(),
        };
        let note_end = load(
            ProgramKind::SockOps,
            "looptax_note",
            &programs::note_end(maps),
        )?;
        let hand_over = load(
            ProgramKind::SkMsg,
            "looptax_hand",
            &programs::hand_over(maps),
        )?;
        let attached = ends.attach_verdict(hand_over.as_fd());
        attached.map_err(|source| explain("attach a program to a map of sockets", source))?;
        Ok(Self {
            _ends: ends,
            servers,
            state,
            counters,
            note_end,
        })
    }
}

fn map(
    kind: MapKind,
    name: &'static str,
    key_bytes: u32,
    value_bytes: u32,
    max_entries: u32,
) -> Result<Map, SockmapError> {
    let shape = MapShape {
        kind,
        key_bytes,
        value_bytes,
        max_entries,
        name,
    };
    Map::create(shape).map_err(|source| explain("make a map for sockets", source))
}

/// Loads a program; where the kernel's check objects, again, to hear why.
fn load(
    kind: ProgramKind,
    name: &'static str,
    code: &[Instruction],
) -> Result<OwnedFd, SockmapError> {
    let objects =
        |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL));
    sys::load(kind, name, code, None).map_err(|source| {
        if !objects(&source) {
            return explain("load a program for sockets", source);
        }
        let mut log = Vec::new();
        sys::load(kind, name, code, Some(&mut log)).ok();
        let words = last_words(&log);
        if words.is_empty() {
            return explain("load a program for sockets", source);
        }
        SockmapError::Check {
            program: name,
            words,
        }
    })
}

/// The last line of the check's log that is about the program, not about the check's own work.
fn last_words(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let mut lines = text.trim_end_matches('\0').lines();
    let is_about_program = |line: &&str| !line.is_empty() && !line.starts_with("processed ");
    lines.rfind(is_about_program).unwrap_or_default().to_owned()
}
