//! The ways to a server that need the kernel's own features: run as root, or where user namespaces are allowed.

mod network;
