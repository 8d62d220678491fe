//! `dsn`: the same connection over the socket, in each driver's own words.

use looptax_diagnose::dsn::{other_machine, spell};
use looptax_dsn::Address;
use looptax_report::terminal as report;

use crate::args::DsnArgs;
use crate::failure::{Exit, Failure};
use crate::outputs::show;
use crate::terminal::Terminal;

/// Runs `dsn`.
pub(crate) fn run(args: &DsnArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let address = Address::parse(&args.url).map_err(|error| {
        Failure::usage(
            error,
            "for example mysql://user@127.0.0.1:3306/db; what is no letter or digit in a password is written %XX",
        )
    })?;
    let socket = args.socket.as_deref();
    let spelled = spell(&address, &args.wanted, socket, args.show_password)?;
    let spellings = &spelled.spellings;
    let style = terminal.style();
    show(spellings, &args.json, || {
        if args.explain {
            let host = address.host.as_deref();
            return report::explained(spellings, host, address.port, style);
        }
        let elsewhere = other_machine(&address);
        report::spelled(spellings, &spelled.socket, elsewhere, style)
    })?;
    Ok(Exit::Done)
}
