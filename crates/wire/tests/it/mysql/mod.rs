//! Tests of MySQL against scripted servers, over streams in memory: the server's bytes are prepared before a test, and
//! the client's bytes are read after it. The tests use no sockets, threads or clocks; exceptions are noted.

mod broken;
mod login;
mod prepared;
mod recorded;
mod scripted;
mod text;
