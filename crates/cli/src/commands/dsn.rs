//! `dsn`: prints how each driver writes the same connection over the socket.

use looptax_model::dsn::{Address, AddressError, Unspoken};
use looptax_report::terminal as report;
use looptax_switch::diagnose::check::{Client, typed};
use looptax_switch::diagnose::dsn::{Wanted, other_machine, spell, spell_unspoken};

use crate::args::DsnArgs;
use crate::failure::{Exit, Failure};
use crate::outputs::show;
use crate::terminal::Terminal;

pub(crate) fn run(args: &DsnArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let wanted = Wanted { dialects: &args.wanted, socket: args.socket.as_deref(), shows_password: args.show_password };
    let (spelled, host, port) = if let Some(read) = Unspoken::parse(&args.url) {
        let address = read.map_err(unread)?;
        let spelled = spell_unspoken(&address, wanted)?;
        (spelled, address.host, address.port)
    } else {
        let address = match Address::parse(&args.url).map_err(unread)? {
            it if it.unread.iter().any(|name| name == "service") => typed(&args.url, &Client::find(None, None)?)?.0,
            it => it,
        };
        (spell(&address, wanted)?, address.host, address.port)
    };
    let spellings = &spelled.spellings;
    let style = terminal.style();
    show(spellings, &args.json, || {
        if args.explain {
            return report::explained(spellings, host.as_deref(), port, style);
        }
        let elsewhere = other_machine(host.as_deref());
        report::spelled(spellings, &spelled.socket, elsewhere, style)
    })?;
    Ok(Exit::Done)
}

fn unread(error: AddressError) -> Failure {
    Failure::usage(
        error,
        "for example mysql://user@127.0.0.1:3306/db; in a password, write every character other than a letter or \
         digit as %XX",
    )
}
