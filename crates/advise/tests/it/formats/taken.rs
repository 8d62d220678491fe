//! Variables that containers take from elsewhere: which of them takes effect, according to Compose's own library and to
//! the rules of Kubernetes, and where another value is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use looptax_advise::app::{Found, Included, Reading, Share, Source, Whole, read_services, rewritten, shares};
use looptax_testkit::dice::Dice;
use looptax_testkit::skips::skip;

use super::compose::parsed;

const CASES: usize = 300;

/// The names of the random variables, in the order of the parts of a connection.
const NAMES: [&str; 5] = ["DB_HOST", "DB_PORT", "DB_DATABASE", "DB_USERNAME", "DB_PASSWORD"];

/// A file of containers, its name, and the files next to it.
struct Project {
    name: &'static str,
    text: String,
    beside: Vec<(String, String)>,
}

impl Project {
    fn included(&self) -> Vec<Included> {
        let beside = self.beside.iter().map(|(name, text)| Included { words: name.clone(), text: text.clone() });
        beside.collect()
    }

    fn read(&self, application: Option<&str>) -> Reading {
        let path = format!("/srv/{}", self.name);
        let source = Source {
            path: Some(&path),
            bytes: self.text.as_bytes(),
            included: &self.included(),
            neighbours: &[],
            program: None,
            environment: None,
        };
        read_services(&source, application).unwrap()
    }

    /// Edits the files. Returns the new texts by the names of the files, or the reason why nothing is edited.
    fn edited(&self) -> Result<BTreeMap<String, String>, String> {
        let whole = Whole::new(&self.text, &self.included());
        let reading = self.read(None);
        let all = shares(&whole, &reading.found, &[]);
        let mut here = Vec::new();
        for (found, share) in reading.found.iter().zip(all) {
            let Some(share) = share else { continue };
            let own = complete(found, &share?, whole.text()).ok_or("by hand")?;
            here.extend(own.into_iter().filter(|it| !here.contains(it)).collect::<Vec<_>>());
        }
        let files = whole.parted(&here).into_iter().filter(|it| !it.2.is_empty());
        let written =
            files.map(|(words, text, own)| (words.unwrap_or(self.name).to_owned(), rewritten(text, &own).unwrap()));
        Ok(written.collect())
    }
}

fn complete(found: &Found, share: &Share, text: &str) -> Option<Vec<looptax_advise::app::Rewrite>> {
    let address = found.address.as_ref()?;
    let password = address.password.as_ref().map(|it| it.reveal().to_owned());
    let moves = found.moves(&share.fields(address, password), text).into_iter().next()??;
    Some(share.complete(moves)?.here)
}

/// The values of the random variables, as the connection shows them; `None` if the connection is not known.
fn shown(reading: &Reading) -> Option<BTreeMap<&'static str, String>> {
    let address = reading.found.iter().find(|it| it.kind == "mysql")?.address.as_ref()?;
    let values = [
        address.host.clone(),
        Some(address.port.to_string()),
        address.database.clone(),
        address.user.clone(),
        address.password.as_ref().map(|it| it.reveal().to_owned()),
    ];
    Some(NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect())
}

/// Returns a new value for each call, so that the value shows its source.
fn value(name: &str, n: &mut u32) -> String {
    *n += 1;
    if name == "DB_PORT" { format!("{}", 4000 + *n) } else { format!("v{n}") }
}

fn draw_compose(dice: &mut Dice) -> Project {
    let mut n = 0;
    let mut beside = Vec::new();
    let mut list = String::new();
    let n_files = dice.below(4);
    let files = ["a.env", "./b.env", "conf/c.env"];
    let is_one = n_files == 1 && dice.below(2) == 0;
    for name in files.iter().take(n_files) {
        let mut text = String::new();
        for _ in 0..dice.below(7) {
            let name = dice.one(&NAMES);
            let value = value(name, &mut n);
            let line = match dice.below(6) {
                0 => format!("export {name}={value}"),
                1 => format!("{name}='{value}'"),
                2 => format!("{name}=\"{value}\" # it's"),
                3 => format!("{name}={value} # {name}=x"),
                4 => format!("# {name}=y\n\n{name}={value}"),
                _ => format!("{name}={value}"),
            };
            writeln!(text, "{line}").unwrap();
        }
        let is_optional = !is_one && dice.below(3) == 0;
        let is_there = !is_optional || dice.below(2) == 0;
        if is_there {
            beside.push(((*name).to_owned(), text));
        }
        match (is_one, is_optional, dice.below(2)) {
            (true, ..) => list = format!("    env_file: {name}\n"),
            (_, true, _) => writeln!(list, "      - path: {name}\n        required: false").unwrap(),
            (_, _, 0) => writeln!(list, "      - {name}").unwrap(),
            _ => writeln!(list, "      - {{path: \"{name}\", required: true}}").unwrap(),
        }
    }
    if n_files > 0 && !is_one {
        list.insert_str(0, "    env_file:\n");
    }
    let is_map = dice.below(2) == 0;
    let mut own = String::new();
    let mut names = NAMES.to_vec();
    for _ in 0..dice.below(4) {
        let name = names.remove(dice.below(names.len()));
        let value = value(name, &mut n);
        let line = if is_map { format!("{name}: '{value}'") } else { format!("- {name}={value}") };
        writeln!(own, "      {line}").unwrap();
    }
    let fixed = [("APP_KEY", "k"), ("DB_CONNECTION", "mysql")];
    for (name, value) in fixed {
        let line = if is_map { format!("{name}: {value}") } else { format!("- {name}={value}") };
        writeln!(own, "      {line}").unwrap();
    }
    let environment = format!("    environment:\n{own}");
    let (first, last) = if dice.below(2) == 0 { (list, environment) } else { (environment, list) };
    let text = format!("services:\n  app:\n    image: own\n{first}{last}  v1:\n    image: mysql:8\n");
    Project { name: "compose.yaml", text, beside }
}

/// The environment of `app` in each project according to Compose's own library. scripts/compose-config.sh builds the
/// program for this: it gets folders, and prints a line of JSON for each.
fn by_compose(projects: &[Project]) -> Option<Vec<BTreeMap<String, String>>> {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/compose-config");
    let program = std::env::var_os("LOOPTAX_COMPOSE_CONFIG").map_or_else(|| PathBuf::from(usual), PathBuf::from);
    let program = program.join("compose-config");
    if !program.is_file() {
        skip("compose-go is not built");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let folders: Vec<PathBuf> = (0..projects.len()).map(|it| folder.path().join(format!("p{it}"))).collect();
    for (own, project) in folders.iter().zip(projects) {
        fs::create_dir_all(own.join("conf")).unwrap();
        fs::write(own.join(project.name), &project.text).unwrap();
        for (name, text) in &project.beside {
            fs::write(own.join(name), text).unwrap();
        }
    }
    let output = Command::new(program).args(&folders).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|it| serde_json::from_str(it).unwrap()).collect())
}

/// Checks that each known variable has the value from the environment, for at least `expected` variables.
fn hold(projects: &[Project], environments: &[BTreeMap<String, String>], expected: usize) {
    let mut n_known = 0;
    for (project, environment) in projects.iter().zip(environments) {
        let reading = project.read(None);
        let Some(shown) = shown(&reading) else {
            assert!(
                !environment.contains_key("DB_HOST"),
                "{}{:?}\n{:?}",
                project.text,
                project.beside,
                reading.problems
            );
            continue;
        };
        for name in NAMES {
            let known = environment.get(name).cloned();
            // Without this variable, the port is the default port.
            let known = known.or_else(|| (name == "DB_PORT").then(|| "3306".to_owned()));
            assert_eq!(shown.get(name), known.as_ref(), "{name}:\n{}{:?}", project.text, project.beside);
            n_known += 1;
        }
    }
    assert!(n_known >= expected, "{n_known}");
}

#[test]
fn the_file_counts_that_compose_takes() {
    let mut dice = Dice::new(50);
    let projects: Vec<Project> = (0..CASES).map(|_| draw_compose(&mut dice)).collect();
    if let Some(environments) = by_compose(&projects) {
        hold(&projects, &environments, CASES);
    }
}

/// A source of variables: the kind, the name, whether the source is optional, and the prefix for its names.
type Taken = (&'static str, &'static str, bool, &'static str);

/// The environment that Kubernetes makes: `envFrom` in the order of the file, then `env`. An optional source that is
/// missing gives nothing (kubernetes.io, API reference, Container: `env`, `envFrom`; `optional`).
fn by_the_rules(sources: &[Taken], own: &[(&str, Own)], objects: &Objects) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (kind, name, _, prefix) in sources {
        for (key, value) in objects.get(&(*kind, *name)).into_iter().flatten() {
            all.insert(format!("{prefix}{key}"), value.clone());
        }
    }
    for (name, own) in own {
        match own {
            Own::Value(value) => drop(all.insert((*name).to_owned(), value.clone())),
            Own::Key(kind, object, key, _) => {
                let found = objects.get(&(*kind, *object)).and_then(|it| it.get(*key));
                found.and_then(|it| all.insert((*name).to_owned(), it.clone()));
            }
        }
    }
    all
}

#[derive(Debug)]
enum Own {
    Value(String),
    /// The kind, the name, the key, and whether the source is optional.
    Key(&'static str, &'static str, &'static str, bool),
}

const OBJECTS: [(&str, &str); 4] =
    [("ConfigMap", "base"), ("ConfigMap", "shop"), ("Secret", "shop"), ("Secret", "text")];

/// Encodes a text in Base64, as in a Secret.
fn encoded(text: &str) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut all = String::new();
    for part in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, it| bits << 8 | u32::from(part.get(it).copied().unwrap_or_default()));
        for it in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * it) & 63) as usize];
            all.push(if it <= part.len() { char::from(sign) } else { '=' });
        }
    }
    all
}

type Objects = BTreeMap<(&'static str, &'static str), BTreeMap<String, String>>;

/// Makes random `ConfigMap`s and Secrets. Returns their entries, and their documents.
fn draw_objects(dice: &mut Dice, n: &mut u32) -> (Objects, Vec<String>) {
    let mut objects = Objects::new();
    let mut documents = Vec::new();
    for (kind, name) in OBJECTS {
        let mut entries = BTreeMap::new();
        for name in NAMES {
            if dice.below(2) == 0 {
                continue;
            }
            let value = value(name, n);
            let key = if dice.below(4) == 0 { name.trim_start_matches("DB_") } else { name };
            entries.insert(key.to_owned(), value);
        }
        if dice.below(5) == 0 {
            continue;
        }
        let mut text = format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\ndata:\n");
        let mut plain = String::from("stringData:\n");
        for (name, value) in &entries {
            // A value in plain text takes precedence over an encoded value.
            let is_plain = kind == "Secret" && dice.below(2) == 0;
            let held = if is_plain { "other" } else { value };
            let held = if kind == "Secret" { encoded(held) } else { format!("\"{held}\"") };
            writeln!(text, "  {name}: {held}").unwrap();
            if is_plain {
                writeln!(plain, "  {name}: \"{value}\"").unwrap();
            }
        }
        if kind == "Secret" {
            text += &plain;
        }
        // An object of the same name in another namespace is another object.
        if dice.below(4) == 0 {
            let named = format!("  name: {name}\n");
            documents.push(text.replace(&named, &format!("{named}  namespace: other\n")));
        }
        documents.push(text);
        objects.insert((kind, name), entries);
    }
    (objects, documents)
}

/// The lines of a container that takes variables from these sources.
fn container_of(sources: &[Taken], own: &[(&str, Own)]) -> String {
    let mut container = String::from("    image: own\n");
    if !sources.is_empty() {
        container += "    envFrom:\n";
    }
    for (kind, name, is_optional, prefix) in sources {
        let key = if *kind == "Secret" { "secretRef" } else { "configMapRef" };
        let prefix = if prefix.is_empty() { String::new() } else { format!("      prefix: {prefix}\n") };
        let optional = if *is_optional { "\n        optional: true" } else { "" };
        write!(container, "    - {key}:\n        name: {name}{optional}\n{prefix}").unwrap();
    }
    container += "    env:\n    - {name: APP_KEY, value: k}\n    - {name: DB_CONNECTION, value: mysql}\n";
    for (name, it) in own {
        match it {
            Own::Value(value) => writeln!(container, "    - name: {name}\n      value: \"{value}\"").unwrap(),
            Own::Key(kind, object, key, is_optional) => {
                let of = if *kind == "Secret" { "secretKeyRef" } else { "configMapKeyRef" };
                writeln!(
                    container,
                    "    - name: {name}\n      valueFrom:\n        {of}: {{name: {object}, key: {key}, optional: {is_optional}}}"
                )
                .unwrap();
            }
        }
    }
    container
}

fn draw_pod(dice: &mut Dice) -> (Project, BTreeMap<String, String>) {
    let mut n = 0;
    let (objects, mut documents) = draw_objects(dice, &mut n);
    let mut sources: Vec<Taken> = Vec::new();
    for _ in 0..dice.below(4) {
        let (kind, name) = dice.one(&OBJECTS);
        let is_missing = !objects.contains_key(&(kind, name));
        sources.push((kind, name, is_missing || dice.below(3) == 0, dice.one(&["", "", "DB_", "X_"])));
    }
    let mut names = NAMES.to_vec();
    let mut own: Vec<(&str, Own)> = Vec::new();
    for _ in 0..dice.below(4) {
        let name = names.remove(dice.below(names.len()));
        let (kind, object) = dice.one(&OBJECTS);
        let key = dice.one(&NAMES);
        let is_there = objects.get(&(kind, object)).is_some_and(|it| it.contains_key(key));
        let is_alike = (key == "DB_PORT") == (name == "DB_PORT");
        let is_key = is_alike && dice.below(2) == 0;
        let is_optional = !is_there || dice.below(2) == 0;
        let it = if is_key { Own::Key(kind, object, key, is_optional) } else { Own::Value(value(name, &mut n)) };
        own.push((name, it));
    }
    let container = container_of(&sources, &own);
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: shop}}\nspec:\n  containers:\n  - name: app\n{container}"
    );
    let environment = by_the_rules(&sources, &own, &objects);
    let n_beside = dice.below(documents.len() + 1);
    let here = documents.split_off(n_beside);
    let text = here.into_iter().chain([pod]).collect::<Vec<_>>().join("---\n");
    let beside =
        if documents.is_empty() { Vec::new() } else { vec![("maps.yaml".to_owned(), documents.join("---\n"))] };
    (Project { name: "pod.yaml", text, beside }, environment)
}

#[test]
fn the_object_counts_that_kubernetes_takes() {
    let mut dice = Dice::new(51);
    let (projects, environments): (Vec<_>, Vec<_>) = (0..CASES).map(|_| draw_pod(&mut dice)).unzip();
    hold(&projects, &environments, CASES);
}

fn compose(app: &str, more: &str, files: &[(&str, &str)]) -> Project {
    let text = format!("services:\n  app:\n    image: own\n{app}  cache:\n    image: redis:7\n{more}");
    let beside = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Project { name: "compose.yaml", text, beside: beside.collect() }
}

const ENV: &str = "APP_KEY=k\nREDIS_HOST=cache # here\nREDIS_PORT=6379";

#[test]
fn a_file_that_one_service_takes_is_edited_and_one_that_several_take_is_not() {
    let edited = ENV.replace("cache #", "/run/redis/redis.sock #").replace("6379", "0");
    for (app, name) in [("    env_file: a.env\n", "a.env"), ("    env_file:\n      - path: ./a.env\n", "./a.env")] {
        let files = compose(app, "", &[(name, ENV)]).edited().unwrap();
        assert_eq!(files.get(name), Some(&edited), "{app}");
        let new = &files["compose.yaml"];
        assert_eq!(new.matches("- sockets-cache:/run/redis\n").count(), 2, "{new}");
        assert!(!new.contains("REDIS_HOST"), "{new}");
    }
    let in_brackets = compose("    env_file: a.env\n    environment: {X: y}\n", "", &[("a.env", ENV)]);
    assert!(in_brackets.edited().is_err_and(|it| it.contains("not on separate plain lines")));
    // If another service takes the file or mounts its folder, or if Compose uses its variables, looptax writes into the
    // container's own environment.
    let own = "environment:|- REDIS_HOST=/run/redis/redis.sock|- REDIS_PORT=0|";
    let taken = |name: &str| format!("    env_file: {name}\n");
    for (file, more) in [
        ("a.env", "  worker:\n    image: x\n    env_file: a.env\n"),
        ("a.env", "  worker:\n    image: x\n    volumes:\n      - ./:/srv\n"),
        (".env", "  worker:\n    image: x\n    environment:\n      H: $REDIS_HOST\n      P: ${REDIS_PORT:-1}\n"),
    ] {
        let project = compose(&taken(file), more, &[(file, ENV)]);
        let files = project.edited().unwrap_or_else(|why| panic!("{why}\n{}", project.text));
        assert_eq!(files.keys().collect::<Vec<_>>(), ["compose.yaml"], "{more}");
        let new = &files["compose.yaml"];
        let lines: Vec<&str> = new.lines().map(str::trim).collect();
        assert!(lines.join("|").contains(own), "{new}");
    }
    // A variable that is in the container's own environment is written there.
    let both = "    env_file: a.env\n    environment:\n      REDIS_HOST: cache\n";
    let other = ENV.replace("cache", "other");
    let files = compose(both, "", &[("a.env", &other)]).edited().unwrap();
    let new = &files["compose.yaml"];
    assert!(new.contains("      REDIS_HOST: /run/redis/redis.sock\n"), "{new}");
    assert_eq!(files["a.env"], other.replace("6379", "0"));
}

#[test]
fn a_file_that_is_not_followed_is_said() {
    for (app, files, words) in [
        ("    env_file: a.env\n", &[][..], "the `env_file` a.env, which does not exist"),
        ("    env_file: ../a.env\n", &[], "not below the Compose file's folder"),
        ("    env_file: ${E}\n", &[], "not a plain path"),
        ("    env_file: [{path: a.env, format: raw}]\n", &[("a.env", ENV)], "not a plain path"),
        ("    env_file: a.env\n", &[("a.env", "A=b\nREDIS_HOST\n")], "whose line 2 is not a plain `NAME=value`"),
    ] {
        let reading = compose(app, "", files).read(None);
        let problems: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        assert!(problems.iter().any(|it| it.contains(words)), "{app}: {problems:?}");
    }
    let optional = compose("    env_file: [{path: a.env, required: false}]\n", "", &[]).read(None);
    assert_eq!((optional.problems, optional.found.len()), (Vec::new(), 0));
    // looptax does not know the variables of the shell that starts Compose.
    let asked = "    env_file: a.env\n    environment:\n      - REDIS_HOST\n";
    let reading = compose(asked, "", &[("a.env", ENV)]).read(None);
    assert!(reading.found[0].takes.is_none() && reading.found[0].why.contains("Compose"), "{}", reading.found[0].why);
}

fn pod(env: &str, objects: &str) -> Project {
    let text = format!(
        "{objects}apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: shop}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: app\n        image: own\n{env}      - name: cache\n        image: redis:7\n"
    );
    Project { name: "shop.yaml", text, beside: Vec::new() }
}

#[test]
fn what_others_may_take_stays_and_the_own_environment_wins() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  APP_KEY: k\n  REDIS_HOST: 127.0.0.1\n  HOST: localhost\n";
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata:\n  APP_KEY: {}\n  REDIS_HOST: {}\n  REDIS_PASSWORD: {}\nstringData:\n  REDIS_URL: redis://:geheim@127.0.0.1\n",
        encoded("k"),
        encoded("127.0.0.1"),
        encoded("geheim")
    );
    let host = ["name: REDIS_HOST", "value: \"/run/redis/redis.sock\""];
    for (env, objects) in [
        ("        envFrom:\n        - configMapRef: {name: m}\n", map),
        ("        envFrom: [{configMapRef: {name: m}}]\n        env:\n        - name: X\n          value: y\n", map),
        (
            "        env:\n        - name: APP_KEY\n          value: k\n        - name: REDIS_HOST\n          valueFrom:\n            configMapKeyRef:\n              name: m\n              key: HOST\n",
            map,
        ),
        (
            "        env:\n        - name: APP_KEY\n          value: k\n        - name: REDIS_HOST\n          valueFrom: {secretKeyRef: {name: s, key: REDIS_HOST}}\n        - name: REDIS_PASSWORD\n          valueFrom: {secretKeyRef: {name: s, key: REDIS_PASSWORD}}\n",
            &*secret,
        ),
    ] {
        let project = pod(env, &format!("{objects}---\n"));
        let files = project.edited().unwrap_or_else(|why| panic!("{why}\n{}", project.text));
        let new = &files["shop.yaml"];
        assert!(new.starts_with(objects) && !new.replace(objects, "").contains("geheim"), "{new}");
        let lines: Vec<&str> = new.lines().map(|it| it.trim().trim_start_matches("- ")).collect();
        assert!(lines.windows(2).any(|it| it == host), "{new}");
        assert!(
            !new.contains("valueFrom") || new.matches("valueFrom").count() == env.matches("valueFrom").count() - 1,
            "{new}"
        );
        if let Some(before) = parsed(std::slice::from_ref(new)) {
            let own = &before[0][1]["spec"]["template"]["spec"]["containers"][0]["env"];
            let own = own.as_array().unwrap().iter().filter(|it| it["name"] == "REDIS_HOST");
            assert_eq!(
                own.map(|it| it["value"].as_str()).collect::<Vec<_>>(),
                [Some("/run/redis/redis.sock")],
                "{new}"
            );
        }
    }
    // looptax never copies a whole address that is in a Secret.
    let url = "        envFrom: [{secretRef: {name: s}}]\n";
    let why = pod(url, &format!("{secret}---\n")).edited().unwrap_err();
    assert!(why.contains("only by copying the address's secrets"), "{why}");
}

#[test]
fn what_a_secret_has_is_starred() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {APP_KEY: k, REDIS_HOST: own.example}\n---\n";
    let reading = pod("        envFrom: [{secretRef: {name: s}}]\n", secret).read(None);
    let found = &reading.found[0];
    assert_eq!(found.taken, ["the Secret `s`"]);
    assert_eq!(
        found.without_secrets("redis at own.example:6379, its own.examples"),
        "redis at ****:6379, its own.examples"
    );
}

#[test]
fn an_object_is_that_of_the_same_namespace_and_its_absence_is_said() {
    let map = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{namespace}}}\ndata: {{APP_KEY: k, REDIS_HOST: 127.0.0.1}}\n---\n"
        )
    };
    let from = "        envFrom: [{configMapRef: {name: m}}]\n";
    let said = |project: Project| {
        let reading = project.read(None);
        let problems: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        (reading.found.len(), problems.join("; "))
    };
    assert_eq!(said(pod(from, &map(""))), (1, String::new()));
    let (n, why) = said(pod(from, &map(", namespace: other")));
    assert!(n == 0 && why.contains("`m`, which is in none of the files"), "{why}");
    let (n, why) = said(pod(from, &(map("") + &map(""))));
    assert!(n == 0 && why.contains("more than once"), "{why}");
    let optional = from.replace("m}", "m, optional: true}");
    assert_eq!(said(pod(&optional, "")), (0, String::new()));
    // Each object in a list is a separate object.
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: m}\n  data:\n    APP_KEY: k\n    REDIS_HOST: 127.0.0.1\n---\n";
    assert_eq!(said(pod(from, list)), (1, String::new()));
}
