//! The text that is written into files of every format: the chosen values, and not a byte beside them.
//!
//! `noise` puts comments, blank lines, other ends of lines and other encodings around the files of every application;
//! `compose` has Compose files read by another YAML parser, `pool` pools by PHP-FPM, `taken` has Compose's library say which variables count, `oracle` makes files with awkward words and has PHP, Python, Ruby, node and a shell read them before and after.

mod compose;
mod noise;
mod oracle;
mod pods;
mod pool;
mod quadlet;
mod shapes;
mod taken;
mod words;
