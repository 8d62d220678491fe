//! An ordinary role makes functions, operators and views with the names of PostgreSQL's own. Neither an administrator's
//! session of looptax nor the statements that looptax prints may call any of them.

use std::fs;

use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_model::dsn::{Kind, Protocol, Secret};
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_wire::Login;

use crate::fixture::{SHORT, Server, exe};

/// The results of the functions do not matter: only whether they are called.
const FUNCTIONS: [(&str, &str); 17] = [
    ("current_setting(text)", "text"),
    ("current_setting(text, boolean)", "text"),
    ("pg_postmaster_start_time()", "timestamptz"),
    ("pg_conf_load_time()", "timestamptz"),
    ("pg_backend_pid()", "int"),
    ("current_schema()", "name"),
    ("current_database()", "name"),
    ("quote_ident(text)", "text"),
    ("host(inet)", "text"),
    ("now()", "timestamptz"),
    ("length(text)", "int"),
    ("to_char(timestamptz, text)", "text"),
    ("to_char(timestamp, text)", "text"),
    ("date_trunc(text, timestamp)", "timestamp"),
    ("to_regclass(text)", "regclass"),
    ("abs(double precision)", "double precision"),
    ("pg_advisory_xact_lock(bigint)", "void"),
];
const OPERATORS: [(&str, &str, &str, &str); 7] = [
    ("=", "int", "int", "boolean"),
    ("=", "name", "name", "boolean"),
    ("=", "text", "text", "boolean"),
    ("<>", "int", "int", "boolean"),
    ("||", "text", "text", "text"),
    ("+", "bigint", "bigint", "bigint"),
    ("~", "text", "text", "boolean"),
];
const VIEWS: [&str; 7] = [
    "pg_stat_activity",
    "pg_stat_database",
    "pg_roles",
    "pg_auth_members",
    "pg_class",
    "pg_inherits",
    "pg_hba_file_rules",
];

/// A server on which the role mallory has made all of these, with a search path in which her schema comes before the
/// server's own names.
struct Planted {
    server: Server,
}

impl Planted {
    fn start() -> Option<Self> {
        let server = Server::start(Kind::Postgres)?;
        let database = server.column("SELECT current_database()").remove(0);
        let mut admin = server.talk();
        for sql in [
            "CREATE ROLE mallory LOGIN PASSWORD 'pw'",
            "GRANT CREATE, USAGE ON SCHEMA public TO mallory",
            // The owner of a database may make this setting.
            &format!("ALTER DATABASE {database} SET search_path = public, pg_catalog"),
        ] {
            admin.execute(sql).unwrap();
        }
        let login = Login {
            user: "mallory".to_owned(),
            password: Secret::new("pw"),
            database: Some(database),
            ..Login::default()
        };
        let to = Endpoint::Tcp(server.it.tcp);
        let mut hers = Conversation::open(Protocol::Postgres, &to, &login, Limits::default()).unwrap();
        let mut plant = |sql: &str| {
            let plain = format!("SET search_path = pg_catalog; {sql}");
            hers.execute(&plain).expect(sql);
        };
        plant("CREATE TABLE public.loot (who text, what text)");
        plant("GRANT INSERT ON public.loot TO PUBLIC");
        plant(
            "CREATE FUNCTION public.took(what text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS \
             $$BEGIN INSERT INTO public.loot VALUES (session_user, what); RETURN true; END$$",
        );
        let body = |what: &str, kind: &str| {
            let end = if kind == "void" { "RETURN;" } else { "RETURN NULL;" };
            format!(
                "RETURNS {kind} LANGUAGE plpgsql SET search_path = pg_catalog AS $$BEGIN PERFORM public.took('{what}'); {end} END$$"
            )
        };
        for (name, kind) in FUNCTIONS {
            plant(&format!("CREATE FUNCTION public.{name} {}", body(name, kind)));
        }
        for (idx, (sign, left, right, kind)) in OPERATORS.into_iter().enumerate() {
            plant(&format!("CREATE FUNCTION public.op{idx}({left}, {right}) {}", body(sign, kind)));
            plant(&format!(
                "CREATE OPERATOR public.{sign} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.op{idx})"
            ));
        }
        for name in VIEWS {
            plant(&format!("CREATE VIEW public.{name} AS SELECT * FROM pg_catalog.{name} WHERE public.took('{name}')"));
            plant(&format!("GRANT SELECT ON public.{name} TO PUBLIC"));
        }
        Some(Self { server })
    }

    /// Returns the functions that were called with the rights of another user.
    fn loot(&self) -> Vec<String> {
        let mut talk = self.server.talk();
        talk.column("SELECT what FROM public.loot WHERE who <> 'mallory'").unwrap()
    }

    #[track_caller]
    fn check_nothing_taken(&self, what: &str) {
        let loot = self.loot();
        assert!(loot.is_empty(), "{what}: {loot:?}");
    }
}

#[test]
fn r44_traps_are_traps() {
    let Some(planted) = Planted::start() else {
        return;
    };
    planted.check_nothing_taken("before");
    let mut talk = planted.server.talk();
    talk.query("SELECT current_setting('port'), 1 = 1").unwrap();
    assert_eq!(planted.loot().len(), 2);
}

#[test]
fn r44_an_administrators_session_calls_nothing_that_others_made() {
    let Some(planted) = Planted::start() else {
        return;
    };
    let server = &planted.server;
    let (url, socket) = (server.url(), server.socket());
    let scratch = Scratch::new();
    let looptax = |args: &[&str]| Looptax::new(exe(), &scratch).args(args).run();
    let check = looptax(&["check", &url, "--socket", &socket, "--verbose"]);
    assert!(check.stdout.contains("lead to the same server"), "{}", check.stdout);
    planted.check_nothing_taken("check");
    let compared = Looptax::new(exe(), &scratch)
        .args(["compare", &url, "--yes", "--socket", &socket])
        .args(["--workload", "ping"])
        .args(SHORT)
        .run();
    compared.expect_code(0);
    planted.check_nothing_taken("compare");
    let file = scratch.file(".env");
    fs::write(&file, format!("DATABASE_URL={url}\n")).unwrap();
    let file = file.to_str().unwrap();
    looptax(&["switch", file, "--dry-run", "--socket", &socket]);
    planted.check_nothing_taken("switch");
    let fix = ["--fix-hba", "--admin", &url, "--yes"];
    let run =
        Looptax::new(exe(), &scratch).args(["switch", file, "--socket", &socket, "--within", "1s"]).args(fix).run();
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    planted.check_nothing_taken("switch --fix-hba");
}

#[test]
fn r44_a_collector_is_made_and_asked_without_what_others_made() {
    let Some(planted) = Planted::start() else {
        return;
    };
    let url = planted.server.url();
    let scratch = Scratch::new();
    let looptax = |args: &[&str]| Looptax::new(exe(), &scratch).args(args).run();
    looptax(&["fleet", "init", &url, "--keep", "30"]).expect_code(0);
    planted.check_nothing_taken("fleet init");
    looptax(&["fleet", "send", &url]).expect_code(0);
    planted.check_nothing_taken("fleet send");
    looptax(&["fleet", "report", &url]).expect_code(0);
    looptax(&["fleet", "hosts", &url]).expect_code(0);
    planted.check_nothing_taken("fleet report");
}

#[test]
fn r44_the_printed_statements_take_nothing_that_others_made() {
    let Some(planted) = Planted::start() else {
        return;
    };
    let url = planted.server.url();
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["fleet", "init", &url, "--print"]).run();
    let printed = run.stdout.clone();
    assert!(printed.contains("-- REVOKE CREATE ON SCHEMA public FROM PUBLIC;"), "{printed}");
    planted.server.talk().execute(&printed).unwrap();
    planted.check_nothing_taken("the printed statements");
    // The objects that the statements have made do not call such functions either.
    Looptax::new(exe(), &scratch).args(["fleet", "send", &url]).run().expect_code(0);
    planted.check_nothing_taken("fleet send");
}
