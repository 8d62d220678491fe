//! `looptax switch --containers`: the containers of an application and of its server get a shared folder for the
//! socket.
//!
//! No container is started: these tests check only what is printed, written and put back.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{exe, is_there};
use crate::record::check_fits;

const BEFORE: &str = "# the shop\r\nservices:\r\n  shop:\r\n    image: wordpress:6 # pinned\r\n    environment:\r\n      WORDPRESS_DB_HOST: 'db:3306' # here\r\n      WORDPRESS_DB_USER: wp\r\n      WORDPRESS_DB_PASSWORD: geheim\r\n  db:\r\n    image: mariadb:11\r\n    volumes:\r\n      - data:/var/lib/mysql # kept\r\n\r\nvolumes:\r\n  data:\r\n";
const AFTER: &str = "# the shop\r\nservices:\r\n  shop:\r\n    image: wordpress:6 # pinned\r\n    volumes:\r\n      - sockets-db:/var/run/mysqld\r\n    environment:\r\n      WORDPRESS_DB_HOST: 'localhost:/var/run/mysqld/mysqld.sock' # here\r\n      WORDPRESS_DB_USER: wp\r\n      WORDPRESS_DB_PASSWORD: geheim\r\n  db:\r\n    image: mariadb:11\r\n    volumes:\r\n      - data:/var/lib/mysql # kept\r\n      - sockets-db:/var/run/mysqld\r\n\r\nvolumes:\r\n  data:\r\n  sockets-db:\r\n    driver_opts: {type: tmpfs, device: tmpfs, o: 'uid=0,gid=0,mode=1777'}\r\n";

pub(crate) struct Scene {
    pub(crate) scratch: Scratch,
    pub(crate) file: PathBuf,
}

impl Scene {
    pub(crate) fn new(text: &str) -> Self {
        let scratch = Scratch::new();
        let file = scratch.file("docker-compose.yml");
        fs::write(&file, text).unwrap();
        Self { scratch, file }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        Looptax::new(exe(), &self.scratch)
            .args(["switch"])
            .args(args.iter().copied())
            .env("XDG_DATA_HOME", self.scratch.file("data"))
            .run()
    }

    pub(crate) fn switch(&self, args: &[&str]) -> Finished {
        self.run(&[&[self.file.to_str().unwrap()], args].concat())
    }

    pub(crate) fn now(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }
}

#[test]
fn the_plan_names_each_line_and_writes_none() {
    let scene = Scene::new(BEFORE);
    let run = scene.switch(&["--containers", "--dry-run"]);
    run.expect_code(0);
    for words in [
        "- WORDPRESS_DB_HOST: 'db:3306'",
        "+ WORDPRESS_DB_HOST: 'localhost:/var/run/mysqld/mysqld.sock'",
        "+ - sockets-db:/var/run/mysqld  # volumes of shop",
        "+ - sockets-db:/var/run/mysqld  # volumes of db",
        "+ sockets-db: { driver_opts: {type: tmpfs, device: tmpfs, o: 'uid=0,gid=0,mode=1777'} }  # volumes of the file",
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

/// A patch had absolute paths, which no program applies in the folder of a project.
#[test]
fn r49_git_and_patch_apply_the_patch_in_the_project_s_folder() {
    let of_compose = [("deploy/my shop/compose.yaml", BEFORE)];
    let of_units = [("shop.container", UNIT), ("cache.container", SERVER)];
    let apply: [&[&str]; 2] = [&["git", "apply"], &["patch", "-p1", "--no-backup-if-mismatch"]];
    for (files, is_repository) in [(&of_compose[..], true), (&of_compose[..], false), (&of_units[..], false)] {
        for program in apply.iter().filter(|it| is_there(it[0])) {
            let scene = Scene::new("");
            let root = scene.scratch.file("project");
            let paths: Vec<PathBuf> = files.iter().map(|it| root.join(it.0)).collect();
            for (path, file) in paths.iter().zip(files) {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, file.1).unwrap();
            }
            if is_repository {
                fs::create_dir(root.join(".git")).unwrap();
            }
            let mut args: Vec<&str> = paths.iter().map(|it| it.to_str().unwrap()).collect();
            args.extend((files.len() == 1).then_some("--containers"));
            let patch = scene.run(&[&args[..], &["--patch"]].concat());
            patch.expect_code(0);
            let folder = if is_repository { &*root } else { paths[0].parent().unwrap() };
            assert!(patch.stderr.contains(&format!("in {}\n", folder.display())), "{}", patch.stderr);
            fs::write(scene.scratch.file("it.patch"), &patch.stdout).unwrap();
            if is_repository {
                fs::remove_dir(root.join(".git")).unwrap();
            }
            let mut command = Command::new(program[0]);
            command
                .args(&program[1..])
                .current_dir(folder)
                .stdin(fs::File::open(scene.scratch.file("it.patch")).unwrap());
            let out = command.env("GIT_CEILING_DIRECTORIES", "/").output().unwrap();
            assert!(out.status.success(), "{program:?} {out:?}: {}", patch.stdout);
            let patched: Vec<String> = paths.iter().map(|it| fs::read_to_string(it).unwrap()).collect();
            let volume = folder.join("sockets-cache.volume");
            let made = fs::read_to_string(&volume).ok();
            for (path, file) in paths.iter().zip(files) {
                fs::write(path, file.1).unwrap();
            }
            let _gone = fs::remove_file(&volume);
            scene.run(&[&args[..], &["--yes"]].concat()).expect_code(3);
            let written: Vec<String> = paths.iter().map(|it| fs::read_to_string(it).unwrap()).collect();
            assert_eq!((patched, made), (written, fs::read_to_string(&volume).ok()));
        }
    }
}

#[test]
fn what_is_written_is_not_proved_and_comes_back_byte_for_byte() {
    let scene = Scene::new(BEFORE);
    let run = scene.switch(&["--containers", "--yes", "--json"]);
    run.expect_code(3);
    let switched: Value = serde_json::from_str(&run.stdout).unwrap();
    check_fits("switch", &switched);
    assert_eq!(switched["outcome"], "unproved");
    assert_eq!(scene.now(), AFTER);
    let again = scene.switch(&["--containers", "--yes"]);
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
    assert!(words.contains("['sockets-db:/var/run/mysqld']"), "{words}");
    assert!(words.contains("docker-compose.yml --containers` writes both sides"), "{words}");
    let text = BEFORE.replace("image: mariadb:11", "image: own/mariadb");
    let other = Scene::new(&text);
    let run = other.switch(&["--containers", "--yes"]);
    run.expect_code(1);
    let words = run.words();
    for part in ["does not know where the image `own/mariadb` has its socket", "['sockets-db:/var/run/mysqld']"] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!((scene.now(), other.now()), (BEFORE.to_owned(), text));
    let no_compose = Scene::new("a: b\n");
    let said = no_compose.switch(&["--containers", "--yes"]);
    said.expect_error(2, &["describes no containers"]);
}

const POD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: apps/v1\nkind: StatefulSet\nspec:\n  template:\n    spec:\n      containers:\n      - name: shop # ours\n        image: own\n        env:\n        - name: APP_KEY\n          value: geheim\n        - name: REDIS_HOST\n          value: 127.0.0.1\n      - name: cache\n        image: valkey/valkey:8\n        args: [--maxmemory, 1gb]\n";
const POD_AFTER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: apps/v1\nkind: StatefulSet\nspec:\n  template:\n    spec:\n      volumes:\n        - name: sockets-cache\n          emptyDir: {}\n      containers:\n      - name: shop # ours\n        image: own\n        volumeMounts:\n          - name: sockets-cache\n            mountPath: /run/valkey\n        env:\n        - name: APP_KEY\n          value: geheim\n        - name: REDIS_HOST\n          value: /run/valkey/redis.sock\n        - name: REDIS_PORT\n          value: \"0\"\n      - name: cache\n        image: valkey/valkey:8\n        volumeMounts:\n          - name: sockets-cache\n            mountPath: /run/valkey\n        args: [--maxmemory, 1gb, \"--unixsocket\", \"/run/valkey/redis.sock\", \"--unixsocketperm\", \"777\"]\n";

#[test]
fn a_pod_of_a_manifest_with_several_documents_is_written_and_comes_back() {
    let scene = Scene::new(POD);
    let plain = scene.switch(&["--dry-run"]);
    assert!(plain.words().contains("--containers` writes both sides"), "{}", plain.stdout);
    let check = Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run();
    assert!(check.words().contains("--containers` writes both sides"), "{}", check.stdout);
    let run = scene.switch(&["--containers", "--dry-run"]);
    run.expect_code(0);
    let words = run.words();
    for part in [
        "`cache` is a container of the same Pod (image valkey/valkey:8)",
        "+ - { name: sockets-cache, emptyDir: {} } # volumes of the Pod",
        "+ REDIS_PORT: 0",
        "+ --unixsocket /run/valkey/redis.sock --unixsocketperm 777 # at the end of the args of cache",
        "kubectl apply -f FILE, or with Podman `podman volume create --opt type=tmpfs --opt device=tmpfs --opt o=uid=0,gid=0,mode=1777 sockets-cache` and podman kube play",
        "no line of the file mounts /data, where the server keeps its data",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(!words.contains("geheim"), "{words}");
    scene.switch(&["--containers", "--yes"]).expect_code(3);
    assert_eq!(scene.now(), POD_AFTER);
    scene.run(&["--undo", "--yes"]).expect_code(0);
    assert_eq!(scene.now(), POD);
}

const UNIT: &str =
    "[Container]\nImage=own\nPod=shop.pod\nEnvironment=APP_KEY=geheim REDIS_HOST=127.0.0.1 REDIS_PORT=6379\n";
const SERVER: &str = "[Container]\nImage=docker.io/library/redis:7\nPod=shop.pod\nExec=redis-server --save ''\n";

#[test]
fn two_units_of_podman_are_one_switch_in_any_order() {
    for turned in [false, true] {
        let scene = Scene::new("");
        let [own, server] = ["shop.container", "cache.container"].map(|it| scene.scratch.file(it));
        fs::write(&own, UNIT).unwrap();
        fs::write(&server, SERVER).unwrap();
        let mut files = [own.to_str().unwrap(), server.to_str().unwrap()];
        if turned {
            files.reverse();
        }
        let run = scene.run(&[&files[..], &["--dry-run"]].concat());
        run.expect_code(0);
        let words = run.words();
        for part in [
            "+ Volume=sockets-cache.volume:/run/redis",
            "+ Options=uid=0,gid=0,mode=1777",
            "# at the end of Exec=",
            "systemctl daemon-reload && systemctl restart cache.service shop.service",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(!words.contains("geheim"), "{words}");
        scene.run(&[&files[..], &["--yes"]].concat()).expect_code(3);
        let volume = scene.scratch.file("sockets-cache.volume");
        assert_eq!(
            fs::read_to_string(&volume).unwrap(),
            "[Volume]\nType=tmpfs\nDevice=tmpfs\nOptions=uid=0,gid=0,mode=1777\n"
        );
        let (new, new_server) = (fs::read_to_string(&own).unwrap(), fs::read_to_string(&server).unwrap());
        let line = "Volume=sockets-cache.volume:/run/redis\n";
        let expected = UNIT.replace("own\n", &format!("own\n{line}"));
        assert_eq!(new, expected.replace("127.0.0.1", "/run/redis/redis.sock").replace("6379", "0"));
        let options = " --unixsocket /run/redis/redis.sock --unixsocketperm 777\n";
        let expected = SERVER.replace(":7\n", &format!(":7\n{line}")).replace("''\n", &format!("''{options}"));
        assert_eq!(new_server, expected);
        scene.run(&["--undo", "--yes"]).expect_code(0);
        assert!(!volume.exists());
        assert_eq!(
            (fs::read_to_string(&own).unwrap(), fs::read_to_string(&server).unwrap()),
            (UNIT.to_owned(), SERVER.to_owned())
        );
    }
}

/// Returns a Pod with the variables for Redis; `own` and `containers` are parts of its text.
fn pod_of(own: &str, containers: &str) -> String {
    let variables = "env:\n    - name: REDIS_HOST\n      value: 127.0.0.1\n";
    format!("apiVersion: v1\nkind: Pod\nspec:\n{}", own.replace("ENV", variables)) + containers
}

/// looptax did not list the names that fit, rejected `--as laravel` and `--as predis`, and `check` named a command that
/// changes nothing.
#[test]
fn r49_names_that_fit_are_said_and_only_a_command_that_writes() {
    let cache = "  - name: cache\n    image: redis:7\n";
    let scene = Scene::new(&pod_of("  containers:\n  - name: shop\n    image: own\n    ENV", cache));
    let plan = scene.switch(&["--containers", "--dry-run"]);
    assert!(plan.words().contains("which application is it? Pass --as 'Laravel (phpredis)' or"), "{}", plan.stdout);
    let offered = "--containers` (names: 'Laravel (phpredis)', 'Mastodon')";
    let check =
        |scene: &Scene| Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run().words();
    assert!(check(&scene).contains(
        "looptax does not know which application reads REDIS_HOST: pass the application's name with --as to"
    ));
    assert!(check(&scene).contains(offered), "{}", check(&scene));
    assert!(check(&scene).contains("--unixsocketperm 777") && check(&scene).contains("emptyDir"), "{}", check(&scene));
    for name in ["laravel", "phpredis", "Laravel (phpredis)"] {
        let run = scene.switch(&["--containers", "--dry-run", "--as", name]);
        assert!(run.stdout.contains("+ value: /run/redis/redis.sock"), "{name}: {}", run.stdout);
    }
    let predis = scene.switch(&["--containers", "--dry-run", "--as", "predis"]);
    assert!(predis.words().contains("config/database.php"), "{}", predis.stdout);
    let other = scene.switch(&["--containers", "--dry-run", "--as", "wordpress"]);
    other.expect_error(2, &["--as 'Laravel (phpredis)'"]);
    // A Compose file next to the manifest belongs to another project.
    fs::write(scene.scratch.file("compose.yaml"), "services:\n  cache:\n    image: redis:7\n").unwrap();
    assert!(!check(&scene).contains("compose.yaml"), "{}", check(&scene));
    let init = "  initContainers:\n  - name: migrate\n    image: own\n    ENV    - name: APP_KEY\n      value: x\n  containers:\n";
    let init = Scene::new(&pod_of(init, cache));
    let words = check(&init);
    assert!(words.contains("does not change this connection, because `migrate` is an init container"), "{words}");
    let from = "  containers:\n  - name: shop\n    image: own\n    envFrom: [{configMapRef: {name: c}}]\n";
    let map =
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  REDIS_HOST: 127.0.0.1\n  APP_KEY: x\n";
    let both = Scene::new(&(pod_of(from, cache) + map));
    let run = both.switch(&["--containers", "--yes"]);
    run.expect_code(3);
    assert!(
        run.words().contains("REDIS_HOST from the ConfigMap `c`: looptax leaves them unchanged there"),
        "{}",
        run.stdout
    );
    let own = "    env:\n      - name: REDIS_HOST\n        value: \"/run/redis/redis.sock\"\n";
    assert!(both.now().contains(own) && both.now().ends_with(map), "{}", both.now());
    let without = Scene::new(&pod_of(from, cache));
    let words = ["`shop` takes variables from the ConfigMap `c`, which is in none of the files"];
    without.switch(&["--containers", "--yes"]).expect_error(2, &words);
    let alone = Scene::new(map.trim_start_matches("---\n"));
    alone.switch(&["--containers", "--yes"]).expect_error(2, &["no container that uses them", "looptax check"]);
}

/// `check` named the application of one connection for all connections, even Sidekiq for a project in Python.
#[test]
fn a_name_is_offered_only_for_the_connection_that_it_moves_and_if_nothing_contradicts_it() {
    let check =
        |scene: &Scene| Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run().words();
    let only = "--containers --as 'Laravel (phpredis)'` writes both sides, if that application reads the file";
    let cache = "  cache:\n    image: redis:7\n";
    let php = "services:\n  shop:\n    image: own\n    command: php artisan queue:work\n    environment:\n      REDIS_HOST: cache\n";
    let words = check(&Scene::new(&format!("{php}{cache}")));
    assert!(words.contains(only), "{words}");
    let several = php.replace("image: own\n    command: php artisan queue:work", "build: ./api");
    let words = check(&Scene::new(&format!("{several}{cache}")));
    assert!(
        words.contains(
            "looptax does not know which application reads REDIS_HOST: pass the application's name with --as to"
        ),
        "{words}"
    );
    assert!(words.contains("(names: 'Laravel (phpredis)', 'Mastodon')"), "{words}");
    assert!(!words.contains("if that application reads the file"), "{words}");
    let django = format!(
        "services:\n  web:\n    build: .\n    environment:\n      REDIS_URL: redis://cache:6379/0\n      DATABASE_URL: postgres://u:geheim@db:5432/d\n{cache}{POSTGRES}"
    );
    let scene = Scene::new(&django);
    fs::write(scene.scratch.file("requirements.txt"), "Django\ncelery\nredis\ndj-database-url\n").unwrap();
    let words = check(&scene);
    assert!(
        words.contains(
            "looptax does not know which application reads REDIS_URL: pass the application's name with --as to"
        ),
        "{words}"
    );
    assert!(words.contains("docker-compose.yml --containers` writes both sides; --dry-run"), "{words}");
    assert!(!words.contains("if that application reads the file"), "{words}");
}

/// The plan for Laravel treated MariaDB's container as a client of Redis, because both use the same file of variables.
#[test]
fn a_database_server_that_shares_the_variables_is_no_client() {
    let compose = "services:\n  app:\n    image: nextcloud:29\n    env_file: shop.env\n  db:\n    image: mariadb:11\n    env_file: shop.env\n  cache:\n    image: redis:7\n";
    let scene = Scene::new(compose);
    fs::write(scene.scratch.file("shop.env"), "REDIS_HOST=cache\n").unwrap();
    let check = Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run().words();
    assert!(
        check.contains(
            "looptax does not know which application reads REDIS_HOST: pass the application's name with --as to"
        ),
        "{check}"
    );
    assert!(!check.contains("if that application reads the file"), "{check}");
    let plan = scene.switch(&["--containers", "--dry-run", "--as", "laravel"]);
    assert!(plan.stdout.contains("# volumes of app"), "{}", plan.stdout);
    assert!(!plan.stdout.contains("# volumes of db"), "{}", plan.stdout);
}

const POSTGRES: &str = "  db:\n    image: postgres:17\n    environment:\n      POSTGRES_INITDB_ARGS: --auth-local=scram-sha-256\n    volumes:\n      - data:/var/lib/postgresql/data\nvolumes:\n  data:\n";

/// The plan announced the move, and did not mention that existing data has its own rules, whatever the variable says.
#[test]
fn the_plan_for_a_postgres_with_data_says_which_file_decides() {
    let shop = "services:\n  shop:\n    image: own\n    environment:\n      APP_KEY: x\n      DB_CONNECTION: pgsql\n      DB_HOST: db\n      DB_USERNAME: u\n      DB_PASSWORD: geheim\n";
    let scene = Scene::new(&format!("{shop}{POSTGRES}"));
    let plan = scene.switch(&["--containers", "--dry-run"]);
    plan.expect_code(0);
    let words = "beware the data in `data` already has a pg_hba.conf. That file, not POSTGRES_INITDB_ARGS, decides \
                 which users may log in over the socket; to see its rules, run `docker compose exec db sh -c 'grep \
                 ^local \"$PGDATA\"/pg_hba.conf'`";
    assert!(plan.words().contains(words), "{}", plan.stdout);
    let without = POSTGRES.replace("    volumes:\n      - data:/var/lib/postgresql/data\n", "");
    let plan = Scene::new(&format!("{shop}{without}")).switch(&["--containers", "--dry-run"]);
    plan.expect_code(0);
    assert!(!plan.words().contains("already has a pg_hba.conf"), "{}", plan.stdout);
}

/// With `-q` no line named the command that starts the containers, and after the move a volume of two units was
/// reported as belonging to only one.
#[test]
fn r49_what_brings_it_up_is_said_in_silence_and_by_undo_and_a_volume_of_two_units_is_shared() {
    let scene = Scene::new("");
    let [own, server] = ["shop.container", "cache.container"].map(|it| scene.scratch.file(it));
    fs::write(&own, UNIT).unwrap();
    fs::write(&server, SERVER).unwrap();
    let own = own.to_str().unwrap();
    let restart = "systemctl daemon-reload && systemctl restart cache.service shop.service";
    let run = scene.run(&[own, server.to_str().unwrap(), "--yes", "-q"]);
    run.expect_code(3);
    assert!(run.words().starts_with(&format!("now {restart}")), "{}", run.stdout);
    let check = Looptax::new(exe(), &scene.scratch).args(["check", own]).run();
    check.expect_code(0);
    assert!(check.words().contains("`sockets-cache.volume`, which `cache.container` mounts too"), "{}", check.stdout);
    let back = scene.run(&["--undo", "--yes", "-q"]);
    back.expect_code(0);
    assert!(back.words().contains(restart), "{}", back.stdout);
}

#[test]
fn a_unit_alone_has_one_side() {
    let scene = Scene::new("");
    let own = scene.scratch.file("shop.container");
    fs::write(&own, UNIT).unwrap();
    let own = own.to_str().unwrap();
    scene
        .run(&[own, "--containers", "--yes"])
        .expect_error(2, &["a switch changes both sides of a socket", "SERVER.container"]);
    let said = scene.run(&[own, "--dry-run"]);
    assert!(said.words().contains("shop.container SERVER.container` writes both sides"), "{}", said.stdout);
    let other = scene.scratch.file("elsewhere/db.container");
    fs::create_dir(other.parent().unwrap()).unwrap();
    fs::write(&other, SERVER).unwrap();
    scene.run(&[own, other.to_str().unwrap(), "--yes"]).expect_error(2, &["in different folders"]);
}

/// looptax ignored variables in an `env_file`.
#[test]
fn what_a_container_takes_from_another_file_moves_with_it() {
    let compose = "services:\n  shop:\n    image: own\n    env_file:\n      - path: shop.env\n      - path: more.env\n        required: false\n  cache:\n    image: redis:7\n";
    let variables = "# the shop\nAPP_KEY=x\nREDIS_HOST=cache\nREDIS_PASSWORD=geheim\nREDIS_PORT=6379 # usual\n";
    let scene = Scene::new(compose);
    let file = scene.scratch.file("shop.env");
    fs::write(&file, variables).unwrap();
    let check = || Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run().words();
    assert!(check().contains(&format!("{} line 3", file.display())), "{}", check());
    let plan = scene.switch(&["--containers", "--dry-run"]);
    plan.expect_code(0);
    for part in
        ["- REDIS_HOST=cache", "+ REDIS_HOST=/run/redis/redis.sock", "which no other container in the file uses"]
    {
        assert!(plan.words().contains(part), "{part}: {}", plan.stdout);
    }
    assert!(!plan.stdout.contains("geheim"), "{}", plan.stdout);
    let patch = scene.switch(&["--containers", "--patch"]);
    patch.expect_code(0);
    assert!(patch.stdout.contains("shop.env") && patch.stdout.contains("docker-compose.yml"), "{}", patch.stdout);
    scene.switch(&["--containers", "--yes"]).expect_code(3);
    let expected = variables.replace("=cache", "=/run/redis/redis.sock").replace("6379", "0");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert!(scene.now().contains("- sockets-cache:/run/redis"), "{}", scene.now());
    scene.run(&["--undo", "--yes"]).expect_code(0);
    assert_eq!((fs::read_to_string(&file).unwrap(), scene.now()), (variables.to_owned(), compose.to_owned()));
    // The second file overrides the first, and Compose starts nothing if the first is missing.
    let more = scene.scratch.file("more.env");
    fs::write(&more, "REDIS_HOST=127.0.0.1\n").unwrap();
    assert!(check().contains(&format!("{} line 1", more.display())), "{}", check());
    fs::remove_file(&file).unwrap();
    let words = ["`shop` takes variables from the `env_file` shop.env, which does not exist"];
    let without = scene.switch(&["--containers", "--dry-run"]).words();
    assert!(words.iter().all(|it| without.contains(it)), "{without}");
}

#[test]
fn an_object_of_another_manifest_counts_and_stays() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\nspec:\n  containers:\n  - name: shop\n    image: own\n    envFrom:\n    - configMapRef: {name: shop}\n    - secretRef: {name: shop, optional: true}\n  - name: cache\n    image: redis:7\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata:\n  APP_KEY: x\n  REDIS_HOST: 127.0.0.1\n";
    let scene = Scene::new(pod);
    let objects = scene.scratch.file("objects.yaml");
    fs::write(&objects, map).unwrap();
    scene.switch(&["--containers", "--yes"]).expect_code(3);
    let own = "    env:\n      - name: REDIS_HOST\n        value: \"/run/redis/redis.sock\"\n";
    assert!(scene.now().contains(own), "{}", scene.now());
    assert_eq!(fs::read_to_string(&objects).unwrap(), map);
    scene.run(&["--undo", "--yes"]).expect_code(0);
    assert_eq!(scene.now(), pod);
    // A host in a Secret is not printed.
    fs::write(
        &objects,
        map.replace("ConfigMap", "Secret").replace("\ndata:", "\nstringData:").replace("127.0.0.1", "own.example"),
    )
    .unwrap();
    fs::write(&scene.file, pod.replace("    - configMapRef: {name: shop}\n", "")).unwrap();
    let check = Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run();
    assert!(check.words().contains("objects.yaml line 6") && !check.stdout.contains("own.example"), "{}", check.stdout);
    // Objects in files that Kustomize leaves out are ignored.
    fs::write(scene.scratch.file("kustomization.yaml"), "resources: [docker-compose.yml]\n").unwrap();
    fs::write(&scene.file, pod).unwrap();
    let words = ["the ConfigMap `shop`, which is in none of the files"];
    scene.switch(&["--containers", "--dry-run"]).expect_error(2, &words);
}
