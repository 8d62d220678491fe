//! Compares what looptax concludes from `SHOW GRANTS` with real servers: two accounts get random grants, and every
//! statement is tried as both of them.

use looptax_advise::check::{Rights, Server as Rules};
use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_model::dsn::Kind;
use looptax_testkit::dice::Dice;
use looptax_wire::Login;

use crate::fixture::Server;

const PAIRS: usize = 60;
pub(super) const SCHEMAS: [&str; 4] = ["shop", "shop_eu", "sh_p", "other"];
const PATTERNS: [&str; 6] = ["shop", "shop%", "sh\\_p", "sh_p", "%", "other"];
/// The rights that the statements of [`probes`] need.
const RIGHTS: [&str; 9] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER", "EXECUTE"];

/// Returns a random grant, without its account.
pub(super) fn grant(dice: &mut Dice) -> String {
    let mut rights: Vec<&str> = RIGHTS.into_iter().filter(|_| dice.below(3) == 0).collect();
    if rights.is_empty() {
        rights.push("SELECT");
    }
    let all = ["ALL PRIVILEGES".to_owned(), rights.join(", ")];
    let some = all[usize::from(dice.below(4) > 0)].clone();
    let schema = dice.one(&SCHEMAS);
    match dice.below(10) {
        0 => format!("GRANT {some} ON *.*"),
        1 | 2 => {
            rights.retain(|it| !["EXECUTE", "CREATE", "DROP"].contains(it));
            rights.push("SELECT");
            rights.dedup();
            format!("GRANT {} ON {schema}.t", rights.join(", "))
        }
        3 => format!("GRANT SELECT (id), UPDATE (name) ON {schema}.t"),
        4 => format!("GRANT EXECUTE ON PROCEDURE {schema}.p"),
        _ => format!("GRANT {some} ON `{}`.*", dice.one(&PATTERNS)),
    }
}

/// Returns statements that change nothing if they are allowed, except for `CREATE TABLE`, which is undone. No grant
/// names the table `u` or the procedure `q`.
pub(super) fn probes(schema: &str) -> Vec<String> {
    let of_table = |table: &str| {
        [
            format!("SELECT id FROM {schema}.{table} LIMIT 0"),
            format!("SELECT name FROM {schema}.{table} LIMIT 0"),
            format!("INSERT INTO {schema}.{table} (id) SELECT 1 FROM (SELECT 1) AS one WHERE 1 = 0"),
            format!("UPDATE {schema}.{table} SET name = 'x' WHERE 1 = 0"),
            format!("DELETE FROM {schema}.{table} WHERE 1 = 0"),
            format!("CREATE INDEX never ON {schema}.{table} (nosuch)"),
            format!("ALTER TABLE {schema}.{table} ADD COLUMN id int"),
        ]
    };
    let others = [
        format!("CREATE TABLE {schema}.made (id int)"),
        format!("DROP TABLE {schema}.never"),
        format!("CALL {schema}.p()"),
        format!("CALL {schema}.q()"),
    ];
    let tables = ["t", "u"].into_iter().flat_map(of_table);
    tables.chain(others).collect()
}

fn talk_as(server: &Server, user: &str) -> Conversation {
    let endpoint = Endpoint::unix(&server.it.socket).unwrap();
    let login = Login {
        user: user.to_owned(),
        password: looptax_model::dsn::Secret::new("pw".to_owned()),
        database: None,
        ..Login::default()
    };
    Conversation::open(server.it.protocol, &endpoint, &login, Limits::default()).unwrap()
}

/// Returns which of the probes an account may run, and the rights that the server lists for it.
fn tried(server: &Server, rules: Rules, root: &mut Conversation, user: &str) -> (Vec<Vec<bool>>, Rights) {
    let mut talk = talk_as(server, user);
    let rows = talk.query("SHOW GRANTS").unwrap();
    let lines: Vec<String> = rows.into_iter().filter_map(|row| row[0].clone()).collect();
    let mut may = |sql: &String| {
        let refusal = talk.execute(sql).err().map(|error| error.to_string());
        if refusal.is_none() && sql.starts_with("CREATE TABLE") {
            let made = sql.split_whitespace().nth(2).unwrap();
            root.execute(&format!("DROP TABLE {made}")).unwrap();
        }
        !refusal.is_some_and(|why| why.contains("denied"))
    };
    let all = SCHEMAS.map(|schema| probes(schema).iter().map(&mut may).collect());
    (all.to_vec(), Rights::read(&lines, rules, false))
}

/// Whether the rights that are reported as missing include one that was tried.
fn is_tried(line: &str) -> bool {
    let (rights, _) = line.split_once(" ON ").unwrap_or((line, ""));
    let rights = rights.trim_start_matches("GRANT ");
    let mut rights = rights.split(", ").map(|it| it.split(' ').next().unwrap_or(it));
    rights.any(|it| RIGHTS.contains(&it) || it == "ALL")
}

#[test]
fn grants_cover_what_the_server_lets_one_do() {
    compare_pairs(Kind::Mariadb, Rules::Mariadb);
}

#[test]
fn r20_grants_of_mysql_cover_what_the_server_lets_one_do() {
    compare_pairs(Kind::Mysql, Rules::Mysql);
}

/// Creates the schemas, tables and procedures for [`probes`].
pub(super) fn make_schemas(root: &mut Conversation, schemas: &[&str]) {
    for schema in schemas {
        for sql in [
            format!("CREATE DATABASE {schema}"),
            format!("CREATE TABLE {schema}.t (id int, name text)"),
            format!("CREATE TABLE {schema}.u (id int, name text)"),
            format!("CREATE PROCEDURE {schema}.p() SELECT 1 WHERE 1 = 0"),
            format!("CREATE PROCEDURE {schema}.q() SELECT 1 WHERE 1 = 0"),
        ] {
            root.execute(&sql).unwrap();
        }
    }
}

fn compare_pairs(kind: Kind, rules: Rules) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let mut root = server.talk();
    make_schemas(&mut root, &SCHEMAS);
    let mut dice = Dice::new(20);
    let mut n_covering = 0;
    for pair in 0..PAIRS {
        let mut given = Vec::new();
        for user in ["a", "b"] {
            root.execute(&format!("CREATE USER '{user}'@'localhost' IDENTIFIED BY 'pw'")).unwrap();
            for _ in 0..=dice.below(4) {
                let grant = format!("{} TO '{user}'@'localhost'", grant(&mut dice));
                root.execute(&grant).unwrap();
                given.push(grant);
            }
        }
        let (may_a, rights_a) = tried(&server, rules, &mut root, "a");
        let (may_b, rights_b) = tried(&server, rules, &mut root, "b");
        for (idx, schema) in SCHEMAS.iter().enumerate() {
            let is_missing = may_a[idx].iter().zip(&may_b[idx]).any(|(a, b)| *a && !*b);
            let lacking = rights_a.beyond(&rights_b, Some(schema), &[]);
            let here = lacking.iter().filter(|it| it.is_in_database);
            let said: Vec<&String> = here.flat_map(|it| &it.grants).filter(|it| is_tried(it)).collect();
            assert_eq!(
                !said.is_empty(),
                is_missing,
                "pair {pair}, {schema}: said {said:?}\na {:?}\nb {:?}\n{given:#?}",
                may_a[idx],
                may_b[idx]
            );
            n_covering += usize::from(!is_missing);
        }
        for user in ["a", "b"] {
            root.execute(&format!("DROP USER '{user}'@'localhost'")).unwrap();
        }
    }
    // Both results have to occur.
    assert!((20..PAIRS * SCHEMAS.len() - 20).contains(&n_covering), "{n_covering}");
}
