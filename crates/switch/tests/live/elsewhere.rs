//! Tests files whose values are set in other files.

use std::fs;

use looptax_host::discover::survey;
use looptax_model::dsn::Kind;
use looptax_model::record::SwitchFate;
use looptax_switch::diagnose::check::{Around, Client};
use looptax_switch::{End, FileToSwitch, Planned, Wish, Work, open};

use crate::beside::{Beside, NAMED};

const CONFIG: &str = "<?php
return ['connections' => ['mysql' => [
    'driver' => 'mysql',
    'host' => env('DB_HOST', '127.0.0.1'),
    'port' => env('DB_PORT', '3306'),
    'database' => env('DB_DATABASE', 'forge'),
    'username' => env('DB_USERNAME', 'forge'),
    'password' => env('DB_PASSWORD', ''),
    'unix_socket' => env('DB_SOCKET', ''),
]]];
";

pub(crate) fn laravel(kind: Kind) {
    let beside = Beside::start(kind);
    beside.run(&["CREATE DATABASE shop", "CREATE USER app IDENTIFIED BY 'p$w#'", "GRANT ALL ON shop.* TO app"]);
    let app = beside.root.path().join("app");
    fs::create_dir_all(app.join("config")).unwrap();
    let config = app.join("config/database.php");
    fs::write(&config, CONFIG).unwrap();
    fs::write(app.join("artisan"), "").unwrap();
    let port = beside.server.tcp.port();
    let variables = format!(
        "# ours\r\nDB_HOST=127.0.0.1\r\nDB_PORT={port}\r\nDB_DATABASE=shop\r\nDB_USERNAME=app\r\nDB_PASSWORD='p$w#'\r\nX=y\r\n"
    );
    let dotenv = app.join(".env");
    fs::write(&dotenv, &variables).unwrap();

    let survey = survey(None);
    let client = Client::find(None, None).unwrap();
    let around = Around {
        client: &client,
        near: client.near(&survey),
        socket: Some(&beside.server.socket),
        n_connections: Some(1),
    };
    let wish = Wish::of(&config);
    let found = FileToSwitch::read(wish).unwrap().plan(around).unwrap();
    let moves = |it: &Planned| (it.fate, it.change_idx);
    let fates: Vec<_> = found.connections.iter().map(moves).collect();
    assert_eq!(fates, [(SwitchFate::Moves, Some(0))], "{found:?}");
    let [edited] = &found.edited[..] else {
        panic!("{:?}", found.edited);
    };
    assert_eq!(edited.original.path(), fs::canonicalize(&dotenv).unwrap());
    let files = &found.files;
    let shown = format!("{:?}", files[0].lines);
    assert!(shown.contains("DB_SOCKET=") && !shown.contains("p$w#"), "{shown}");

    let mut work = Work::plan(&beside.kept, NAMED, &found.edited).unwrap();
    work.write(&found.edited).unwrap();
    let socket = beside.server.socket.display();
    let expected = variables.replace("DB_PORT", &format!("DB_SOCKET={socket}\r\nDB_PORT"));
    assert_eq!(fs::read_to_string(&dotenv).unwrap(), expected);
    assert_eq!(fs::read_to_string(&config).unwrap(), CONFIG);
    work.end(End::Moved).unwrap();
    drop(work);
    let again = FileToSwitch::read(wish).unwrap().plan(around).unwrap();
    assert_eq!(again.connections[0].fate, SwitchFate::IsThere, "{again:?}");
    let mut work = open(&beside.kept, "20261123-1").unwrap();
    work.put_back("wanted", End::Undone).unwrap();
    assert_eq!(fs::read_to_string(&dotenv).unwrap(), variables);
}
