//! Tests of the public behaviour of private servers, with real servers as far as they are installed.
//!
//! The tests start this program again: as the reaper, as the echo server, and as a victim that is killed. Therefore it
//! has its own `main`. If a server is not installed, its tests count as ignored.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]
#![allow(clippy::unwrap_used, reason = "these are tests, though without #[test]")]

mod cold;
mod fill;
mod live;
mod victim;
mod wordpress;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use looptax_testkit::skips::skip_named;

/// The first part of a test's name, and the test's function.
type NamedTest = (&'static str, fn(Kind));

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["internal", "reaper"] => ExitCode::from(u8::from(looptax_experiment::servers::reaper::child_main() != 0)),
        ["internal", "echo-server", "--socket", socket, "--tcp", tcp, ref further @ ..] => {
            victim::serve_echo(socket, tcp, further)
        }
        ["internal", "victim", name, root] => victim::run(name, root),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("an_early_end_is_noticed_at_once_and_tells_the_log", test(live::early_end)),
        Trial::test("a_program_that_is_no_reaper_is_refused", test(live::no_reaper)),
        Trial::test("a_missing_server_leaves_no_folder", test(live::missing_server)),
        Trial::test("a_long_scratch_root_is_refused_before_anything_starts", test(live::long_root)),
    ];
    trials.extend(wordpress::trials());
    for kind in Kind::startable() {
        let is_absent = find_binary(kind).is_none();
        let named: [NamedTest; 5] = [
            ("starts_answers_and_leaves_nothing", live::start_and_stop),
            ("two_at_once_do_not_collide", live::two_at_once),
            ("an_end_while_running_is_seen", live::end_while_running),
            ("is_reaped_after_kill_9", live::killed),
            ("is_swept_after_kill_9_of_both", live::killed_with_its_reaper),
        ];
        let mut add = |name: &str, run: fn(Kind)| {
            let name = format!("{kind}_{name}");
            if is_absent {
                skip_named(&name, &format!("{kind} is not installed"));
            }
            let trial = Trial::test(name, test(move || run(kind)));
            trials.push(trial.with_ignored_flag(is_absent));
        };
        for (name, run) in named {
            add(name, run);
        }
        if !matches!(kind, Kind::PhpFpm | Kind::Http | Kind::Echo) {
            add("takes_its_account_and_its_rows", fill::fill);
        }
        if kind == Kind::Mysql {
            add("logs_in_with_a_cold_cache_and_a_warm_one", cold::cold_and_warm);
        }
    }
    trials
}

/// Converts a test function to the form of libtest-mimic; a panic becomes a failure.
pub(crate) fn test(run: impl FnOnce() + Send + 'static) -> impl FnOnce() -> Result<(), Failed> + Send + 'static {
    move || {
        run();
        Ok(())
    }
}
