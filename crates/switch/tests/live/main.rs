//! Tests the removal of obstacles to a switch, and its undo, on real private servers.
//!
//! This program has its own `main`, because it is also started as the servers' reaper. A test whose server is not
//! installed counts as ignored.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "these are tests, though without #[test]")]

mod accounts;
mod beside;
mod bytes;
mod elsewhere;
mod rules;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use looptax_testkit::skips::skip_named;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["internal", "reaper"] => ExitCode::from(u8::from(looptax_experiment::servers::reaper::child_main() != 0)),
        ["internal", "reach", "--socket", socket] => beside::reach(socket),
        ["internal", "back-and-forth", data, points, client, admin] => {
            accounts::back_and_forth(data, points, client, admin)
        }
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

/// The name of a test, the kinds of server on which it runs, and the test itself.
type Live = (&'static str, &'static [Kind], fn(Kind));

const MYSQLS: &[Kind] = &[Kind::Mariadb, Kind::Mysql];
const POSTGRES: &[Kind] = &[Kind::Postgres];

fn trials() -> Vec<Trial> {
    let all: [Live; 10] = [
        ("an_account_of_tcp_alone_gets_in_over_the_socket_and_goes_again", MYSQLS, accounts::made),
        ("an_account_that_was_there_becomes_as_it_was", MYSQLS, accounts::changed),
        ("a_refusal_takes_back_what_was_done", MYSQLS, accounts::refused),
        ("an_account_that_somebody_changed_since_stays", MYSQLS, accounts::changed_since),
        ("a_fix_that_was_killed_is_taken_back_from_wherever_it_was", MYSQLS, accounts::killed),
        ("a_line_for_the_socket_is_written_read_and_taken_back", POSTGRES, rules::written),
        ("a_value_of_the_environment_is_written_where_it_is_set", MYSQLS, elsewhere::laravel),
        ("bytes_beside_the_value_stay_whatever_they_are", &[Kind::Mariadb], bytes::kept),
        ("root_needs_no_administrator", POSTGRES, rules::by_root),
        ("rules_with_an_error_stay_as_they_are", POSTGRES, rules::broken),
    ];
    let mut trials = Vec::new();
    for (name, kinds, test) in all {
        for kind in kinds {
            let name = format!("{name}::{kind}");
            let is_there = find_binary(*kind).is_some();
            if !is_there {
                skip_named(&name, &format!("{kind} is not installed"));
            }
            let run = move || {
                test(*kind);
                Ok(())
            };
            trials.push(Trial::test(name, run).with_ignored_flag(!is_there));
        }
    }
    trials
}
