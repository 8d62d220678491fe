//! MySQL against scripted servers, over streams in memory: what a server sends is laid down before,
//! what the client wrote is read after. No sockets, no threads, no time, save where noted.

mod broken;
mod login;
mod prepared;
mod recorded;
mod scripted;
mod text;
