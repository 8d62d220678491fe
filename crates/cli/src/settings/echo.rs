//! What was asked of the echo server: sizes within bounds, or a clear refusal.

use looptax_failure::Failure;
use looptax_path::{Echo, EchoRequest};

use crate::args::echo::{EchoArgs, Switch};

/// Least bytes of anything: the key that comes back.
const LEAST_BYTES: u64 = 8;
/// Most bytes of a message or a write.
const MOST_BYTES: u64 = 1 << 20;
/// Most bytes of a stream.
const MOST_STREAM_BYTES: u64 = 1 << 32;
/// A stream where nothing is said: a millisecond or so, of which its answer's way is a small part.
const STREAM_BYTES: u64 = 4 << 20;
/// A write where nothing is said: that of iperf3, so that figures compare.
const WRITE_BYTES: u32 = 128 << 10;

/// The echo server's options as they were typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EchoAsked {
    request_bytes: Option<u32>,
    reply_bytes: Option<u32>,
    stream_bytes: Option<u64>,
    write_bytes: Option<u32>,
    is_nodelay: Option<bool>,
}

impl EchoAsked {
    /// Checks the sizes.
    ///
    /// # Errors
    /// A usage failure for a size out of bounds.
    pub(super) fn new(args: &EchoArgs) -> Result<Self, Failure> {
        Ok(Self {
            request_bytes: message("--request-size", args.request_size)?,
            reply_bytes: message("--reply-size", args.reply_size)?,
            stream_bytes: within("--stream-bytes", args.stream_bytes, MOST_STREAM_BYTES)?,
            write_bytes: message("--write-size", args.write_size)?,
            is_nodelay: args.nodelay.map(|it| it == Switch::On),
        })
    }

    /// What the word asks for with these options; `None` when the echo server does not know the word.
    ///
    /// # Errors
    /// A usage failure for an option of another word.
    pub(crate) fn workload(&self, word: &str) -> Result<Option<Echo>, Failure> {
        let is_nodelay = self.is_nodelay.unwrap_or(true);
        let request = match word {
            "ping" => {
                self.refuse_others(&["--request-size", "--reply-size", "--nodelay"], word)?;
                let EchoRequest::Ping {
                    request_bytes,
                    reply_bytes,
                } = Echo::default().request
                else {
                    return Ok(None);
                };
                EchoRequest::Ping {
                    request_bytes: self.request_bytes.unwrap_or(request_bytes),
                    reply_bytes: self.reply_bytes.unwrap_or(reply_bytes),
                }
            }
            "stream" => {
                self.refuse_others(&["--stream-bytes", "--write-size", "--nodelay"], word)?;
                EchoRequest::Stream {
                    bytes: self.stream_bytes.unwrap_or(STREAM_BYTES),
                    write_bytes: self.write_bytes.unwrap_or(WRITE_BYTES),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Echo {
            request,
            is_nodelay,
        }))
    }

    /// Refuses options that were typed and are not for `word`.
    ///
    /// # Errors
    /// A usage failure that names the first one.
    pub(crate) fn refuse_others(&self, known: &[&str], word: &str) -> Result<(), Failure> {
        let typed = [
            ("--request-size", self.request_bytes.is_some()),
            ("--reply-size", self.reply_bytes.is_some()),
            ("--stream-bytes", self.stream_bytes.is_some()),
            ("--write-size", self.write_bytes.is_some()),
            ("--nodelay", self.is_nodelay.is_some()),
        ];
        let mut strangers = typed
            .into_iter()
            .filter(|(name, is_typed)| *is_typed && !known.contains(name));
        match strangers.next() {
            None => Ok(()),
            Some((name, _)) => Err(Failure::usage(
                format!("{name} does not apply to `{word}`"),
                "looptax compare echo --workload ping takes --request-size, --reply-size and --nodelay; \
                 --workload stream takes --stream-bytes, --write-size and --nodelay",
            )),
        }
    }
}

fn message(name: &str, typed: Option<u64>) -> Result<Option<u32>, Failure> {
    let found = within(name, typed, MOST_BYTES)?;
    Ok(found.map(|bytes| bytes as u32))
}

fn within(name: &str, typed: Option<u64>, most: u64) -> Result<Option<u64>, Failure> {
    match typed {
        Some(bytes) if !(LEAST_BYTES..=most).contains(&bytes) => Err(Failure::usage(
            format!("{name} {bytes} is out of bounds"),
            format!("{LEAST_BYTES} to {most} bytes"),
        )),
        other => Ok(other),
    }
}
