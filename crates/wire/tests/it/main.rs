//! Tests of the protocols from outside, against recorded and scripted peers. No real server is used.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

mod echo;
mod http;
mod logins;
mod memcached;
mod mongodb;
mod mysql;
mod postgres;
mod redis;
mod renewal;
mod site;
