//! Tests files of any encoding: planning, writing and undoing never change a byte outside the value.

use std::fs;

use looptax_host::discover::survey;
use looptax_model::dsn::Kind;
use looptax_model::record::SwitchFate;
use looptax_switch::diagnose::check::{Around, Client};
use looptax_switch::{End, FileToSwitch, Kept, Wish, Work, open};

use crate::beside::{Beside, NAMED};

/// Text that may be before, between and after the settings: byte order marks, line ends, comments in other encodings.
const BEFORE: [&[u8]; 3] = [b"", b"\xef\xbb\xbf", b"\r\n# \xff\xfe\x80\r\n"];
const BETWEEN: [&[u8]; 4] =
    [b"\n", b"\r\n", b"\n# caf\xe9 'DB_HOST=10.0.0.1'\n", "\r\n\t\r\n# ü 日本 \"\r\n".as_bytes()];
const BEHIND: [&[u8]; 4] = [b"", b"\n", b"\r\nX=\xa4\xa4", b"\nX=\x00\x01\n"];

pub(crate) fn kept(kind: Kind) {
    let beside = Beside::start(kind);
    beside.run(&["CREATE DATABASE shop", "CREATE USER app IDENTIFIED BY 'pw'", "GRANT ALL ON shop.* TO app"]);
    let app = beside.root.path().join("app");
    fs::create_dir(&app).unwrap();
    let path = app.join(".env");
    let port = beside.server.tcp.port();
    let settings = [
        "DB_CONNECTION=mysql".to_owned(),
        "DB_HOST=127.0.0.1".to_owned(),
        format!("DB_PORT={port}"),
        "DB_SOCKET=".to_owned(),
        "DB_USERNAME=app".to_owned(),
        "DB_PASSWORD=\"pw\"".to_owned(),
        "DB_DATABASE=shop".to_owned(),
    ];
    let survey = survey(None);
    let client = Client::find(None, None).unwrap();
    let around = Around {
        client: &client,
        near: client.near(&survey),
        socket: Some(&beside.server.socket),
        n_connections: Some(1),
    };
    let wish = Wish { application: Some("Laravel"), ..Wish::of(&path) };
    let socket = beside.server.socket.display().to_string();
    for (round, before) in (0..24).map(|round| (round, BEFORE[round % 3])) {
        let between = |idx: usize| BETWEEN[(round / 3 + idx * (1 + round % 2)) % 4];
        let mut old = before.to_vec();
        for (idx, setting) in settings.iter().enumerate() {
            old.extend(setting.as_bytes());
            if idx + 1 < settings.len() {
                old.extend(between(idx));
            }
        }
        old.extend(BEHIND[round / 6]);
        fs::write(&path, &old).unwrap();
        let found = FileToSwitch::read(wish).unwrap().plan(around).unwrap();
        assert_eq!(found.connections[0].fate, SwitchFate::Moves, "{found:?}");
        let at = old.windows(10).position(|it| it == b"DB_SOCKET=").unwrap() + 10;
        let new = [&old[..at], socket.as_bytes(), &old[at..]].concat();
        assert_eq!(found.edited[0].new, new, "round {round}");
        let kept = Kept::in_data_folder(&beside.root.path().join("data"));
        let mut work = Work::plan(&kept, NAMED, &found.edited).unwrap();
        work.write(&found.edited).unwrap();
        work.end(End::Moved).unwrap();
        let id = work.id().to_owned();
        drop(work);
        assert_eq!(fs::read(&path).unwrap(), new, "round {round}");
        let mut work = open(&kept, &id).unwrap();
        work.put_back("wanted", End::Undone).unwrap();
        assert_eq!(fs::read(&path).unwrap(), old, "round {round}");
    }
}
