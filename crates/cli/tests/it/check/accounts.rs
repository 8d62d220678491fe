//! Random accounts: what `check` says about each pair of accounts is compared with what real connections can do, and
//! its advice, when followed literally, must remove the problems that it reports.
//!
//! The client program of the server decides what works. `LOOPTAX_PAIRS` and `LOOPTAX_SEED` are set by `cargo lab oracle
//! accounts`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use looptax_bench::path::Conversation;
use looptax_model::dsn::Kind;
use looptax_testkit::dice::Dice;

use super::grants::{SCHEMAS, grant, make_schemas, probes};
use super::{check, number, open_up, report, steps, told};
use crate::fixture::{Server, is_root, is_there};

const PAIRS: usize = 24;
/// Databases with names that are patterns in some grants, for servers that read such a pattern as a plain name.
const PLAIN: [&str; 3] = ["`%`", "`shop%`", "`sh\\_p`"];
/// Most checks of one pair: the first check, and one after each round of advice.
const MOST_CHECKS: usize = 4;
const NOBODY: u32 = 65_534;

/// The account that the server uses on the socket, in comparison with the account on TCP.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Twin {
    None,
    Same,
    OtherPassword,
    AsksSystem,
    Locked,
    LockedToo,
    Expired,
    Anonymous,
}

/// A system user and a user of the server that connect.
#[derive(Debug)]
struct Situation {
    is_nobody: bool,
    user: String,
    tcp_host: &'static str,
    database: Option<&'static str>,
    has_revokes: bool,
    setup: Vec<String>,
}

impl Situation {
    fn random(dice: &mut Dice, kind: Kind, has_system: bool, has_revokes: bool) -> Self {
        let name = dice.one(&["app", "app", "nobody"]);
        // MySQL 9.7 may accept the password that an earlier account with the same name had.
        let user = match kind {
            Kind::Mariadb => name.to_owned(),
            _ => format!("{name}{}", dice.below(usize::MAX)),
        };
        let twin = dice.one(&[
            Twin::None,
            Twin::Same,
            Twin::Same,
            Twin::Same,
            Twin::OtherPassword,
            Twin::AsksSystem,
            Twin::Locked,
            Twin::LockedToo,
            Twin::Expired,
            Twin::Anonymous,
        ]);
        let tcp_host = match twin {
            Twin::Anonymous => "%",
            _ => dice.one(&["127.0.0.1", "127.0.0.1", "127.0.0.%", "%"]),
        };
        let mut it = Self {
            is_nobody: dice.below(2) == 0,
            user: user.clone(),
            tcp_host,

            database: dice.one(&[None, Some("shop"), Some("shop"), Some("sh_p")]),
            has_revokes,
            setup: Vec::new(),
        };
        let tcp = format!("'{user}'@'{tcp_host}'");
        it.make(dice, kind, &tcp, "IDENTIFIED BY 'pw'");
        // The account on TCP has to be able to use its database.
        if let Some(database) = it.database {
            it.setup.push(format!("GRANT SELECT ON {database}.t TO {tcp}"));
        }
        let asks_system = match kind {
            Kind::Mariadb => "IDENTIFIED VIA unix_socket",
            _ => "IDENTIFIED WITH auth_socket",
        };
        let how = match twin {
            Twin::None => return it,
            Twin::Same => "IDENTIFIED BY 'pw'",
            Twin::AsksSystem if has_system => asks_system,
            Twin::OtherPassword | Twin::AsksSystem => "IDENTIFIED BY 'other'",
            Twin::Locked => "IDENTIFIED BY 'pw' ACCOUNT LOCK",
            Twin::LockedToo => "IDENTIFIED BY 'other' ACCOUNT LOCK",
            Twin::Expired => "IDENTIFIED BY 'pw' PASSWORD EXPIRE",
            Twin::Anonymous => "",
        };
        let name = if twin == Twin::Anonymous { "" } else { &user };
        let socket = format!("'{name}'@'localhost'");
        if dice.below(2) == 0 {
            it.make(dice, kind, &socket, how);
            return it;
        }
        // Both accounts get the same grants, and sometimes the account on the socket gets one more.
        let grants: Vec<String> =
            { it.setup.iter() }.filter(|line| line.contains(&tcp) && !line.starts_with("CREATE ")).cloned().collect();
        it.setup.push(format!("CREATE USER {socket} {how}"));
        it.setup.extend(grants.iter().map(|line| line.replace(&tcp, &socket)));
        if dice.below(3) == 0 {
            it.setup.push(format!("{} TO {socket}", grant(dice)));
        }
        it
    }

    /// Adds an account with some random rights.
    fn make(&mut self, dice: &mut Dice, kind: Kind, account: &str, how: &str) {
        self.setup.push(format!("CREATE USER {account} {how}"));
        for _ in 0..dice.below(4) {
            self.setup.push(format!("{} TO {account}", grant(dice)));
        }
        match dice.below(8) {
            0 => self.setup.push(format!("GRANT reader TO {account}")),
            1 => {
                let word = if kind == Kind::Mariadb { "FOR" } else { "TO" };
                self.setup.extend([
                    format!("GRANT reader TO {account}"),
                    format!("SET DEFAULT ROLE reader {word} {account}"),
                ]);
            }
            2 if self.has_revokes => self.setup.extend([
                format!("GRANT SELECT, INSERT ON *.* TO {account}"),
                format!("REVOKE INSERT ON shop.* FROM {account}"),
            ]),
            _ => {}
        }
    }

    fn args(&self) -> Vec<&'static str> {
        let mut args = vec!["-c", "1"];
        if self.is_nobody {
            args.extend(["--user", "nobody"]);
        }
        args
    }

    /// Returns which probes this user may run over a transport; `None` if the login is rejected.
    fn may(&self, admin: &mut Conversation, kind: Kind, over: &[String]) -> Option<BTreeSet<String>> {
        let plain = if self.has_revokes { &PLAIN[..] } else { &[] };
        let schemas = self.database.map_or([&SCHEMAS, plain].concat(), |database| vec![database]);
        let mut probes: Vec<String> = schemas.into_iter().flat_map(probes).collect();
        // If no database is selected, it is not known for which database a role is needed, so `SET ROLE` is tried too.
        probes.extend(self.database.is_none().then(|| "SET ROLE reader".to_owned()));
        // The file is passed as an open descriptor, because the user that reads it may not be able to open it by its
        // path.
        let mut file = tempfile::tempfile().unwrap();
        writeln!(file, "SELECT 'in';").unwrap();
        for probe in &probes {
            writeln!(file, "{probe};").unwrap();
        }
        let mut command = native(kind);
        command
            .args(["--force", "--batch", "--skip-column-names", "--password=pw", &format!("--user={}", self.user)])
            .args(over)
            .args(self.database)
            .stdin(rewound(file))
            .env("LC_ALL", "C");
        if self.is_nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        // With an expired password the login works, but no statement does.
        if !output.stdout.starts_with(b"in\n") {
            return None;
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let mut denied = BTreeSet::new();
        for line in words.lines().filter(|line| line.starts_with("ERROR ")) {
            let (_, rest) = line.split_once(" at line ").unwrap();
            let (number, why) = rest.split_once(": ").unwrap();
            let refusals = ["denied", "Invalid role", "not been granted", "is not granted"];
            if refusals.iter().any(|it| why.contains(it)) {
                denied.insert(number.parse::<usize>().unwrap() - 2);
            }
        }
        for schema in SCHEMAS.iter().chain(plain) {
            admin.execute(&format!("DROP TABLE IF EXISTS {schema}.made")).unwrap();
        }
        let allowed = probes.into_iter().enumerate().filter(|(idx, _)| !denied.contains(idx));
        Some(allowed.map(|(_, probe)| probe).collect())
    }

    /// Whether the switch works, found by real connections over both transports.
    fn works(&self, server: &Server, admin: &mut Conversation, kind: Kind) -> bool {
        let tcp = server.it.tcp;
        let over_tcp = ["--protocol=tcp".to_owned(), format!("--host={}", tcp.ip()), format!("--port={}", tcp.port())];
        let over_socket = [format!("--socket={}", server.socket())];
        let tcp = self.may(admin, kind, &over_tcp).expect("made to get in over TCP");
        self.may(admin, kind, &over_socket).is_some_and(|unix| unix.is_superset(&tcp))
    }

    fn undo(&self, admin: &mut Conversation) {
        for account in [
            format!("'{}'@'{}'", self.user, self.tcp_host),
            format!("'{}'@'localhost'", self.user),
            format!("'{}'@'%'", self.user),
            "''@'localhost'".to_owned(),
        ] {
            admin.execute(&format!("DROP USER IF EXISTS {account}")).unwrap();
        }
    }
}

fn native(kind: Kind) -> Command {
    let (program, more): (_, &[&str]) =
        if kind == Kind::Mariadb { ("mariadb", &[]) } else { ("mysql", &["--get-server-public-key"]) };
    let mut command = Command::new(program);
    command.arg("--no-defaults").args(more);
    command
}

fn rewound(mut file: File) -> Stdio {
    use std::io::Seek;
    file.rewind().unwrap();
    Stdio::from(file)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ends {
    /// The switch works without any change.
    Works,
    /// The switch works after the advice was followed.
    Mended,
    /// The switch does not work, and no statement would give exactly the missing rights; `check` reports this.
    Hidden,
}

/// Checks that `check` says `would work` or `would not work` correctly, and that its advice removes the problems that
/// it reports.
fn hold_against(server: &Server, admin: &mut Conversation, kind: Kind, it: &Situation) -> Ends {
    let address = format!("mysql://{}:pw@{}/{}", it.user, server.it.tcp, it.database.unwrap_or_default());
    let mut has_refused = false;
    let mut followed: Vec<String> = Vec::new();
    for _ in 0..MOST_CHECKS {
        let run = check(server, &address, &it.args());
        let so_far = followed.clone();
        let wrong = |what: &str| -> ! {
            run.fail(&format!("{what}: {it:#?}\nfollowed {so_far:#?}\nthe points {}", told(&run)))
        };
        let works = it.works(server, admin, kind);
        match run.status.code().unwrap_or(-1) {
            0 if !works => wrong("said to work, and does not"),
            1 if works => wrong("said not to work, and does"),
            0 if has_refused => return Ends::Mended,
            0 => return Ends::Works,
            1 => {}
            _ => wrong("not known"),
        }
        has_refused = true;
        // No statement would solve this without giving more rights than are missing.
        if told(&run).contains("rights-hidden") {
            return Ends::Hidden;
        }
        let lines = steps(&run, "sql");
        if lines.is_empty() {
            wrong("no advice");
        }
        for line in lines {
            let sql = line.trim_end_matches(';').replace('…', "pw");
            if let Err(error) = admin.execute(&sql) {
                wrong(&format!("{sql}: {error}"));
            }
            followed.push(sql);
        }
    }
    panic!("advice without an end: {it:#?}\n{followed:#?}")
}

fn compare_pairs(kind: Kind, client: &str) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    if !is_there(client) || !is_root() {
        return;
    }
    let _reachable = open_up(Path::new(&server.socket()).parent().unwrap());
    let mut admin = server.talk();
    make_schemas(&mut admin, &SCHEMAS);
    let mut setup =
        vec!["CREATE ROLE reader", "GRANT SELECT ON shop.* TO reader", "GRANT INSERT ON shop_eu.u TO reader"];
    let seed = number("LOOPTAX_SEED", 20);
    let has_revokes = kind == Kind::Mysql && seed % 2 == 1;
    if has_revokes {
        setup.push("SET GLOBAL partial_revokes = ON");
        make_schemas(&mut admin, &PLAIN);
    }
    for sql in setup {
        admin.execute(sql).unwrap();
    }
    // Some packages of MySQL do not contain this plugin.
    let plugin = "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'";
    let has_system = kind == Kind::Mariadb || admin.execute(plugin).is_ok();
    let mut dice = Dice::new(seed as u64);
    let n_pairs = number("LOOPTAX_PAIRS", PAIRS);
    let (mut n_refused, mut n_hidden) = (0_usize, 0_usize);
    for _ in 0..n_pairs {
        let it = Situation::random(&mut dice, kind, has_system, has_revokes);
        // In MySQL the anonymous user cannot have roles.
        let is_possible = |sql: &&String| kind == Kind::Mariadb || !(sql.contains("reader") && sql.contains("''@"));
        for sql in it.setup.iter().filter(is_possible) {
            admin.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let ends = hold_against(&server, &mut admin, kind, &it);
        n_refused += usize::from(ends != Ends::Works);
        n_hidden += usize::from(ends == Ends::Hidden);
        it.undo(&mut admin);
    }
    report(&format!(
        "{kind}: {n_pairs} pairs of accounts, {n_refused} would not work, {n_hidden} of them with rights that a row hides"
    ));
    // Both results have to occur.
    assert!((n_pairs / 12..n_pairs - n_pairs / 12).contains(&n_refused), "{n_refused} of {n_pairs}");
}

#[test]
fn r20_check_is_right_of_random_accounts_of_mariadb_and_its_advice_ends() {
    compare_pairs(Kind::Mariadb, "mariadb");
}

#[test]
fn r20_check_is_right_of_random_accounts_of_mysql_and_its_advice_ends() {
    compare_pairs(Kind::Mysql, "mysql");
}
