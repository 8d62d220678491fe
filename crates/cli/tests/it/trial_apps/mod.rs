//! `looptax trial` with real applications on real servers: its counts are compared with the counts of the servers.
//!
//! Each application makes a known number of connections per page, or per start; the servers' own logs and counters show
//! how many arrived, and over which transport.

mod each;
mod ended;
mod heard;
mod hostile;
mod loads;
mod plain;
mod site;
mod there;
mod tried;
mod web;
