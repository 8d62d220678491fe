//! Tests fixes of accounts on MySQL and MariaDB.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use looptax_model::dsn::{Address, Kind};
use looptax_model::record::{Point, PointCode, SwitchStanding};
use looptax_switch::fix::{AccountFix, FixError, undo};
use looptax_switch::{End, Kept, Switch, list, open};
use looptax_testkit::patience;

use crate::beside::{Beside, NAMED};

/// A password with every character that is special in a statement or a shell.
const AWKWARD: &str = r#"a'b"c\'d\\ü;-- $x `€` "#;

/// Returns everything that the server stores about accounts, except for the times of password changes.
fn dump(beside: &Beside) -> Vec<String> {
    let mut talk = beside.talk();
    let tables = ["db", "tables_priv", "columns_priv", "procs_priv"];
    let tables = tables.iter().chain(match beside.server.kind {
        Kind::Mariadb => &["roles_mapping", "user"][..],
        _ => &["role_edges", "default_roles", "global_grants"][..],
    });
    let mut lines = Vec::new();
    let mut take = |sql: &str| {
        for row in talk.query(sql).unwrap() {
            lines.push(format!("{sql}: {row:?}"));
        }
    };
    for table in tables {
        // The grantor and the time of a right are not part of the right, so these columns are left out.
        let columns = match *table {
            "tables_priv" => "host, db, user, table_name, table_priv, column_priv",
            "procs_priv" => "host, db, user, routine_name, routine_type, proc_priv",
            "columns_priv" => "host, db, user, table_name, column_name, column_priv",
            _ => "*",
        };
        take(&format!("SELECT {columns} FROM mysql.{table} ORDER BY 1, 2, 3"));
    }
    if beside.server.kind == Kind::Mysql {
        take(
            "SELECT host, user, plugin, HEX(authentication_string), ssl_type, account_locked, password_expired, user_attributes FROM mysql.user ORDER BY 1, 2",
        );
    }
    lines
}

fn with_shop(beside: &Beside) {
    beside.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (id int, name varchar(9))",
        "INSERT INTO shop.t VALUES (7, 'seven')",
    ]);
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn app_over_tcp(beside: &Beside, password: &str) -> Address {
    with_shop(beside);
    let create = format!("CREATE USER 'app'@'127.0.0.1' IDENTIFIED BY {}", literal(password));
    beside.run(&[
        &create,
        "GRANT SELECT, INSERT ON shop.* TO 'app'@'127.0.0.1'",
        "GRANT UPDATE (name) ON shop.t TO 'app'@'127.0.0.1'",
    ]);
    beside.client("app", password, Some("shop"))
}

/// Checks that the journal and all shown texts do not contain the password.
#[track_caller]
fn check_silent(beside: &Beside, password: &str) {
    let folder = beside.root.path().join("data/switches/20261123-1");
    for file in ["journal", "fix"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let escaped = serde_json_text(password);
        for said in [password, &literal(password), &escaped] {
            assert!(!text.contains(said), "{file} says it: {text}");
        }
    }
    let hash = fs::read_to_string(folder.join("journal")).unwrap();
    assert!(!hash.contains("IDENTIFIED BY PASSWORD '*"), "{hash}");
    assert!(!hash.contains("AS 0x"), "{hash}");
}

fn serde_json_text(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.trim_matches('"').to_owned()
}

pub(crate) fn made(kind: Kind) {
    let beside = Beside::start(kind);
    let client = app_over_tcp(&beside, AWKWARD);
    let before = dump(&beside);
    let points = beside.check(&client);
    let missing = points.iter().any(|it| it.code == PointCode::AccountMissing);
    assert!(missing, "{points:?}");
    beside.over_the_socket(&client).err().unwrap();

    let fix = AccountFix::prepare(&points, &client, &beside.admin()).unwrap();
    assert!(fix.by_hand().is_empty(), "{:?}", fix.by_hand());
    assert!(fix.statements()[0].starts_with("CREATE USER "), "{:?}", fix.statements());
    assert_eq!(fix.undo(), ["DROP USER 'app'@'localhost'"]);
    assert_eq!(dump(&beside), before, "preparing changes nothing");
    let work = fix.run(&beside.kept, NAMED).unwrap();
    assert_eq!(work.standing(), SwitchStanding::Prepared);
    check_silent(&beside, AWKWARD);
    drop(work);

    let mut talk = beside.over_the_socket(&client).unwrap();
    assert_eq!(talk.query("SELECT name FROM t").unwrap(), [[Some("seven".to_owned())]]);
    talk.execute("INSERT INTO t VALUES (8, 'eight')").unwrap();
    talk.execute("UPDATE t SET name = 'x'").unwrap();
    talk.execute("UPDATE t SET id = 1").unwrap_err();
    talk.execute("DELETE FROM t").unwrap_err();
    drop(talk);
    let points = beside.check(&client);
    let code = PointCode::AccountDiffers;
    assert!(points.iter().any(|it| it.code == code), "{points:?}");
    let nothing = AccountFix::prepare(&points, &client, &beside.admin());
    assert!(matches!(nothing, Err(FixError::Nothing)));

    let mut work = open(&beside.kept, "20261123-1").unwrap();
    let alone = undo(&mut work, None, "wanted", End::Undone).unwrap_err();
    assert!(matches!(alone, FixError::NoAdmin { .. }), "{alone}");
    work.put_back("wanted", End::Undone).unwrap_err();
    undo(&mut work, Some(&beside.admin()), "wanted", End::Undone).unwrap();
    assert_eq!(dump(&beside), before);
    let (known, _) = list(&beside.kept).unwrap();
    assert_eq!(known[0].standing, SwitchStanding::Undone);
    beside.over_the_socket(&client).err().unwrap();
}

/// Creates an account for the socket that another application may use: with another password, with TLS and fewer
/// rights.
fn other_account(beside: &Beside) -> Address {
    let client = app_over_tcp(beside, "pw");
    beside.run(&[
        "CREATE USER 'app'@'localhost' IDENTIFIED BY 'theirs' REQUIRE SSL WITH MAX_USER_CONNECTIONS 5 PASSWORD EXPIRE NEVER",
        "GRANT SELECT ON shop.* TO 'app'@'localhost'",
        "GRANT EXECUTE ON shop.* TO 'app'@'localhost'",
    ]);
    client
}

pub(crate) fn changed(kind: Kind) {
    let beside = Beside::start(kind);
    let client = other_account(&beside);
    let before = dump(&beside);
    let points = beside.check(&client);
    let fix = AccountFix::prepare(&points, &client, &beside.admin()).unwrap();
    assert!(fix.by_hand().is_empty(), "{:?}", fix.by_hand());
    let undo_words = fix.undo();
    assert!(undo_words.contains(&"ALTER USER 'app'@'localhost' as it was".to_owned()), "{undo_words:?}");
    fix.run(&beside.kept, NAMED).unwrap();
    let mut talk = beside.over_the_socket(&client).unwrap();
    talk.execute("INSERT INTO t VALUES (8, 'eight')").unwrap();
    drop(talk);
    assert_ne!(dump(&beside), before);
    check_silent(&beside, "theirs");

    let mut work = open(&beside.kept, "20261123-1").unwrap();
    undo(&mut work, Some(&beside.admin()), "wanted", End::Undone).unwrap();
    assert_eq!(dump(&beside), before);
}

pub(crate) fn refused(kind: Kind) {
    let beside = Beside::start(kind);
    let client = app_over_tcp(&beside, AWKWARD);
    // An administrator who may create accounts, but not grant rights.
    beside.run(&[
        "CREATE USER 'half'@'localhost' IDENTIFIED BY 'pw'",
        "GRANT CREATE USER ON *.* TO 'half'@'localhost'",
        "GRANT SELECT ON mysql.* TO 'half'@'localhost'",
    ]);
    let before = dump(&beside);
    let points = beside.check(&client);
    let admin = Address {
        user: Some("half".to_owned()),
        password: Some(looptax_model::dsn::Secret::new("pw")),
        ..beside.admin()
    };
    let fix = AccountFix::prepare(&points, &client, &admin).unwrap();
    let error = fix.run(&beside.kept, NAMED).unwrap_err();
    let FixError::Refused { statement, .. } = &error else {
        panic!("{error}");
    };
    assert!(statement.starts_with("GRANT "), "{statement}");
    assert_eq!(dump(&beside), before);
    let (known, _) = list(&beside.kept).unwrap();
    assert_eq!(known[0].standing, SwitchStanding::PutBack);

    // The error of a rejected password must not contain the password.
    let wrong = Address { password: Some(looptax_model::dsn::Secret::new("wrong")), ..beside.admin() };
    let nobody = AccountFix::prepare(&points, &client, &wrong);
    let Err(FixError::LogIn { server, .. }) = nobody else {
        panic!("nobody gets in with a wrong password");
    };
    assert!(!server.contains("wrong"), "{server}");
    let other = Beside::start(kind);
    let elsewhere = AccountFix::prepare(&points, &client, &other.admin());
    assert!(matches!(elsewhere, Err(FixError::OtherServer { .. })));
}

pub(crate) fn changed_since(kind: Kind) {
    let beside = Beside::start(kind);
    let client = app_over_tcp(&beside, "pw");
    let points = beside.check(&client);
    let fix = AccountFix::prepare(&points, &client, &beside.admin()).unwrap();
    fix.run(&beside.kept, NAMED).unwrap();
    beside.run(&["GRANT DELETE ON shop.* TO 'app'@'localhost'"]);
    let before = dump(&beside);
    let mut work = open(&beside.kept, "20261123-1").unwrap();
    let error = undo(&mut work, Some(&beside.admin()), "wanted", End::Undone).unwrap_err();
    assert!(matches!(error, FixError::AccountChanged { .. }), "{error}");
    assert_eq!(dump(&beside), before);
    assert_eq!(work.standing(), SwitchStanding::Prepared);
}

/// How often looptax is killed while it fixes an account or undoes the fix.
const KILLS: u32 = 60;
/// The time limit for a started looptax to begin its work.
const BEGIN: Duration = Duration::from_secs(30);
/// The longest time before looptax is killed, in µs: enough for some fixes.
const LONGEST_US: u32 = 40_000;

/// Fixes an account and undoes the fix, in an endless loop; a test kills this program.
pub(crate) fn back_and_forth(data: &str, points: &str, client: &str, admin: &str) -> ! {
    let points = fs::read_to_string(points).unwrap();
    let points: Vec<Point> = serde_json::from_str(&points).unwrap();
    let (client, admin) = (Address::parse(client).unwrap(), Address::parse(admin).unwrap());
    let kept = Kept::in_data_folder(Path::new(data));
    loop {
        let fix = AccountFix::prepare(&points, &client, &admin).unwrap();
        let mut work = fix.run(&kept, NAMED).unwrap();
        undo(&mut work, Some(&admin), "the way back", End::Undone).unwrap();
    }
}

pub(crate) fn killed(kind: Kind) {
    let beside = Beside::start(kind);
    let client = other_account(&beside);
    let before = dump(&beside);
    let points = beside.root.path().join("points");
    let text = serde_json::to_string(&beside.check(&client)).unwrap();
    fs::write(&points, text).unwrap();
    let admin = beside.admin();
    let dsn = |it: &Address, rest: &str| {
        let (user, password) = (it.user.as_deref().unwrap(), it.password.as_ref().unwrap());
        format!("mysql://{user}:{}@{rest}", password.reveal())
    };
    let over_tcp = dsn(&client, &format!("{}/shop", beside.server.tcp));
    let socket = beside.server.socket.display();
    let over_socket = dsn(&admin, &format!("localhost/?socket={socket}"));
    let folder = beside.root.path().join("data/switches");
    let n_folders = || fs::read_dir(&folder).map_or(0, Iterator::count);
    let mut n_at_work = 0;
    for round in 0..KILLS {
        let n_before = n_folders();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["internal", "back-and-forth"])
            .arg(beside.root.path().join("data"))
            .arg(&points)
            .args([&over_tcp, &over_socket])
            .spawn()
            .unwrap();
        patience::wait_for("its first folder", BEGIN, || (n_folders() > n_before).then_some(()));
        let wait = u64::from(round * 7919 % LONGEST_US);
        std::thread::sleep(Duration::from_micros(wait));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it ended by itself");
        let (known, unread) = list(&beside.kept).unwrap();
        assert!(unread.is_empty(), "{unread:?}");
        let done = |it: &&Switch| it.standing != SwitchStanding::Undone;
        for switch in known.iter().filter(done) {
            n_at_work += u32::from(switch.standing == SwitchStanding::Interrupted);
            let mut work = open(&beside.kept, &switch.id).unwrap();
            undo(&mut work, Some(&admin), "again", End::Undone).unwrap();
        }
        assert_eq!(dump(&beside), before, "round {round}");
    }
    // Once it has begun, the program does nothing but fix and undo, so some kills must have interrupted it.
    assert!(n_at_work > 0, "nothing was hit at work");
}
