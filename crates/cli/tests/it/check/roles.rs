//! PostgreSQL roles with random rules: what `check` says is compared with psql, and its advice, when followed
//! literally, must remove the problems that it reports.
//!
//! `LOOPTAX_PAIRS` and `LOOPTAX_SEED` are set by `cargo lab oracle accounts`.

use looptax_testkit::dice::Dice;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::{check, number, open_up, report, steps, told};
use crate::fixture::is_root;
use crate::run_rules::Ruled;

const CASES: usize = 40;
/// Most checks of one case: the first check, and one after each round of advice.
const MOST_CHECKS: usize = 4;
const NOBODY: u32 = 65_534;
const ROLES: [&str; 4] = ["app", "nobody", "a b", "all"];
const METHODS: [&str; 7] = ["trust", "reject", "md5", "scram-sha-256", "password", "peer", "peer map=m"];

#[derive(Debug)]
struct Case {
    role: &'static str,
    database: &'static str,
    password: &'static str,
    is_nobody: bool,
    /// The method with which the role's password is stored; `None` if the role has no password.
    kept: Option<&'static str>,
    rules: String,
}

impl Case {
    fn random(dice: &mut Dice, admin: &str) -> Self {
        let mut rules = vec![format!("local all \"{admin}\" trust")];
        for _ in 0..dice.below(4) {
            let user = dice.one(&["all", "app", "nobody", "+staff", "\"a b\"", "/^app"]);
            let database = dice.one(&["all", "all", "shop", "sameuser", "\"sh op\""]);
            let is_local = dice.below(2) == 0;
            // `peer` is possible only on the socket.
            let methods = if is_local { &METHODS[..] } else { &METHODS[..5] };
            let method = dice.one(methods);
            rules.push(if is_local {
                format!("local {database} {user} {method}")
            } else {
                format!("host {database} {user} 127.0.0.1/32 {method}")
            });
        }
        // With this rule, most roles can log in over TCP.
        let last = dice.one(&["trust", "md5", "scram-sha-256", "password"]);
        rules.push(format!("host all all 127.0.0.1/32 {last}"));
        if dice.below(3) > 0 {
            rules.push(format!("local all all {}", dice.one(&["md5", "scram-sha-256", "peer"])));
        }
        Self {
            role: dice.one(&ROLES),
            database: dice.one(&["shop", "shop", "sh op"]),
            password: dice.one(&["pw", "pw", "pw", "pw", "wrong"]),
            is_nobody: dice.below(2) == 0,
            kept: dice.one(&[Some("md5"), Some("scram-sha-256"), Some("scram-sha-256"), None]),
            rules: rules.join("\n") + "\n",
        }
    }

    fn make(&self, ruled: &mut Ruled) {
        let role = self.role;
        if let Some(kept) = self.kept {
            ruled.execute(&format!("SET password_encryption = '{kept}'"));
            ruled.execute(&format!("ALTER ROLE \"{role}\" PASSWORD 'pw'"));
        } else {
            ruled.execute(&format!("ALTER ROLE \"{role}\" PASSWORD NULL"));
        }
        ruled.rule(&self.rules);
    }

    fn gets_in(&self, host: &str, port: u16) -> bool {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "\\'"));
        let target = format!(
            "host={host} port={port} user={} dbname={} gssencmode=disable",
            quoted(self.role),
            quoted(self.database)
        );
        let mut command = Command::new("psql");
        command
            .args(["-wAtX", "-c", "SELECT current_user", &target])
            .env("PGPASSWORD", self.password)
            .env("PGPASSFILE", "/dev/null")
            .current_dir("/");
        if self.is_nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap().status.success()
    }

    fn address(&self, port: u16) -> String {
        let spelled = |text: &str| text.replace(' ', "%20");
        format!("postgres://{}:{}@127.0.0.1:{port}/{}", spelled(self.role), self.password, spelled(self.database))
    }
}

/// Checks that `check` says `would work` or `would not work` correctly, and that its advice removes the problems that
/// it reports. Returns whether advice was needed.
fn hold_against(ruled: &mut Ruled, it: &Case) -> bool {
    let port = ruled.server.it.tcp.port();
    let folder = Path::new(&ruled.server.socket()).parent().unwrap().to_owned();
    let folder = folder.display().to_string();
    let mut has_refused = false;
    let mut followed: Vec<String> = Vec::new();
    for _ in 0..MOST_CHECKS {
        let mut args = vec!["-c", "1"];
        if it.is_nobody {
            args.extend(["--user", "nobody"]);
        }
        let run = check(&ruled.server, &it.address(port), &args);
        let so_far = followed.clone();
        let wrong = |what: &str| -> ! {
            run.fail(&format!("{what}: {it:#?}\nfollowed {so_far:#?}\nthe points {}", told(&run)))
        };
        let is_in_today = it.gets_in("127.0.0.1", port);
        let works = it.gets_in(&folder, port);
        match run.status.code().unwrap_or(-1) {
            0 if !works => wrong("said to work, and does not"),
            1 if works => wrong("said not to work, and does"),
            0 => return has_refused,
            // If the login over TCP fails too, this is not a problem of the socket.
            1 | 3 if !is_in_today => return true,
            1 => {}
            _ => wrong("not known"),
        }
        has_refused = true;
        let lines = steps(&run, "hba-line");
        if lines.is_empty() {
            wrong("no advice");
        }
        let before = fs::read_to_string(&ruled.hba).unwrap();
        ruled.rule(&format!("{}\n{before}", lines.join("\n")));
        followed.extend(lines);
        let sql = steps(&run, "sql");
        if sql != ["SELECT pg_reload_conf();"] {
            wrong("one cause is one point");
        }
    }
    panic!("advice without an end: {it:#?}\n{followed:#?}")
}

#[test]
fn r20_check_is_right_of_random_roles_of_postgres_and_its_advice_ends() {
    let Some(mut ruled) = Ruled::start().filter(|_| is_root()) else {
        return;
    };
    let _reachable = open_up(Path::new(&ruled.server.socket()).parent().unwrap());
    // Private servers do not let other users connect.
    fs::set_permissions(ruled.server.socket(), fs::Permissions::from_mode(0o777)).unwrap();
    ruled.execute("CREATE ROLE staff");
    for role in ROLES {
        ruled.execute(&format!("CREATE ROLE \"{role}\" LOGIN"));
    }
    ruled.execute("GRANT staff TO app");
    ruled.execute("CREATE DATABASE shop");
    ruled.execute("CREATE DATABASE \"sh op\"");
    fs::write(ruled.hba.with_file_name("pg_ident.conf"), "m nobody app\n").unwrap();
    let admin = ruled.server.it.login.user.clone();
    let n_cases = number("LOOPTAX_PAIRS", CASES);
    let mut dice = Dice::new(number("LOOPTAX_SEED", 20) as u64);
    let mut n_refused = 0;
    for _ in 0..n_cases {
        let it = Case::random(&mut dice, &admin);
        it.make(&mut ruled);
        n_refused += usize::from(hold_against(&mut ruled, &it));
    }
    report(&format!("postgres: {n_cases} roles and rules, {n_refused} would not work"));
    assert!((n_cases / 8..n_cases - n_cases / 8).contains(&n_refused), "{n_refused} of {n_cases}");
}
