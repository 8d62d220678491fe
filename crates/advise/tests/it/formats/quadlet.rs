//! Two `.container` units of Podman: the unit of an application, and the unit of its server.

use looptax_advise::app::{Share, Source, Unit, read_services, rewritten, shares_of_units};

/// The two units after the edit, and the unit of the volume.
#[derive(Debug)]
struct Edited {
    own: String,
    server: String,
    volume: Option<(String, &'static str)>,
}

fn edited(own: &str, server: &str, beside: &[&str]) -> Result<Edited, String> {
    let source = Source {
        path: Some("/etc/containers/systemd/shop.container"),
        bytes: own.as_bytes(),
        included: &[],
        neighbours: &[],
        program: None,
        environment: None,
    };
    let found = read_services(&source, None).unwrap().found;
    let units = [Unit { name: "shop", text: own }, Unit { name: "cache", text: server }];
    let beside: Vec<String> = beside.iter().map(|it| (*it).to_owned()).collect();
    let shares: Vec<Option<Result<Share, String>>> = shares_of_units(units[0], units[1], &found, &beside);
    let share = shares.into_iter().next().flatten().ok_or("no connection")??;
    let address = found[0].address.as_ref().unwrap();
    let moves = found[0].moves(&share.fields(address, None), own);
    let own_rewrites = moves.into_iter().flatten().next().and_then(|it| share.complete(it)).ok_or("by hand")?.here;
    let there = share.beside.unwrap();
    Ok(Edited {
        own: rewritten(own, &own_rewrites).unwrap(),
        server: rewritten(server, &there.rewrites).unwrap(),
        volume: there.new,
    })
}

const OWN: &str = "[Container]\r\nImage=own # pinned\r\nNetwork=shop.network\r\nEnvironment=APP_KEY=k \"REDIS_HOST=cache\" # c\r\nEnvironment=REDIS_PORT=6379\r\n\r\n[Install]\r\nWantedBy=default.target\r\n";
const SERVER: &str = "# cache\n[Unit]\nDescription=Exec=x\n\n[Container]\nContainerName=cache\nImage=docker.io/library/redis:7\nExec=redis-server \\\n  # why\n  --appendonly no\n[Service]\nExec=y\n";

#[test]
fn both_units_get_the_volume_and_every_other_byte_stays() {
    let both = edited(OWN, SERVER, &["shop.container", "cache.container"]).unwrap();
    let own = OWN
        .replace("pinned\r\n", "pinned\r\nVolume=sockets-cache.volume:/run/redis\r\n")
        .replace("REDIS_HOST=cache", "REDIS_HOST=/run/redis/redis.sock")
        .replace("6379", "0");
    assert_eq!(both.own, own);
    let server = SERVER
        .replace("redis:7\n", "redis:7\nVolume=sockets-cache.volume:/run/redis\n")
        .replace("--appendonly no", "--appendonly no --unixsocket /run/redis/redis.sock --unixsocketperm 777");
    assert_eq!(both.server, server);
    let (name, text) = both.volume.unwrap();
    assert_eq!(name, "sockets-cache.volume");
    assert!(text.contains("Options=uid=0,gid=0,mode=1777\n"), "{text}");
    let without = SERVER.replace("Exec=redis-server \\\n  # why\n  --appendonly no\n", "");
    let with = edited(OWN, &without, &[]).unwrap().server;
    assert!(with.contains("\nExec=redis-server --unixsocket /run/redis/redis.sock --unixsocketperm 777\n"), "{with}");
}

#[test]
fn a_volume_of_the_server_is_taken() {
    let server = SERVER.replace("Exec=redis", "Volume=run.volume:/run/redis:z\nExec=redis");
    let both = edited(OWN, &server, &[]).unwrap();
    assert!(both.own.contains("Volume=run.volume:/run/redis\r\n"), "{}", both.own);
    assert_eq!((both.server.matches("Volume=").count(), both.volume), (1, None));
}

#[test]
fn what_is_not_understood_is_left_to_people_with_the_reason() {
    let pod = |text: &str| text.replace("[Container]", "[Container]\nPod=shop.pod");
    let loopback = OWN.replace("REDIS_HOST=cache", "REDIS_HOST=127.0.0.1");
    assert!(edited(&pod(&loopback), &pod(SERVER), &[]).is_ok());
    let joined = loopback.replace("shop.network", "cache.container");
    assert!(edited(&joined, SERVER, &[]).is_ok());
    let alias = SERVER.replace("ContainerName=cache", "NetworkAlias=cache");
    assert!(edited(OWN, &alias, &[]).is_ok());
    for (own, server, beside, words) in [
        (&*loopback, SERVER, "", "the units do not show"),
        (OWN, &SERVER.replace("ContainerName=cache\n", ""), "", "is not a name of the container of cache.container"),
        (OWN, SERVER, "cache.container.d", "may override the unit"),
        (OWN, SERVER, "sockets-cache.volume", "sockets-cache.volume exists already"),
        (OWN, &SERVER.replace("Exec=redis", "Entrypoint=x\nExec=redis"), "", "`Entrypoint=`"),
        (OWN, &SERVER.replace("Exec=redis-server", "Exec=sh -c redis-server"), "", "another program"),
        (OWN, &SERVER.replace("[Service]", "Exec=redis-server\n[Service]"), "", "not one plain line"),
        (OWN, &SERVER.replace("appendonly no", "requirepass \"a b"), "", "not one plain line"),
        (OWN, &SERVER.replace("Exec=redis", "Volume=x:/run/redis:Z\nExec=redis"), "", "something else at"),
        (OWN, &SERVER.replace("Exec=redis", "Volume=/srv/run:/run/redis\nExec=redis"), "", "something else at"),
        (OWN, &SERVER.replace("Exec=redis", "PodmanArgs=-v x:/run\nExec=redis"), "", "its own configuration"),
        (&OWN.replace("6379", "6380"), SERVER, "", "port 6380"),
        (OWN, &SERVER.replace("redis:7", "own:7").replace("library/own", "own"), "", "does not know"),
    ] {
        let why = edited(own, server, &[beside]).unwrap_err();
        assert!(why.contains(words), "{words}: {why}\n{own}\n{server}");
    }
}
