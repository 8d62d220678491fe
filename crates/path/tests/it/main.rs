//! The ways to a server that need the kernel's own features: run as root, or where user namespaces are allowed.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "these are tests")]

mod network;
