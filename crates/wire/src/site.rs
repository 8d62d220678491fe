//! The pages of looptax's own site: the names that both the server and its clients use.
//!
//! This file contains only data. Private HTTP servers have these pages below `/`; private PHP-FPM pools have them as
//! scripts in a folder.

pub const WHO: &str = "who";
/// Page that prints [`HELLO_BYTES`] bytes.
pub const HELLO: &str = "hello";
/// Page that prints as many bytes as its query requests.
pub const SIZED: &str = "page";
/// Page that receives a body, and prints the body's number of bytes.
pub const UPLOAD: &str = "upload";

/// Page that returns how many requests for [`HELLO`], [`SIZED`] and [`UPLOAD`] were received; only on looptax's own
/// HTTP server.
pub const COUNT: &str = "count";

/// The parameter of [`SIZED`], as in `bytes=1000`.
pub const BYTES: &str = "bytes";

/// The status page of a PHP-FPM pool, which is not a script.
pub const STATUS: &str = "/status";

/// Returns the path of a page as a PHP script.
pub fn script(folder: &str, page: &str) -> String {
    format!("{folder}/{page}.php")
}

/// Number of bytes that [`HELLO`] prints.
pub const HELLO_BYTES: u64 = 200;
/// Highest number of bytes in a page and in an upload.
pub const MOST_BYTES: u64 = 64 << 20;
