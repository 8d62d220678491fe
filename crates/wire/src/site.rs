//! The pages of looptax's own site: who serves them and who asks for them mean the same by them.
//!
//! Data only. Private HTTP servers have them below `/`, private PHP-FPMs as scripts in a folder.

pub const WHO: &str = "who";
/// Prints [`HELLO_BYTES`] bytes.
pub const HELLO: &str = "hello";
/// Prints as many bytes as its query says.
pub const SIZED: &str = "page";
/// Takes a body, and prints how many bytes it had.
pub const UPLOAD: &str = "upload";

/// Returns how many requests there were for the three above; only on looptax's own HTTP server.
pub const COUNT: &str = "count";

/// The parameter of [`SIZED`]: `bytes=1000`.
pub const BYTES: &str = "bytes";

/// The page of a pool of PHP-FPM about itself, which no script answers.
pub const STATUS: &str = "/status";

/// The path of a page as a script of PHP.
pub fn script(folder: &str, page: &str) -> String {
    format!("{folder}/{page}.php")
}

/// Bytes that [`HELLO`] prints.
pub const HELLO_BYTES: u64 = 200;
/// Most bytes of a page and of an upload.
pub const MOST_BYTES: u64 = 64 << 20;
