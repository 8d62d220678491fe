//! Kubernetes manifests as people write them. Another YAML parser reads each file before and after the edit: only the
//! folder of the socket in both containers, its volume, the server's arguments, and the application's variables may
//! differ.

use looptax_advise::app::{Rewrite, Share, Source, Whole, read_services, rewritten, shares};
use serde_json::{Value, json};

use looptax_testkit::dice::Dice;

use super::compose::parsed;

const FILES: usize = 400;

/// The new text of a file; for each connection, what the containers share, or why they do not; and the changes as
/// bytes.
type Edited = (Option<String>, Vec<Option<Result<Share, String>>>, Vec<Rewrite>);

fn edited(text: &str) -> Edited {
    let source = Source {
        path: Some("/srv/pod.yaml"),
        bytes: text.as_bytes(),
        included: &[],
        neighbours: &[],
        program: None,
        environment: None,
    };
    let Some(reading) = read_services(&source, None) else {
        return (None, Vec::new(), Vec::new());
    };
    let shares = shares(&Whole::new(text, &[]), &reading.found, &[]);
    let mut all: Vec<Rewrite> = Vec::new();
    for (found, share) in reading.found.iter().zip(&shares) {
        let (Some(Ok(share)), Some(address)) = (share, &found.address) else {
            continue;
        };
        let password = address.password.as_ref().map(|it| it.reveal().to_owned());
        let moves = found.moves(&share.fields(address, password), text);
        let own = moves.into_iter().next().flatten().and_then(|it| share.complete(it));
        let Some(own) = own else { return (None, shares, all) };
        let own = own.here.into_iter().filter(|it| !all.contains(it));
        all.extend(own.collect::<Vec<_>>());
    }
    let new = rewritten(text, &all).filter(|_| !all.is_empty());
    (new, shares, all)
}

/// The variables of an application, before and after the edit, and its server.
struct App {
    variables: &'static [(&'static str, &'static str)],
    changed: &'static [(&'static str, &'static str)],
    /// The variable below which new variables are added.
    above: &'static str,
    image: &'static str,
    folder: &'static str,
}

const APPS: [App; 5] = [
    App {
        variables: &[("WORDPRESS_DB_HOST", "127.0.0.1"), ("WORDPRESS_DB_USER", "wp"), ("WORDPRESS_DB_PASSWORD", "p w")],
        changed: &[("WORDPRESS_DB_HOST", "localhost:/var/run/mysqld/mysqld.sock")],
        above: "",
        image: "mariadb:11",
        folder: "/var/run/mysqld",
    },
    App {
        variables: &[
            ("APP_KEY", "k"),
            ("DB_CONNECTION", "mysql"),
            ("DB_HOST", "localhost"),
            ("DB_USERNAME", "u"),
            ("DB_PASSWORD", "p"),
        ],
        changed: &[("DB_SOCKET", "/var/run/mysqld/mysqld.sock")],
        above: "DB_HOST",
        image: "docker.io/library/mysql:8.4",
        folder: "/var/run/mysqld",
    },
    App {
        variables: &[
            ("APP_KEY", "k"),
            ("DB_CONNECTION", "pgsql"),
            ("DB_HOST", "127.0.0.1"),
            ("DB_USERNAME", "u"),
            ("DB_PASSWORD", "p"),
        ],
        changed: &[("DB_HOST", "/var/run/postgresql")],
        above: "DB_HOST",
        image: "postgres:17-alpine",
        folder: "/var/run/postgresql",
    },
    App {
        variables: &[("APP_KEY", "k"), ("REDIS_HOST", "127.0.0.1"), ("REDIS_PORT", "6379")],
        changed: &[("REDIS_HOST", "/run/redis/redis.sock"), ("REDIS_PORT", "0")],
        above: "REDIS_HOST",
        image: "redis:7",
        folder: "/run/redis",
    },
    App {
        variables: &[
            ("APP_KEY", "k"),
            ("DB_CONNECTION", "pgsql"),
            ("DB_HOST", "127.0.0.1"),
            ("DB_PORT", "6432"),
            ("DB_USERNAME", "u"),
            ("DB_PASSWORD", "p"),
        ],
        changed: &[("DB_HOST", "/var/run/pgbouncer")],
        above: "DB_HOST",
        image: "edoburu/pgbouncer:v1.24",
        folder: "/var/run/pgbouncer",
    },
];

const OPTIONS: [&str; 4] = ["--unixsocket", "/run/redis/redis.sock", "--unixsocketperm", "777"];

struct Drawn {
    text: String,
    app: &'static App,
    /// The path to the Pod in the documents.
    place: String,
    mounted: Vec<&'static str>,
}

struct Pen<'a> {
    dice: &'a mut Dice,
    lines: Vec<String>,
    step: usize,
    /// The number of blanks before the dash of an item.
    dash: usize,
}

impl Pen<'_> {
    fn line(&mut self, blanks: usize, text: &str) {
        let indent = " ".repeat(blanks);
        match self.dice.below(12) {
            0 => self.lines.push(format!("{indent}# it's é: [\"a\", {{b")),
            1 => self.lines.push(String::new()),
            _ => {}
        }
        let behind = self.dice.one(&["", "", "", " # x: 'y", "  "]);
        self.lines.push(format!("{indent}{text}{behind}"));
    }

    /// Writes an entry of a mapping. The first entry of an item follows the dash.
    fn entry(&mut self, blanks: usize, first: &mut bool, text: &str) {
        if std::mem::take(first) {
            self.line(blanks - 2, &format!("- {text}"));
        } else {
            self.line(blanks, text);
        }
    }

    fn environment(&mut self, blanks: usize, app: &App) {
        let mut variables = app.variables.to_vec();
        let turned = self.dice.below(variables.len());
        variables.rotate_left(turned);
        for (name, value) in variables {
            let is_number = value.chars().all(|it| it.is_ascii_digit());
            let quote = if is_number { "\"" } else { self.dice.one(&["", "'", "\""]) };
            // There is no noise between these two lines, because looptax does not understand noise there.
            let indent = " ".repeat(blanks);
            let behind = self.dice.one(&["", " # n"]);
            self.lines.push(format!("{indent}- name: {name}{behind}"));
            self.lines.push(format!("{indent}  value: {quote}{value}{quote}{behind}"));
        }
        if self.dice.below(2) == 0 {
            self.line(blanks, "- name: OTHER");
            self.line(blanks + 2, "valueFrom: {secretKeyRef: {name: s, key: k}}");
        }
    }

    fn mounts(&mut self, blanks: usize) {
        match self.dice.below(3) {
            0 => {
                self.line(blanks, "volumeMounts:");
                self.line(blanks + self.dash, "- name: data");
                self.line(blanks + self.dash + 2, "mountPath: /srv");
            }
            1 => {
                self.line(blanks, "volumeMounts:");
                self.line(blanks + self.dash, "- { name: data, mountPath: /srv, readOnly: true }");
            }
            _ => {}
        }
    }

    fn container(&mut self, blanks: usize, name: &str, image: &str, app: Option<&App>) {
        let blanks = blanks + self.dash + 2;
        let mut first = true;
        let is_image_first = self.dice.below(3) == 0;
        if is_image_first {
            self.entry(blanks, &mut first, &format!("image: {image}"));
        }
        self.entry(blanks, &mut first, &format!("name: {name}"));
        if !is_image_first {
            self.entry(blanks, &mut first, &format!("image: {image}"));
        }
        let is_early = self.dice.below(2) == 0;
        if is_early {
            self.mounts(blanks);
        }
        match app {
            Some(app) => {
                self.line(blanks, "env:");
                self.environment(blanks + self.dash, app);
            }
            None if image.starts_with("postgres") => {
                self.line(blanks, "env: [{name: POSTGRES_INITDB_ARGS, value: --auth-local=scram-sha-256}]");
            }
            None if image.starts_with("edoburu") => {
                self.line(blanks, "env:");
                self.line(blanks + self.dash, "- name: DB_HOST");
                self.line(blanks + self.dash + 2, "value: 'db.example'");
                self.line(blanks + self.dash, "- {name: LISTEN_PORT, value: \"6432\"}");
            }
            None if image.starts_with("redis") => match self.dice.below(4) {
                0 => self.line(blanks, "args: [redis-server, '--save', \"\"]"),
                1 => {
                    self.line(blanks, "args:");
                    self.line(blanks + self.dash, "- redis-server");
                    self.line(blanks + self.dash, "- --appendonly");
                    self.line(blanks + self.dash, "- \"yes\"");
                }
                2 => self.line(blanks, "command: [\"redis-server\", \"/etc/r.conf\"]"),
                _ => {}
            },
            None => {}
        }
        if !is_early {
            self.mounts(blanks);
        }
        if self.dice.below(3) == 0 {
            self.line(blanks, "securityContext: {runAsUser: 1000, readOnlyRootFilesystem: true}");
        }
    }

    fn volumes(&mut self, blanks: usize) {
        self.line(blanks, "volumes:");
        self.line(blanks + self.dash, "- name: data");
        self.line(blanks + self.dash + 2, "emptyDir: {}");
    }
}

fn draw(dice: &mut Dice) -> Drawn {
    let app = &APPS[dice.below(APPS.len())];
    let step = dice.one(&[2, 4, 3]);
    let dash = dice.one(&[0, 2, 4]);
    let (kind, parents): (&str, &[&str]) = dice.one(&[
        ("Pod", &[][..]),
        ("Deployment", &["spec", "template"]),
        ("StatefulSet", &["spec", "template"]),
        ("CronJob", &["spec", "jobTemplate", "spec", "template"]),
    ]);
    let mut pen = Pen { dice, lines: Vec::new(), step, dash };
    let mut n_before = 0;
    let other = |pen: &mut Pen<'_>| {
        for line in ["apiVersion: v1", "kind: ConfigMap", "metadata: {name: c}", "data:", "  DB_HOST: 127.0.0.1"] {
            pen.lines.push(line.to_owned());
        }
    };
    if pen.dice.below(2) == 0 {
        other(&mut pen);
        pen.lines.push("---".to_owned());
        n_before = 1;
    }
    pen.line(0, "apiVersion: v1");
    pen.line(0, &format!("kind: {kind}"));
    pen.line(0, "metadata: {name: shop, labels: &l {app: shop}}");
    for (depth, key) in parents.iter().enumerate() {
        pen.line(depth * pen.step, &format!("{key}:"));
    }
    let own = parents.len() * step;
    if !parents.is_empty() {
        pen.line(own, "metadata: {labels: *l}");
    }
    pen.line(own, "spec:");
    let blanks = own + step;
    let (has_volumes, is_early) = (pen.dice.below(2) == 0, pen.dice.below(2) == 0);
    if has_volumes && is_early {
        pen.volumes(blanks);
    }
    pen.line(blanks, "containers:");
    let is_server_first = pen.dice.below(2) == 0;
    let mut mounted = vec!["app"];
    if is_server_first {
        pen.container(blanks, "db", app.image, None);
    }
    pen.container(blanks, "app", "own/app:1", Some(app));
    if pen.dice.below(3) == 0 {
        pen.container(blanks, "worker", "own/app:1", Some(app));
        mounted.push("worker");
    }
    if !is_server_first {
        pen.container(blanks, "db", app.image, None);
    }
    mounted.push("db");
    if has_volumes && !is_early {
        pen.volumes(blanks);
    }
    if pen.dice.below(2) == 0 {
        pen.line(blanks, "securityContext: {fsGroup: 2000}");
    }
    if pen.dice.below(2) == 0 {
        pen.lines.push("---".to_owned());
        other(&mut pen);
    }
    let newline = pen.dice.one(&["\n", "\n", "\r\n"]);
    let mut text = pen.lines.join(newline);
    if pen.dice.below(4) > 0 {
        text += newline;
    }
    let n_before = n_before.to_string();
    let path = [&["", &*n_before], parents, &["spec"]].concat().join("/");
    Drawn { text, app, place: path, mounted }
}

/// The documents that are expected after the edit.
fn expected(mut documents: Value, drawn: &Drawn) -> Value {
    let app = drawn.app;
    let spec = documents.pointer_mut(&drawn.place).unwrap();
    let push = |own: &mut Value, key: &str, item: Value| {
        let list = own.as_object_mut().unwrap().entry(key).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(item);
    };
    push(spec, "volumes", json!({ "name": "sockets-db", "emptyDir": {} }));
    for container in spec["containers"].as_array_mut().unwrap() {
        let name = container["name"].as_str().unwrap().to_owned();
        assert!(drawn.mounted.contains(&&*name));
        push(container, "volumeMounts", json!({ "name": "sockets-db", "mountPath": app.folder }));
        if name != "db" {
            change(container["env"].as_array_mut().unwrap(), app);
        } else if app.image.starts_with("edoburu") {
            push(container, "env", json!({ "name": "UNIX_SOCKET_DIR", "value": app.folder }));
        } else if app.image.starts_with("redis") {
            let key = if container.get("command").is_some() { "command" } else { "args" };
            if container.get(key).is_none() {
                push(container, key, json!("redis-server"));
            }
            for option in OPTIONS {
                push(container, key, json!(option));
            }
        }
    }
    documents
}

fn change(variables: &mut Vec<Value>, app: &App) {
    for (name, value) in app.changed {
        let place = |name: &str, all: &[Value]| all.iter().position(|it| it["name"] == name);
        let new = json!({ "name": name, "value": value });
        match place(name, variables) {
            Some(at) => variables[at] = new,
            None => variables.insert(place(app.above, variables).unwrap() + 1, new),
        }
    }
}

#[test]
fn another_parser_finds_what_was_meant_and_nothing_else() {
    let mut dice = Dice::new(49);
    let drawn: Vec<Drawn> = (0..FILES).map(|_| draw(&mut dice)).collect();
    let mut after = Vec::new();
    for it in &drawn {
        let (new, shares, rewrites) = edited(&it.text);
        let new = new.unwrap_or_else(|| panic!("{shares:?}\n{}", it.text));
        assert_eq!(shares.iter().flatten().count(), it.mounted.len() - 1, "{}", it.text);
        // The edit only removes values inside a line, and adds lines only below complete lines.
        for rewrite in &rewrites {
            let gone = &it.text[rewrite.at.clone()];
            assert!(!gone.contains(['\n', '\r', '#']), "{gone}\n{}", it.text);
        }
        let n_bare = new.matches('\n').count() - new.matches("\r\n").count();
        assert!(!it.text.contains("\r\n") || n_bare == 0, "{new}");
        after.push(new);
    }
    let before: Vec<String> = drawn.iter().map(|it| it.text.clone()).collect();
    let (Some(before), Some(found)) = (parsed(&before), parsed(&after)) else {
        return;
    };
    for (((it, before), found), new) in drawn.iter().zip(before).zip(found).zip(&after) {
        assert_eq!(found, expected(before, it), "{}becomes\n{new}", it.text);
    }
}

/// A Pod with these lines in the application's container, in the server's container, in the spec, and at the end of the
/// Pod.
fn pod(app: &str, server: &str, spec: &str, end: &str) -> String {
    let indented = |text: &str, by: &str| text.lines().flat_map(|it| [by, it, "\n"]).collect::<String>();
    let environment = if app.contains("env:") {
        ""
    } else {
        "env:\n- name: WORDPRESS_DB_HOST\n  value: 127.0.0.1\n- name: WORDPRESS_DB_USER\n  value: u\n"
    };
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: shop}}\nspec:\n{}  containers:\n  - name: app\n    image: own\n{}{}  - name: db\n    image: mysql\n{}{end}",
        indented(spec, "  "),
        indented(environment, "    "),
        indented(app, "    "),
        indented(server, "    "),
    )
}

#[test]
fn what_is_not_understood_is_left_to_people_with_the_reason() {
    assert!(edited(&pod("", "", "", "")).0.is_some());
    for (app, server, spec, end, words) in [
        ("volumeMounts: [{name: a, mountPath: /b}]", "", "", "", "the volumeMounts of `app`"),
        ("", "volumeMounts: &v\n- name: a\n  mountPath: /b", "", "", "the volumeMounts of `db`"),
        ("", "volumeMounts: x", "", "", "its own configuration"),
        ("", "volumeMounts:\n- name: a\n  mountPath: /run/mysqld", "", "", "is not an emptyDir"),
        ("", "volumeMounts:\n- name: a\n  mountPath: /run/mysqld\n  subPath: x", "", "", "something else at"),
        ("", "volumeMounts:\n- name: c\n  mountPath: /etc/mysql/conf.d", "", "", "its own configuration"),
        ("", "command: [sh, -c, mysqld]", "", "", "`command`"),
        ("", "args: [--socket=/x]", "", "", "may set the place of its socket"),
        ("<<: {a: b}", "", "", "", "not written in separate plain lines"),
        ("", "", "volumes: []", "", "the volumes of `the Pod`"),
        ("", "", "volumes:\n- name: sockets-db\n  emptyDir: {}", "", "already has a volume `sockets-db`"),
        ("env: [{name: WORDPRESS_DB_HOST, value: 127.0.0.1}]", "", "", "", "not on separate plain lines"),
        ("env:\n- name: WORDPRESS_DB_HOST\n  value: 127.0.0.1:3307", "", "", "", "port 3307"),
        ("", "", "", "---\na: {{ .Values.x }}\n", "helm template"),
        (
            "env:\n- name: WORDPRESS_DB_HOST\n  value: db.shop.svc",
            "",
            "",
            "---\napiVersion: v1\nkind: Service\nmetadata: {name: db}\n",
            "a socket stays within one Pod",
        ),
    ] {
        let text = pod(app, server, spec, end);
        let (new, shares, _) = edited(&text);
        assert_eq!(new, None, "{text}");
        let why: Vec<&String> = shares.iter().flatten().filter_map(|it| it.as_ref().err()).collect();
        assert!(why.iter().any(|it| it.contains(words)), "{words}: {why:?}\n{text}");
    }
    // An init container ends before the server starts.
    let text = pod("", "", "", "").replace("  containers:\n  - name: app", "  initContainers:\n  - name: app");
    let text = text.replace("  - name: db", "  containers:\n  - name: db");
    let (new, shares, _) = edited(&text);
    assert!(new.is_none() && format!("{shares:?}").contains("init container"), "{shares:?}\n{text}");
    let sidecar = text.replace("    image: own", "    image: own\n    restartPolicy: Always");
    assert!(edited(&sidecar).0.is_some(), "{sidecar}");
    // With `hostNetwork`, the containers use the machine's loopback, and not that of the Pod.
    let (new, shares, _) = edited(&pod("", "", "hostNetwork: true", ""));
    assert_eq!((new, shares), (None, vec![None]));
}

#[test]
fn what_a_pod_has_is_taken_and_what_it_loses_is_said() {
    let mounted = "volumeMounts:\n- name: run\n  mountPath: /run/mysqld";
    let text = pod("", mounted, "volumes:\n- name: run\n  emptyDir: {medium: Memory}", "");
    let (new, shares, _) = edited(&text);
    let own = "    image: own\n    volumeMounts:\n      - name: run\n        mountPath: /var/run/mysqld\n";
    let expected = text
        .replace("    image: own\n", own)
        .replace("value: 127.0.0.1", "value: localhost:/var/run/mysqld/mysqld.sock");
    assert_eq!(new, Some(expected));
    let restart = |shares: &[Option<Result<Share, String>>]| shares[0].clone().unwrap().unwrap().restart;
    assert!(
        restart(&shares).contains("mounts /var/lib/mysql, where the server keeps its data"),
        "{}",
        restart(&shares)
    );
    let claim = "volumes:\n- name: data\n  persistentVolumeClaim: {claimName: d}";
    let text = pod("", "volumeMounts:\n- name: data\n  mountPath: /var/lib/mysql", claim, "");
    let restart = restart(&edited(&text).1);
    assert!(restart.contains("kubectl replace --force") && !restart.contains("data"), "{restart}");
}
