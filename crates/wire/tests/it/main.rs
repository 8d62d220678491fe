//! The protocols as seen from outside, against recorded and scripted peers; no real server.

mod echo;
mod http;
mod memcached;
mod mongodb;
mod mysql;
mod postgres;
mod redis;
mod renewal;
mod site;
