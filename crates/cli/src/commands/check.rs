//! `check`: would the switch to the socket work? Points with answers, and what would have to change.

use std::fmt::Write;

use looptax_advise::Address;
use looptax_advise::check::{Outcome, Point};
use looptax_discover::survey;
use looptax_report::terminal::{cleaned, fitted};

use crate::args::CheckArgs;
use crate::check::{Client, Question, points};
use crate::failure::{Exit, Failure};
use crate::terminal::{self, Terminal};

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    terminal.words("logging in once over either endpoint, reading only: a line in the server's log, a warmed password cache\n");
    let address = Address::parse(&args.url)
        .map_err(|error| Failure::usage(error, "for example mysql://user@127.0.0.1:3306/db"))?;
    let client = Client::find(args.pid, args.user.as_deref())?;
    let points = points(Question {
        address: &address,
        client: &client,
        servers: &survey(None).servers,
        socket: args.socket.as_deref(),
        n_connections: args.connections,
    })?;
    if args.json {
        terminal::data(&format!("{}\n", serde_json::to_string_pretty(&points)?))?;
    } else {
        let style = terminal.style();
        terminal::data(&fitted(&cleaned(&text(&points), style), style.width))?;
    }
    let would_work = points.iter().all(|it| it.outcome != Outcome::Fail);
    Ok(if would_work { Exit::Done } else { Exit::No })
}

fn text(points: &[Point]) -> String {
    let mut text = String::new();
    for point in points {
        let word = match point.outcome {
            Outcome::Pass => "pass",
            Outcome::Note => "note",
            Outcome::Unknown => "open",
            Outcome::Fail => "FAIL",
        };
        let _ = writeln!(text, "{word}  {}: {}", point.topic, point.what);
        if let Some(next) = &point.next {
            let _ = writeln!(text, "        do: {next}");
        }
        let _ = writeln!(text, "        how we know: {}", point.how);
    }
    let n = |outcome| points.iter().filter(|it| it.outcome == outcome).count();
    let _ = match (n(Outcome::Fail), n(Outcome::Unknown)) {
        (0, 0) => writeln!(text, "the switch would work"),
        (0, n) => writeln!(
            text,
            "nothing stands in the way that is known; {n} points are open"
        ),
        (n, _) => writeln!(
            text,
            "the switch would not work as things are: {n} points fail"
        ),
    };
    text
}
