//! Tests fixes of `pg_hba.conf`.

use std::fs;
use std::path::PathBuf;

use looptax_host::discover::survey;
use looptax_model::dsn::{Address, Kind};
use looptax_model::record::{FileHolds, PointCode, SwitchStanding};
use looptax_switch::diagnose::socket_of::Near;
use looptax_switch::fix::{FixError, HbaFix, HbaWish, undo};
use looptax_switch::{End, list, open};

use crate::beside::{Beside, NAMED};

/// The rules of Debian's packages, with different line ends and with comments, as people leave them.
const DEBIAN: &str = "# TYPE  DATABASE  USER  ADDRESS  METHOD\r\nlocal   all   looptax   scram-sha-256\r\n# ours\r\nlocal   all   all   peer # so\r\nhost    all   all   127.0.0.1/32   scram-sha-256\r\n";

struct Cluster {
    beside: Beside,
    file: PathBuf,
    client: Address,
}

fn cluster(kind: Kind, rules: &str) -> Cluster {
    let beside = Beside::start(kind);
    beside.run(&["CREATE ROLE app LOGIN PASSWORD 'p''w\\'", "CREATE DATABASE shop OWNER app"]);
    let path = beside.talk().query("SHOW hba_file").unwrap()[0][0].clone();
    let file = PathBuf::from(path.unwrap());
    let admin = beside.server.login.user.clone();
    let rules = rules.replace("looptax", &admin);
    // The file is overwritten and not replaced, so that owner and mode stay.
    fs::write(&file, &rules).unwrap();
    beside.run(&["SELECT pg_reload_conf()"]);
    let client = beside.client("app", "p'w\\", Some("shop"));
    Cluster { beside, file, client }
}

/// Waits until the server uses the rules that reject the client.
fn wait_for_peer(cluster: &Cluster) {
    looptax_testkit::patience::wait_for("the rules", std::time::Duration::from_secs(20), || {
        cluster.beside.over_the_socket(&cluster.client).err()
    });
}

fn check_mended(cluster: &Cluster, admin: Option<&Address>) {
    let Cluster { beside, file, client } = cluster;
    wait_for_peer(cluster);
    let before = fs::read(file).unwrap();
    let owner = |path| {
        use std::os::unix::fs::MetadataExt;
        let it = fs::metadata(path).unwrap();
        (it.uid(), it.gid(), it.mode())
    };
    let owned = owner(file);
    let points = beside.check(client);
    let code = PointCode::HbaPeerDiffers;
    assert!(points.iter().any(|it| it.code == code), "{points:?}");
    let survey = survey(None);
    let fix =
        HbaFix::prepare(HbaWish { points: &points, client, server: Near::us(&survey.servers).server(client), admin })
            .unwrap();
    assert_eq!(fix.line, "local  shop  app  scram-sha-256");
    assert_eq!(fix.above, Some(4));
    assert_eq!(fs::read(file).unwrap(), before);
    drop(fix.run(&beside.kept, NAMED).unwrap());
    let text = String::from_utf8(before.clone()).unwrap();
    let expected =
        text.replace("local   all   all   peer", "local  shop  app  scram-sha-256\r\nlocal   all   all   peer");
    assert_eq!(fs::read_to_string(file).unwrap(), expected);
    assert_eq!(owner(file), owned);
    let patience = std::time::Duration::from_secs(20);
    looptax_testkit::patience::wait_for("the new rules", patience, || beside.over_the_socket(client).ok());

    let (known, _) = list(&beside.kept).unwrap();
    assert_eq!(known[0].standing, SwitchStanding::Prepared);
    assert_eq!(known[0].files[0].holds, FileHolds::New);
    let mut work = open(&beside.kept, "20261123-1").unwrap();
    work.put_back("without the server", End::Undone).unwrap_err();
    work.finish().unwrap_err();
    undo(&mut work, admin, "wanted", End::Undone).unwrap();
    assert_eq!(fs::read(file).unwrap(), before);
    assert_eq!(owner(file), owned);
    wait_for_peer(cluster);
}

pub(crate) fn written(kind: Kind) {
    let cluster = cluster(kind, DEBIAN);
    let admin = cluster.beside.admin();
    check_mended(&cluster, Some(&admin));
}

pub(crate) fn by_root(kind: Kind) {
    let cluster = cluster(kind, DEBIAN);
    if rustix::process::geteuid().is_root() {
        check_mended(&cluster, None);
        return;
    }
    let points = cluster.beside.check(&cluster.client);
    let refused = HbaFix::prepare(HbaWish { points: &points, client: &cluster.client, server: None, admin: None });
    assert!(matches!(refused, Err(FixError::NoAdmin { .. })));
}

pub(crate) fn broken(kind: Kind) {
    let cluster = cluster(kind, DEBIAN);
    wait_for_peer(&cluster);
    let Cluster { beside, file, client } = &cluster;
    let points = beside.check(client);
    let admin = beside.admin();
    // If somebody puts an error into the file, the server keeps its present rules.
    let text = fs::read_to_string(file).unwrap() + "locl all all peer\n";
    fs::write(file, &text).unwrap();
    let survey = survey(None);
    for admin in [Some(&admin), None] {
        let refused = HbaFix::prepare(HbaWish {
            points: &points,
            client,
            server: Near::us(&survey.servers).server(client),
            admin,
        });
        let error = refused.unwrap_err();
        let is_root = rustix::process::geteuid().is_root();
        match &error {
            FixError::BadRules { why, .. } => assert!(why.contains("line 6"), "{why}"),
            FixError::NoAdmin { .. } if !is_root && admin.is_none() => {}
            _ => panic!("{error}"),
        }
    }
    assert_eq!(fs::read_to_string(file).unwrap(), text);

    // If the rules get an error after looptax has checked them, the old file is put back.
    fs::write(file, text.replace("locl all all peer\n", "")).unwrap();
    let mut fix = HbaFix::prepare(HbaWish { points: &points, client, server: None, admin: Some(&admin) }).unwrap();
    let before = fs::read(file).unwrap();
    fix.edited.new.extend(b"host all all nonsense/99 md5\n");
    let error = fix.run(&beside.kept, NAMED).unwrap_err();
    assert!(matches!(error, FixError::BadRules { .. }), "{error}");
    assert_eq!(fs::read(file).unwrap(), before);
    let (known, _) = list(&beside.kept).unwrap();
    assert_eq!(known[0].standing, SwitchStanding::PutBack);
}
