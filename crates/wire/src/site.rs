//! The pages of looptax's own site: the names that the server and its clients share.
//!
//! Only data. Private HTTP servers have these pages below `/`, private PHP-FPM pools as scripts in a folder.

pub const WHO: &str = "who";
/// Prints [`HELLO_BYTES`] bytes.
pub const HELLO: &str = "hello";
/// Prints as many bytes as its query requests.
pub const SIZED: &str = "page";
/// Receives a body, and prints its number of bytes.
pub const UPLOAD: &str = "upload";

/// Returns how many requests for the three pages above were received; only on looptax's own HTTP server.
pub const COUNT: &str = "count";

/// The parameter of [`SIZED`]: `bytes=1000`.
pub const BYTES: &str = "bytes";

/// The status page of a PHP-FPM pool, which is not a script.
pub const STATUS: &str = "/status";

/// The path of a page as a PHP script.
pub fn script(folder: &str, page: &str) -> String {
    format!("{folder}/{page}.php")
}

/// Number of bytes that [`HELLO`] prints.
pub const HELLO_BYTES: u64 = 200;
/// Highest number of bytes in a page and in an upload.
pub const MOST_BYTES: u64 = 64 << 20;
