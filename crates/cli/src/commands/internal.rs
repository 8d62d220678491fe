//! Commands that are not for users: the reaper, the echo server, the port proxy, the documentation, the schemas, and
//! the test whether a user can reach a socket. Only looptax itself and the project's own tools start them.

use std::io;

use looptax_experiment::servers::{echo, publish, reaper};
use looptax_model::failure::Failure;
use looptax_switch::diagnose::check::reach::{self, ReachRequest};

use crate::args::InternalCommand;
use crate::commands::documents;
use crate::failure::Exit;
use crate::terminal;

pub(crate) fn run(command: &InternalCommand) -> Result<Exit, Failure> {
    match command {
        InternalCommand::Reaper => Ok(if reaper::child_main() == 0 { Exit::Done } else { Exit::Environment }),
        InternalCommand::EchoServer { socket, abstract_name, tcp, one_thread, http } => {
            let config = echo::Config {
                socket: socket.clone(),
                abstract_name: abstract_name.clone(),
                tcp: tcp.clone(),
                is_one_thread: *one_thread,
                is_http: *http,
            };
            match echo::serve(&config)? {}
        }
        InternalCommand::PortProxy { on, to } => match publish::serve(&publish::listen(*on)?, *to)? {},
        InternalCommand::Documents { folder } => documents::write(folder).map(|()| Exit::Done),
        InternalCommand::Schema { form } => documents::print_schema(*form).map(|()| Exit::Done),
        InternalCommand::Reach(args) => {
            let answer = serde_json::to_string(&reach::child(&ReachRequest {
                socket: args.socket.clone(),
                view: args.view,
                uid: args.uid,
                gid: args.gid,
                groups: args.groups.clone(),
            }))
            .map_err(io::Error::from)?;
            terminal::data(&answer)?;
            Ok(Exit::Done)
        }
    }
}
