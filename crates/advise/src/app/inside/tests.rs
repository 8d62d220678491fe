//! Containers in files: the owner of their loopback, and the files that are mounted into them.

use super::super::read::{read, read_as};
use super::super::source::Source;
use super::*;

fn inside(path: &str, text: &str) -> Vec<Inside> {
    let source = Source {
        path: Some(path),
        bytes: text.as_bytes(),
        included: &[],
        neighbours: &[],
        program: None,
        environment: None,
    };
    let mut found = read(&source).found;
    if found.is_empty() {
        found = read_as(&source, "laravel").unwrap().found;
    }
    found.into_iter().filter_map(|it| it.inside).collect()
}

/// Expects that a file has exactly one container, described as `name: loopback`.
#[track_caller]
fn check(path: &str, text: &str, expected: &str) -> Inside {
    let all = inside(path, text);
    let shown = |it: &Inside| {
        let loopback = match &it.loopback {
            Loopback::Machine => "machine".to_owned(),
            Loopback::Own(others) => {
                let others: Vec<String> = others.iter().map(Neighbour::words).collect();
                format!("own {}", others.join(" ")).trim_end().to_owned()
            }
            Loopback::Other(whose) => whose.clone(),
            Loopback::Unknown(why) => format!("? {why}"),
        };
        format!("{}: {loopback}", it.name)
    };
    let found: Vec<String> = all.iter().map(shown).collect();
    assert_eq!(found, [expected], "{text}");
    all.into_iter().next().unwrap()
}

const URL: &str = "DATABASE_URL: postgres://u:p@127.0.0.1/d";

fn compose(more: &str) -> String {
    format!("services:\n  app:\n    image: shop\n{more}    environment:\n      {URL}\n  db:\n    image: postgres:16\n")
}

#[test]
fn a_service_has_its_own_loopback_unless_it_says_otherwise() {
    let path = "/srv/docker-compose.yml";
    check(path, &compose(""), "the service `app`: own");
    check(path, &compose("    network_mode: host\n"), "the service `app`: machine");
    check(path, &compose("    network_mode: bridge\n"), "the service `app`: own");
    check(path, &compose("    network_mode: service:db\n"), "the service `app`: own `db` (image postgres:16)");
    check(path, &compose("    network_mode: container:vpn\n"), "the service `app`: the container `vpn`");
    check(path, &compose("    network_mode: ${MODE}\n"), "the service `app`: ? `network_mode` is a variable");
    let circle = compose("    network_mode: service:db\n") + "    network_mode: service:app\n";
    check(path, &circle, "the service `app`: ? the containers refer to each other in a circle");
    // The other service uses the network of this service.
    let joined = compose("") + "    network_mode: 'service:app'\n";
    check(path, &joined, "the service `app`: own `db` (image postgres:16)");
}

#[test]
fn settings_that_several_services_take_are_for_all_of_them() {
    let text = format!(
        "x-env: &env\n  {URL}\nservices:\n  a:\n    image: a\n    environment: *env\n  b:\n    image: b\n    environment:\n      <<: *env\n"
    );
    let own = check("/srv/compose.yml", &text, "the service `a` and the service `b`: own");
    assert_eq!(own.at("/run/mysqld"), Brought::Nothing);
    let one = text.replace("image: a", "network_mode: host");
    let all = inside("/srv/compose.yml", &one);
    assert!(matches!(all[0].loopback, Loopback::Unknown(_)), "{all:?}");
}

#[test]
fn a_path_within_a_service_is_what_its_volumes_bring() {
    let volumes = "    volumes:\n      - /run/postgresql:/var/run/postgresql:ro\n      - data:/srv/data\n      - ./sockets:/sockets\n      - type: bind\n        source: /run/mysqld\n        target: /my\n      - ${X}:/x\n    tmpfs: /run\n";
    let text = compose(volumes) + "    volumes: ['data:/srv/data']\n";
    let own = check("/srv/compose.yaml", &text, "the service `app`: own");
    let machine = |path: &str| Brought::FromMachine(PathBuf::from(path));
    assert_eq!(own.at("/run/postgresql/.s.PGSQL.5432"), machine("/run/postgresql/.s.PGSQL.5432"));
    assert_eq!(own.at("/sockets/a"), machine("./sockets/a"));
    assert_eq!(own.at("/my/mysqld.sock"), machine("/run/mysqld/mysqld.sock"));
    assert_eq!(own.at("/srv/data/x"), Brought::Volume { name: "data".to_owned(), others: vec!["db".to_owned()] });
    assert_eq!(own.at("/x/y"), Brought::Unknown);
    assert_eq!(own.at("/run/redis/r.sock"), Brought::Nothing);
    assert_eq!(own.at("/tmp/r.sock"), Brought::Nothing);
    assert_eq!(own.path_within("/run/mysqld/mysqld.sock").as_deref(), Some("/my/mysqld.sock"));
    assert_eq!(own.path_within("/run/redis/r.sock"), None);
}

#[test]
fn containers_of_a_pod_are_each_others_neighbours() {
    let pod = |more: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\nspec:\n  template:\n    spec:\n{more}      containers:\n      - name: app\n        image: shop\n        env:\n        - name: DATABASE_URL\n          value: postgres://u:p@127.0.0.1/d\n        volumeMounts:\n        - name: run\n          mountPath: /var/run/postgresql\n      - name: cloud-sql\n        image: gcr.io/cloudsql-docker/gce-proxy:1.11\n        volumeMounts: [{{name: run, mountPath: /cloudsql}}]\n      volumes:\n      - name: run\n        emptyDir: {{}}\n"
        )
    };
    let path = "/srv/shop.yaml";
    let name = "the Pod of the Deployment `shop`";
    let neighbour = "`cloud-sql` (image gcr.io/cloudsql-docker/gce-proxy:1.11)";
    let own = check(path, &pod(""), &format!("{name}: own {neighbour}"));
    let others = vec!["cloud-sql".to_owned()];
    assert_eq!(own.at("/run/postgresql/s"), Brought::Volume { name: "run".to_owned(), others });
    check(path, &pod("      hostNetwork: true\n"), &format!("{name}: machine"));
    let folder = pod("").replace("emptyDir: {}", "hostPath: {path: /run/postgresql}");
    let own = check(path, &folder, &format!("{name}: own {neighbour}"));
    assert_eq!(own.at("/run/postgresql/s"), Brought::FromMachine(PathBuf::from("/run/postgresql/s")));
}

#[test]
fn units_of_podman_and_those_with_a_private_network_have_their_own() {
    let unit = |more: &str| {
        format!(
            "[Unit]\nDescription=x\n[Container]\nImage=shop\n{more}Environment=DATABASE_URL=postgres://u:p@127.0.0.1/d\n"
        )
    };
    let path = "/etc/containers/systemd/shop.container";
    check(path, &unit(""), "the container `shop`: own");
    check(path, &unit("Network=host\n"), "the container `shop`: machine");
    check(path, &unit("Network=web.network\n"), "the container `shop`: own");
    check(path, &unit("PodmanArgs=--network=host\n"), "the container `shop`: machine");
    check(path, &unit("Network=db.container\n"), "the container `shop`: the container `db`");
    check(path, &unit("Pod=web.pod\n"), "the container `shop`: the Pod `web`");
    let own = check(path, &unit("Volume=/run/postgresql:/pg:Z\n"), "the container `shop`: own");
    assert_eq!(own.at("/pg/s"), Brought::FromMachine(PathBuf::from("/run/postgresql/s")));
    let service = "[Service]\nPrivateNetwork=yes\nEnvironment=DATABASE_URL=postgres://u:p@127.0.0.1/d\n";
    let own = check("/etc/systemd/system/shop.service", service, "the unit `shop`: own");
    assert_eq!(own.at("/run/s"), Brought::FromMachine(PathBuf::from("/run/s")));
    assert!(inside("/etc/systemd/system/shop.service", &service.replace("yes", "no")).is_empty());
}

#[test]
fn a_bundle_has_the_networks_and_mounts_that_it_lists() {
    let bundle = |namespaces: &str| {
        format!(
            "{{\n\t\"ociVersion\": \"1.0.2\",\n\t\"process\": {{\"env\": [\"PATH=/bin\", \"DATABASE_URL=postgres://u:p@127.0.0.1/d\"]}},\n\t\"mounts\": [{{\"destination\": \"/pg\", \"type\": \"bind\", \"source\": \"/run/postgresql\"}}],\n\t\"linux\": {{\"namespaces\": [{{\"type\": \"mount\"}}{namespaces}]}}\n}}\n"
        )
    };
    let path = "/srv/bundle/config.json";
    let name = "the container of this bundle";
    check(path, &bundle(""), &format!("{name}: machine"));
    let own = check(path, &bundle(", {\"type\": \"network\"}"), &format!("{name}: own"));
    assert_eq!(own.at("/pg/s"), Brought::FromMachine(PathBuf::from("/run/postgresql/s")));
    let other = bundle(", {\"type\": \"network\", \"path\": \"/run/netns/a\"}");
    check(path, &other, &format!("{name}: the network namespace /run/netns/a"));
}

#[test]
fn jobs_and_charts_speak_of_other_machines() {
    let job = "on: push\njobs:\n  test:\n    env:\n      DATABASE_URL: postgres://u:p@127.0.0.1/d\n";
    let whose = "the machine on which the job and the job's service containers run";
    check("/srv/own/.github/workflows/ci.yml", job, &format!("this job: {whose}"));
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata:\n  DATABASE_URL: postgres://u:p@127.0.0.1/d\n";
    let why = "`hostNetwork` is only in the Pod's own manifest";
    check("/srv/map.yaml", map, &format!("the ConfigMap `shop`: ? {why}"));
    assert!(inside("/srv/own.yaml", &map.replace("kind", "x")).is_empty());
}

#[test]
fn a_loopback_is_known_in_all_its_spellings() {
    for host in ["localhost", "127.0.0.1", "127.0.1.1", "::1", "[::1]", "0.0.0.0", "::ffff:127.0.0.1"] {
        assert!(is_loopback(host), "{host}");
    }
    for host in ["10.0.0.5", "db", "local", "[fe80::1]", "host.docker.internal"] {
        assert!(!is_loopback(host), "{host}");
    }
}

#[test]
fn a_file_that_a_service_takes_is_that_services() {
    let text = "services:\n  app:\n    image: shop\n    env_file: .env\n    volumes: ['./src:/var/www', 'data:/data']\n  db:\n    image: mysql:8\n    env_file: [{path: ./db.env}]\n  metrics:\n    image: m\n    network_mode: host\n    env_file:\n      - metrics.env\n";
    let compose = Path::new("/srv/shop/docker-compose.yml");
    let handed = |path: &str| handed_to(Path::new(path), compose, text).map(|it| (it.name, it.loopback));
    let by = "(which uses this file, according to docker-compose.yml)";
    let own = Loopback::Own(Vec::new());
    assert_eq!(handed("/srv/shop/.env"), Some((format!("the service `app` {by}"), own.clone())));
    assert_eq!(handed("/srv/shop/src/config/database.php"), Some((format!("the service `app` {by}"), own.clone())));
    assert_eq!(handed("/srv/shop/db.env"), Some((format!("the service `db` {by}"), own)));
    assert_eq!(handed("/srv/shop/metrics.env"), Some((format!("the service `metrics` {by}"), Loopback::Machine)));
    for path in ["/srv/shop/src2/a.php", "/srv/shop/other.env", "/srv/.env"] {
        assert_eq!(handed(path), None, "{path}");
    }
}
