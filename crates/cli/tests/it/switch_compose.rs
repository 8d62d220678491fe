//! `looptax switch --compose`: an application's service and its database's share the folder of the socket.
//!
//! No container is started: what is said, written and put back is the file alone.

use std::fs;
use std::path::PathBuf;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::exe;
use crate::record::check_fits;

const BEFORE: &str = "# the shop\r\nservices:\r\n  shop:\r\n    image: wordpress:6 # pinned\r\n    environment:\r\n      WORDPRESS_DB_HOST: 'db:3306' # here\r\n      WORDPRESS_DB_USER: wp\r\n      WORDPRESS_DB_PASSWORD: geheim\r\n  db:\r\n    image: mariadb:11\r\n    volumes:\r\n      - data:/var/lib/mysql # kept\r\n\r\nvolumes:\r\n  data:\r\n";
const AFTER: &str = "# the shop\r\nservices:\r\n  shop:\r\n    image: wordpress:6 # pinned\r\n    volumes:\r\n      - sockets-db:/var/run/mysqld\r\n    environment:\r\n      WORDPRESS_DB_HOST: 'localhost:/var/run/mysqld/mysqld.sock' # here\r\n      WORDPRESS_DB_USER: wp\r\n      WORDPRESS_DB_PASSWORD: geheim\r\n  db:\r\n    image: mariadb:11\r\n    volumes:\r\n      - data:/var/lib/mysql # kept\r\n      - sockets-db:/var/run/mysqld\r\n\r\nvolumes:\r\n  data:\r\n  sockets-db:\r\n";

struct Scene {
    scratch: Scratch,
    file: PathBuf,
}

impl Scene {
    fn new(text: &str) -> Self {
        let scratch = Scratch::new();
        let file = scratch.file("docker-compose.yml");
        fs::write(&file, text).unwrap();
        Self { scratch, file }
    }

    fn run(&self, args: &[&str]) -> Finished {
        Looptax::new(exe(), &self.scratch)
            .args(["switch"])
            .args(args.iter().copied())
            .env("XDG_DATA_HOME", self.scratch.file("data"))
            .run()
    }

    fn switch(&self, args: &[&str]) -> Finished {
        self.run(&[&[self.file.to_str().unwrap()], args].concat())
    }

    fn now(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }
}

#[test]
fn the_plan_names_each_line_and_writes_none() {
    let scene = Scene::new(BEFORE);
    let run = scene.switch(&["--compose", "--dry-run"]);
    run.expect_code(0);
    for words in [
        "- WORDPRESS_DB_HOST: 'db:3306'",
        "+ WORDPRESS_DB_HOST: 'localhost:/var/run/mysqld/mysqld.sock'",
        "+ - sockets-db:/var/run/mysqld  # volumes of shop",
        "+ - sockets-db:/var/run/mysqld  # volumes of db",
        "+ sockets-db:  # volumes of the file",
        "docker compose up -d",
        "proof    none",
        "nothing was changed",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("geheim"), "{}", run.stdout);
    assert_eq!(scene.now(), BEFORE);
}

#[test]
fn the_patch_gives_the_bytes() {
    let scene = Scene::new(BEFORE);
    let run = scene.switch(&["--compose", "--patch"]);
    run.expect_code(0);
    let patch = diffy::Patch::from_str(&run.stdout).unwrap();
    assert_eq!(diffy::apply(BEFORE, &patch).unwrap(), AFTER);
    assert_eq!(scene.now(), BEFORE);
}

#[test]
fn what_is_written_is_not_proved_and_comes_back_byte_for_byte() {
    let scene = Scene::new(BEFORE);
    let run = scene.switch(&["--compose", "--yes", "--json"]);
    run.expect_code(3);
    let switched: Value = serde_json::from_str(&run.stdout).unwrap();
    check_fits("switch", &switched);
    assert_eq!(switched["outcome"], "unproved");
    assert_eq!(scene.now(), AFTER);
    let again = scene.switch(&["--compose", "--yes"]);
    again.expect_code(0);
    assert!(again.stdout.contains("nothing to do"), "{}", again.stdout);
    scene.run(&["--undo", "--yes"]).expect_code(0);
    assert_eq!(scene.now(), BEFORE);
}

#[test]
fn without_the_option_and_where_it_cannot_be_written_it_is_said_by_hand() {
    let scene = Scene::new(BEFORE);
    let run = scene.switch(&["--yes"]);
    run.expect_code(1);
    let words = run.words();
    assert!(words.contains("['db-socket:/var/run/mysqld']"), "{words}");
    assert!(!words.contains("--compose"), "{words}");
    let text = BEFORE.replace("image: mariadb:11", "image: own/mariadb");
    let other = Scene::new(&text);
    let run = other.switch(&["--compose", "--yes"]);
    run.expect_code(1);
    let words = run.words();
    for part in ["`own/mariadb` has its socket is not known", "['db-socket:/var/run/mysqld']"] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!((scene.now(), other.now()), (BEFORE.to_owned(), text));
    let no_compose = Scene::new("a: b\n");
    let said = no_compose.switch(&["--compose", "--yes"]);
    said.expect_error(2, &["no Compose file"]);
}
