//! Reports to collectors: to each installed engine, and to collectors that are slow, unreachable, broken or hostile.

mod asked;
mod between;
mod clickhouse;
mod cost;
mod hostile;
mod machine;
mod made;
mod once;
mod rights;
mod rules;
mod tls;

use looptax_fleet::{Access, Collector, Destination, Question, Rows};
use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::{Server, exe};
use clickhouse::ClickHouse;
pub(crate) use machine::has_number;

pub(super) struct Engine {
    url: String,
    // The server ends when this value is dropped.
    _server: Box<dyn std::any::Any>,
}

impl Engine {
    /// Returns the engines that are installed; prints a message for each missing one.
    fn all() -> Vec<Self> {
        let clickhouse = ClickHouse::start(None).map(|it| Self { url: it.url(), _server: Box::new(it) });
        let postgres = Server::start(Kind::Postgres).map(|it| Self { url: it.url(), _server: Box::new(it) });
        let all: Vec<Self> = clickhouse.into_iter().chain(postgres).collect();
        for engine in &all {
            let scratch = Scratch::new();
            looptax(&scratch, &["fleet", "init", &engine.url]).expect_code(0);
        }
        all
    }

    /// Returns all rows of a view, with these columns.
    #[track_caller]
    fn ask(&self, view: &str, columns: &[&str]) -> Rows {
        ask(&self.url, view, columns)
    }

    /// Returns the number of rows of a view.
    #[track_caller]
    fn count(&self, view: &str) -> usize {
        self.ask(view, &[]).rows.len()
    }

    /// Returns the URL with another host and port.
    fn url_at(&self, address: std::net::SocketAddr) -> String {
        let (head, rest) = self.url.rsplit_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{head}@{address}/{database}")
    }

    fn is_clickhouse(&self) -> bool {
        self.url.starts_with("clickhouse")
    }
}

#[track_caller]
fn ask(url: &str, view: &str, columns: &[&str]) -> Rows {
    let destination = Destination::parse(url).unwrap();
    let mut collector = Collector::open(&destination, &Access::default()).unwrap();
    let question = Question { view, columns, ..Question::default() };
    collector.ask(&question).unwrap()
}

/// Runs looptax in `scratch`, without the user's own records.
fn looptax(scratch: &Scratch, args: &[&str]) -> Finished {
    command(scratch, args).run()
}

fn command<'a>(scratch: &'a Scratch, args: &[&str]) -> Looptax<'a> {
    Looptax::new(exe(), scratch).args(args.iter().copied()).env("XDG_DATA_HOME", scratch.file("data"))
}
