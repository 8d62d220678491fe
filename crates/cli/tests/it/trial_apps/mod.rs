//! `looptax trial` with real applications on real servers: what it counted is what their servers counted.
//!
//! Each application makes a known number of connections for a page, or for a start; the servers' own logs and counters
//! say how many came, and which way.

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
