//! Whether an application came over the socket: what the kernel and the server saw since, and what follows from it.
//!
//! `application` says whose connections count, `eye` asks the server, `page` a page of the application, `log` the
//! server's log; `watch` looks through all of them again and again, `seen` holds what came of it and judges. Nothing is
//! written here.

mod application;
mod eye;
mod log;
mod page;
mod seen;
mod watch;

pub use application::{Application, Kin};
pub use page::Page;
pub use seen::Judgement;
pub use watch::{Watch, Watched};
