//! Options for requests to the echo server; checks that sizes are within their limits.

use looptax_bench::path::{Echo, EchoRequest};
use looptax_model::failure::Failure;

/// Minimum size of a message or stream in bytes: the key that the server returns.
const LEAST_BYTES: u64 = 8;
/// Maximum size of a message or a write in bytes.
const MOST_BYTES: u64 = 1 << 20;
const MOST_STREAM_BYTES: u64 = 1 << 32;
/// Default size of a stream in bytes: sending it takes about a millisecond, of which the reply is only a small part.
const STREAM_BYTES: u64 = 4 << 20;
/// Default size of a write in bytes: the same as iperf3's, so that figures can be compared.
const WRITE_BYTES: u32 = 128 << 10;

/// The echo server's options as the user typed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EchoAsked {
    /// Size of a request of `ping`, in bytes.
    pub request_bytes: Option<u64>,
    /// Size of a reply of `ping`, in bytes.
    pub reply_bytes: Option<u64>,
    /// Number of bytes that one request of `stream` sends.
    pub stream_bytes: Option<u64>,
    /// Size of one write of `stream`, in bytes.
    pub write_bytes: Option<u64>,
    /// Whether both ends set `TCP_NODELAY`.
    pub is_nodelay: Option<bool>,
}

impl EchoAsked {
    /// Checks the sizes.
    ///
    /// # Errors
    /// A usage failure for a size outside its limits.
    pub fn check(&self) -> Result<(), Failure> {
        within("--request-size", self.request_bytes, MOST_BYTES)?;
        within("--reply-size", self.reply_bytes, MOST_BYTES)?;
        within("--stream-bytes", self.stream_bytes, MOST_STREAM_BYTES)?;
        within("--write-size", self.write_bytes, MOST_BYTES)
    }

    /// Returns the echo workload with this name and these options; `None` if the echo server has no workload of this
    /// name.
    ///
    /// # Errors
    /// A usage failure for an option that belongs to another workload.
    pub fn workload(&self, word: &str) -> Result<Option<Echo>, Failure> {
        let is_nodelay = self.is_nodelay.unwrap_or(true);
        let request = match word {
            "ping" => {
                self.refuse_others(&["--request-size", "--reply-size", "--nodelay"], word)?;
                let EchoRequest::Ping { request_bytes, reply_bytes } = Echo::default().request else {
                    return Ok(None);
                };
                EchoRequest::Ping {
                    request_bytes: self.request_bytes.map_or(request_bytes, |bytes| bytes as u32),
                    reply_bytes: self.reply_bytes.map_or(reply_bytes, |bytes| bytes as u32),
                }
            }
            "stream" => {
                self.refuse_others(&["--stream-bytes", "--write-size", "--nodelay"], word)?;
                EchoRequest::Stream {
                    bytes: self.stream_bytes.unwrap_or(STREAM_BYTES),
                    write_bytes: self.write_bytes.map_or(WRITE_BYTES, |bytes| bytes as u32),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Echo { request, is_nodelay }))
    }

    /// Returns an error if the user typed options that do not belong to the workload `word`.
    ///
    /// # Errors
    /// A usage failure that names the first of these options.
    pub fn refuse_others(&self, known: &[&str], word: &str) -> Result<(), Failure> {
        let typed = [
            ("--request-size", self.request_bytes.is_some()),
            ("--reply-size", self.reply_bytes.is_some()),
            ("--stream-bytes", self.stream_bytes.is_some()),
            ("--write-size", self.write_bytes.is_some()),
            ("--nodelay", self.is_nodelay.is_some()),
        ];
        let mut strangers = typed.into_iter().filter(|(name, is_typed)| *is_typed && !known.contains(name));
        match strangers.next() {
            None => Ok(()),
            Some((name, _)) => Err(Failure::usage(
                format!("{name} does not apply to `{word}`"),
                "looptax compare echo --workload ping accepts --request-size, --reply-size and --nodelay; --workload \
                 stream accepts --stream-bytes, --write-size and --nodelay",
            )),
        }
    }
}

fn within(name: &str, typed: Option<u64>, most: u64) -> Result<(), Failure> {
    match typed {
        Some(bytes) if !(LEAST_BYTES..=most).contains(&bytes) => Err(Failure::usage(
            format!("{name} {bytes} is out of bounds"),
            format!("use {LEAST_BYTES} to {most} bytes"),
        )),
        _ => Ok(()),
    }
}
