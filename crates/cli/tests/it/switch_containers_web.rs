//! `looptax switch --containers` with nginx in front of PHP-FPM: one switch changes three files of the project.
//!
//! No container is started: `php-fpm -tt` and `nginx -t` of this machine report which setting is in force and whether
//! the files are valid. `scripts/try-shared-sockets.sh` runs the containers.

use std::fs;
use std::path::Path;
use std::process::Command;

use looptax_testkit::runner::Looptax;

use crate::application::php::program;
use crate::fixture::{exe, is_there};
use crate::switch_containers::Scene;

const COMPOSE: &str = "services:\n  web:\n    image: nginx:1.27-alpine # pinned\n    ports: ['8080:80']\n    volumes:\n      - ./site.conf:/etc/nginx/conf.d/default.conf:ro\n      - .:/var/www/html\n  app:\n    image: php:8.3-fpm\n    volumes:\n      - .:/var/www/html\n      - ./pool.conf:/usr/local/etc/php-fpm.d/zz-socket.conf:ro\n";
const SITE: &str = "server {\n    listen 80;\n    location ~ \\.php$ { # pages\n        include fastcgi_params;\n        fastcgi_pass app:9000;\n    }\n    location = /status { fastcgi_pass app:9000; }\n}\n";
const POOL: &str = "[www]\nuser = www-data\npm = static\npm.max_children = 2\nlisten = 9000 \nlisten.mode = 0600\n";

const SOCKET: &str = "/run/php/php-fpm.sock";

/// The other configuration files in the images: before 2026-01-09, and later.
const IMAGES: [[(&str, &str); 3]; 2] = [
    [
        ("www.conf", "[www]\nuser = www-data\nlisten = 127.0.0.1:9000\npm = static\npm.max_children = 1\n"),
        ("docker.conf", "[www]\nclear_env = no\n"),
        ("zz-docker.conf", "[global]\ndaemonize = no\n\n[www]\nlisten = 9000\n"),
    ],
    [
        ("www.conf", "[www]\nuser = www-data\n;listen = 127.0.0.1:9000\npm = static\npm.max_children = 1\n"),
        ("docker.conf", "[www]\nclear_env = no\nlisten = 9000\n"),
        ("zz-docker.conf", "[global]\ndaemonize = no\n"),
    ],
];

fn scene(compose: &str, site: &str, pool: &str) -> Scene {
    let scene = Scene::new(compose);
    fs::write(scene.scratch.file("site.conf"), site).unwrap();
    fs::write(scene.scratch.file("pool.conf"), pool).unwrap();
    scene
}

impl Scene {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.file(name)).unwrap()
    }

    fn all(&self) -> [String; 3] {
        ["docker-compose.yml", "site.conf", "pool.conf"].map(|it| self.text(it))
    }

    /// Returns the address at which PHP-FPM says that the pool listens, if the image has these files and the project's
    /// file has this name.
    fn listens(&self, fpm: &Path, image: &[(&str, &str)], name: &str) -> String {
        let folder = self.scratch.file("php-fpm.d");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in image {
            fs::write(folder.join(name), text).unwrap();
        }
        fs::copy(self.scratch.file("pool.conf"), folder.join(name)).unwrap();
        let main = self.scratch.file("php-fpm.conf");
        fs::write(&main, format!("[global]\nerror_log = /dev/stderr\ninclude = {}/*.conf\n", folder.display()))
            .unwrap();
        let out = Command::new(fpm).args(["-tt", "-y"]).arg(&main).output().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{name}: {said}");
        let line = said.lines().find_map(|it| it.split_once("listen = "));
        line.unwrap_or_else(|| panic!("{name}: {said}")).1.to_owned()
    }
}

#[test]
fn both_ends_and_the_volume_are_written_and_come_back() {
    let scene = scene(COMPOSE, SITE, POOL);
    let check = Looptax::new(exe(), &scene.scratch).args(["check", scene.file.to_str().unwrap()]).run();
    assert!(check.words().contains("docker-compose.yml --containers` writes both sides"), "{}", check.stdout);
    let plan = scene.switch(&["--containers", "--dry-run"]);
    plan.expect_code(0);
    for part in [
        "`app` is a service of the same file (image php:8.3-fpm)",
        "the settings are in ./site.conf, which no other container in the file uses",
        "- fastcgi_pass app:9000",
        "+ fastcgi_pass unix:/run/php/php-fpm.sock",
        "+ listen = /run/php/php-fpm.sock",
        "- listen.mode = 0600",
        "+ listen.mode = 0666",
        "+ - sockets-app:/run/php # volumes of web",
        "+ - sockets-app:/run/php # volumes of app",
        "docker compose up -d, which creates the containers again",
        "PHP-FPM then listens only on the socket, and the files do not show which other clients use its port",
    ] {
        assert!(plan.words().contains(part), "{part}: {}", plan.stdout);
    }
    // One of the two lines could not work without the other, so both are written.
    scene.switch(&["--containers", "--yes", "--only", "1"]).expect_code(3);
    let mount = "      - sockets-app:/run/php\n";
    let volume = "sockets-app:\n    driver_opts: {type: tmpfs, device: tmpfs, o: 'uid=0,gid=0,mode=1777'}\n";
    let expected = [
        COMPOSE.replace("html\n  app", &format!("html\n{mount}  app")) + mount + "volumes:\n  " + volume,
        SITE.replace("app:9000", &format!("unix:{SOCKET}")),
        POOL.replace("9000 ", SOCKET).replace("0600", "0666"),
    ];
    assert_eq!(scene.all(), expected);
    if let Some(fpm) = program("php-fpm") {
        for image in &IMAGES {
            assert_eq!(scene.listens(&fpm, image, "zz-socket.conf"), SOCKET);
        }
    }
    if is_there("nginx") {
        let main = scene.scratch.file("nginx.conf");
        let site = scene.scratch.file("site.conf");
        let text = format!(
            "pid {};\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off; include {}; }}\n",
            scene.scratch.file("nginx.pid").display(),
            site.display()
        );
        fs::write(&main, text).unwrap();
        fs::copy("/etc/nginx/fastcgi_params", scene.scratch.file("fastcgi_params")).unwrap();
        let out = Command::new("nginx").args(["-t", "-c"]).arg(&main).output().unwrap();
        assert!(out.status.success(), "{out:?}");
    }
    let again = scene.switch(&["--containers", "--yes"]);
    again.expect_code(0);
    scene.run(&["--undo", "--yes"]).expect_code(0);
    assert_eq!(scene.all(), [COMPOSE, SITE, POOL].map(str::to_owned));
}

/// PHP-FPM reads the files in the order of their names, and the last `listen` wins.
#[test]
fn a_pools_file_is_written_where_the_program_takes_it_from_any_image() {
    let Some(fpm) = program("php-fpm") else { return };
    let names = ["a.conf", "docker.conf", "www.conf", "z.conf", "zz-a.conf", "ZZ-z.conf", "zz-docker.conf"];
    let names = names.into_iter().chain(["zz-docker2.conf", "zz-e.conf", "zz.conf", "zzz.conf", "é.conf"]);
    let pool = POOL.replace("9000 ", SOCKET);
    for name in names {
        let written = scene(&COMPOSE.replace("zz-socket.conf", name), SITE, POOL);
        let run = written.switch(&["--containers", "--patch"]);
        let is_written = run.status.code() == Some(0);
        let by_program = scene("", "", &pool);
        let counts = |image: &[(&str, &str); 3]| by_program.listens(&fpm, image, name) == SOCKET;
        assert_eq!(is_written, IMAGES.iter().all(counts), "{name}: {}", run.stderr);
        if !is_written {
            let said = written.switch(&["--containers", "--dry-run"]).words();
            assert!(
                said.contains("does not know which of the two files applies: mount your file at"),
                "{name}: {said}"
            );
        }
    }
}

/// A text in the Compose file (0), the site (1) or the pool (2), its replacement, and the reason why nothing is written
/// after that.
const REFUSED: [(usize, &str, &str, &str); 27] = [
    (0, "/zz-socket.conf", "/www.conf", "is read before the image's own zz-docker.conf"),
    (
        0,
        "./pool.conf:/usr/local/etc/php-fpm.d/zz-socket.conf",
        "./pools:/usr/local/etc/php-fpm.d",
        "php-fpm -tt` shows it",
    ),
    (0, "./pool.conf", "../pool.conf", "zz-socket.conf, so looptax does not know"),
    (0, "php-fpm.d/zz-socket.conf", "php-fpm.conf", "php-fpm.conf, so looptax does not know"),
    (
        0,
        "      - ./pool.conf:/usr/local/etc/php-fpm.d/zz-socket.conf:ro\n",
        "",
        "no file of the project sets the address of the pool",
    ),
    (0, "    image: php:8.3-fpm\n", "    build: .\n", "the server has `build`"),
    (0, "php:8.3-fpm", "own/php:8.3-fpm", "does not know where the image"),
    (0, "php:8.3-fpm", "php:8.3-apache", "does not know where the image"),
    (0, "    image: php:8.3-fpm\n", "    image: php:8.3-fpm\n    command: php-fpm -y /app.conf\n", "command"),
    (0, "    image: php:8.3-fpm\n", "    image: php:8.3-fpm\n    scale: 2\n", "may have several"),
    (0, "    image: php:8.3-fpm\n", "    image: php:8.3-fpm\n    deploy: {replicas: 2}\n", "may have several"),
    (
        0,
        "    image: php:8.3-fpm\n",
        "    image: php:8.3-fpm\n    ports: ['9000:9000']\n",
        "`ports` of `app` uses port 9000",
    ),
    (
        0,
        "    image: php:8.3-fpm\n",
        "    image: php:8.3-fpm\n    healthcheck: {test: cgi-fcgi -bind -connect 127.0.0.1:9000}\n",
        "`healthcheck` of `app` uses port 9000",
    ),
    (
        0,
        "    image: php:8.3-fpm\n",
        "    image: php:8.3-fpm\n    tmpfs: /run\n",
        "`app` mounts something else at /run/php",
    ),
    (0, "  app:\n", "  cron:\n    image: own\n    environment: [FPM=app:9000]\n  app:\n", "in another place too"),
    (
        0,
        "  app:\n",
        "  cron:\n    image: own\n    volumes: ['./pool.conf:/pool.conf']\n  app:\n",
        "mount the same file",
    ),
    (0, "image: nginx:1.27-alpine", "image: own/nginx", "image is not one of nginx's own"),
    (0, "image: nginx:1.27-alpine", "image: nginx\n    command: nginx -c /etc/other.conf", "command may read"),
    (0, "      - .:/var/www/html\n  app", "      - ./more:/etc/nginx/more\n  app", "mounted at /etc/nginx/more"),
    (1, "location = /status { fastcgi_pass app:9000; }", "set $up app:9000;", "uses app:9000 in another place too"),
    (
        1,
        "location = /status { fastcgi_pass app:9000; }",
        "location = /status { fastcgi_pass $up; }",
        "an expression that only the program can evaluate",
    ),
    (
        1,
        "server {",
        "upstream php { server app:9000; server app2:9000; }\nserver { location /p { fastcgi_pass php; }",
        "one of several servers",
    ),
    (1, "app:9000", "app:9001", "does not listen on port 9001"),
    (2, "listen = 9000", "listen = 127.0.0.1:9001", "listens on 127.0.0.1:9001"),
    (2, "listen = 9000", "", "no file of the project sets the address of the pool"),
    (2, "[www]", "[other]", "no file of the project sets the address of the pool"),
    (2, "listen.mode = 0600", "listen.acl_users = nginx", "which users may use its socket"),
];

#[test]
fn what_is_not_known_is_left_with_the_reason() {
    for (file, from, to, why) in REFUSED {
        let mut texts = [COMPOSE, SITE, POOL].map(str::to_owned);
        assert!(texts[file].contains(from), "{from}");
        texts[file] = texts[file].replacen(from, to, 1);
        let scene = scene(&texts[0], &texts[1], &texts[2]);
        fs::create_dir(scene.scratch.file("pools")).unwrap();
        let run = scene.switch(&["--containers", "--yes"]);
        run.expect_code(1);
        assert!(run.words().contains(why), "{why}: {}", run.words());
        assert_eq!(scene.all(), texts, "{to}");
    }
}

#[test]
fn what_is_in_the_image_or_in_another_project_is_said() {
    let mount = "      - ./site.conf:/etc/nginx/conf.d/default.conf:ro\n";
    for other in
        ["", "      - ./sites:/etc/nginx/conf.d\n", "      - ./site.conf:/etc/nginx/templates/a.conf.template\n"]
    {
        let scene = scene(&COMPOSE.replace(mount, other), SITE, POOL);
        let words = ["cannot see whether nginx uses PHP-FPM", "docker compose exec web nginx -T"];
        scene.switch(&["--containers", "--yes"]).expect_error(2, &words);
    }
    let alone = &COMPOSE[..COMPOSE.find("  app:\n").unwrap()];
    let other = scene(alone, SITE, POOL);
    let run = other.switch(&["--containers", "--yes"]);
    run.expect_code(1);
    assert!(run.words().contains("`app` is not this machine"), "{}", run.words());
    assert_eq!(other.all(), [alone, SITE, POOL].map(str::to_owned));
}

/// Several files, other orders of the sections, or an existing volume lead to the same result.
#[test]
fn other_shapes_of_the_same_are_written() {
    let run = |compose: &str, site: &str, pool: &str| {
        let scene = scene(compose, site, pool);
        scene.switch(&["--containers", "--yes"]).expect_code(3);
        scene.all()
    };
    let upstream =
        "upstream php { server app:9000 max_fails=0; keepalive 2; }\nserver { location / { fastcgi_pass php; } }\n";
    let [_, site, _] = run(COMPOSE, upstream, POOL);
    assert_eq!(site, upstream.replace("app:9000", &format!("unix:{SOCKET}")));
    let long = COMPOSE.replace(
        "      - ./site.conf:/etc/nginx/conf.d/default.conf:ro\n",
        "      - {type: bind, source: ./site.conf, target: /etc/nginx/nginx.conf, read_only: true}\n",
    );
    let [_, site, _] = run(&long, SITE, POOL);
    assert!(site.contains(SOCKET), "{site}");
    let dos = POOL.replace('\n', "\r\n").replace("listen.mode = 0600\r\n", "");
    let [_, _, pool] = run(COMPOSE, SITE, &dos);
    assert_eq!(pool, dos.replace("listen = 9000 ", &format!("listen = {SOCKET}\r\nlisten.mode = 0666")));
    // If both containers already mount the folder, only the configuration files change, and Compose does not notice
    // such a change.
    let volumes = COMPOSE.replace(":ro\n", ":ro\n      - run:/run/php\n") + "volumes: {run: }\n";
    let shared = scene(&volumes, SITE, POOL);
    let plan = shared.switch(&["--containers", "--yes"]);
    plan.expect_code(3);
    assert!(plan.words().contains("docker compose up -d --force-recreate"), "{}", plan.stdout);
    assert_eq!(shared.now(), volumes);
}
