//! The messages between measuring process, launcher and watchdog; no other program reads this format.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::RedirectError;
use crate::sys::errno;

/// Longest message: the name of a program may be as long as a path.
pub(super) const MAX_BYTES: usize = 8_192;

const START: u8 = 1;
const END: u8 = 2;
const LEAVE: u8 = 3;

const STARTED: u8 = 4;
const ENDED: u8 = 5;
const NOT_EXECUTED: u8 = 6;
const NOT_STARTED: u8 = 7;

/// A request to the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Start,
    End { grace_ms: u64 },
    Leave,
}

#[derive(Debug)]
pub(super) enum Answer {
    Started { program_pid: i32, supervisor_pid: i32 },
    Ended { n_killed: u32 },
    Failed(RedirectError),
}

impl Wish {
    pub(super) fn written(self) -> [u8; 9] {
        let (kind, number) = match self {
            Self::Start => (START, 0),
            Self::End { grace_ms } => (END, grace_ms),
            Self::Leave => (LEAVE, 0),
        };
        let mut bytes = [kind; 9];
        bytes[1..].copy_from_slice(&number.to_ne_bytes());
        bytes
    }

    /// Parses a message; `None` if it is not a request.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, number) = bytes.split_first()?;
        let number = u64::from_ne_bytes(number.try_into().ok()?);
        match *kind {
            START => Some(Self::Start),
            END => Some(Self::End { grace_ms: number }),
            LEAVE => Some(Self::Leave),
            _ => None,
        }
    }
}

impl Answer {
    pub(super) fn written(&self) -> Vec<u8> {
        let (kind, first, second, text) = match self {
            Self::Started { program_pid, supervisor_pid } => (STARTED, *program_pid, *supervisor_pid, OsString::new()),
            Self::Ended { n_killed } => (ENDED, n_killed.cast_signed(), 0, OsString::new()),
            Self::Failed(RedirectError::Exec { program, source }) => (NOT_EXECUTED, errno(source), 0, program.clone()),
            Self::Failed(RedirectError::Start { action, source }) => {
                (NOT_STARTED, errno(source), 0, action.as_ref().into())
            }
            // All other errors were found before anything was forked.
            Self::Failed(_) => (NOT_STARTED, libc::EINVAL, 0, "start the program".into()),
        };
        let mut bytes = vec![kind];
        bytes.extend(first.to_ne_bytes());
        bytes.extend(second.to_ne_bytes());
        bytes.extend(text.as_bytes());
        bytes.truncate(MAX_BYTES);
        bytes
    }

    /// Parses a message; `None` if it is not valid.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (second, text) = rest.split_first_chunk()?;
        let (first, second) = (i32::from_ne_bytes(*first), i32::from_ne_bytes(*second));
        let source = || io::Error::from_raw_os_error(first);
        match *kind {
            STARTED => Some(Self::Started { program_pid: first, supervisor_pid: second }),
            ENDED => Some(Self::Ended { n_killed: first.cast_unsigned() }),
            NOT_EXECUTED => {
                Some(Self::Failed(RedirectError::Exec { program: OsString::from_vec(text.to_vec()), source: source() }))
            }
            NOT_STARTED => Some(Self::Failed(RedirectError::Start {
                action: OsStr::from_bytes(text).to_string_lossy().into_owned().into(),
                source: source(),
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_and_answers_come_over_as_they_were() {
        for wish in [Wish::Start, Wish::End { grace_ms: u64::MAX }, Wish::Leave] {
            assert_eq!(Wish::read(&wish.written()), Some(wish));
        }
        assert_eq!(Wish::read(&[START]), None);
        assert_eq!(Wish::read(&[9; 9]), None);
        let source = || io::Error::from_raw_os_error(libc::EPERM);
        let answers = [
            Answer::Started { program_pid: 7, supervisor_pid: -1 },
            Answer::Ended { n_killed: 3 },
            Answer::Failed(RedirectError::Exec { program: OsString::from_vec(b"/a\xff".to_vec()), source: source() }),
            Answer::Failed(RedirectError::failed("do it")(source())),
        ];
        for answer in answers {
            let back = Answer::read(&answer.written()).unwrap();
            assert_eq!(format!("{back:?}"), format!("{answer:?}"));
        }
        assert!(Answer::read(&[]).is_none());
        assert!(Answer::read(&[0; 9]).is_none());
    }
}
