//! The text that looptax writes into files of every format: the chosen values, and no other byte.
//!
//! `noise` adds comments, blank lines, other line ends and other encodings to the files of every application. The other
//! files compare with other programs: in `compose` another YAML parser reads Compose files, in `pool` PHP-FPM reads its
//! pools, in `taken` Compose's library decides which variables take effect, and in `oracle` PHP, Python, Ruby, node and
//! a shell read files with unusual words before and after an edit.

mod compose;
mod noise;
mod oracle;
mod pods;
mod pool;
mod quadlet;
mod shapes;
mod taken;
mod words;
