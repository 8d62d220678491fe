//! Facts about memcached and the document stores.
//!
//! This file contains only data.

use super::facts::{Facts, Form, Private, Spelling, TLS, TLS_UNIX, Usual};
use super::variants::{Kind, Protocol};
use crate::dsn::Arm;

/// The first version of memcached that gives its threads names; looptax cannot pin threads without names.
const MEMCACHED_LEAST: [u32; 3] = [1, 6, 18];

pub(super) const MEMCACHED: Facts = Facts {
    name: "memcached",
    title: "memcached",
    protocol: Some(Protocol::Memcached),
    programs: &["memcached"],
    pools: None,
    logins: None,
    usual: Usual { ports: &[11_211], names: &["memcached"], words: "memcached" },
    spellings: &[Spelling::new(Kind::Memcached, "", Form::After("memcached "))],
    usual_backlog: Some(1024),
    how_to_raise_the_backlog: "set `-b`",
    how_to_add_a_socket: "start memcached with `-s PATH`, which turns TCP off: other hosts then need a second \
        memcached",
    private: Some(Private {
        programs: &["memcached"],
        prints: |text| {
            let version = text.strip_prefix("memcached ");
            version.is_some_and(|version| numbers(version) >= MEMCACHED_LEAST)
        },
        package: Some("memcached"),
        accounts: &["memcache", "memcached", "nobody"],
        is_usual: true,
        lacks: &[
            (Arm::Abstract, "memcached has no abstract socket"),
            TLS_UNIX,
            (Arm::Proxy, ONLY_PROXY),
            (Arm::Pasta, ONLY_PROXY),
            TLS,
        ],
    }),
};

const ONLY_PROXY: &str = "memcached identifies its clients only by address, and sees only the proxy's address: looptax \
    could prove nothing";

pub(super) const MONGODB: Facts = Facts { name: "mongodb", title: "MongoDB", programs: &["mongod"], ..DOCUMENTS };

const ONE_ADDRESS: &str = "FerretDB listens on one address and one path";

pub(super) const FERRETDB: Facts = Facts {
    name: "ferretdb",
    title: "FerretDB",
    programs: &["ferretdb"],
    // Go writes the versions of all modules of a program into the program's file.
    spellings: &[
        Spelling::new(Kind::Ferretdb, "", Form::After("\tgithub.com/FerretDB/FerretDB\tv")),
        Spelling::new(Kind::Ferretdb, "", Form::After("\tgithub.com/FerretDB/FerretDB/v2\tv")),
    ],
    usual_backlog: None,
    how_to_raise_the_backlog: "raise `net.core.somaxconn`, which FerretDB uses, and restart FerretDB",
    how_to_add_a_socket: "set `Environment=FERRETDB_LISTEN_UNIX=PATH` in [Service] of FerretDB's unit (or start \
        FerretDB with `--listen-unix PATH`) and restart FerretDB; TCP stays",
    private: Some(Private {
        programs: &["ferretdb"],
        // FerretDB 2 needs a PostgreSQL with an extension as its storage, so only version 1 can be private.
        prints: |text| text.starts_with("version: v1.") && text.contains("debugBuild:"),
        package: None,
        accounts: &["ferretdb", "mongodb", "nobody"],
        is_usual: false,
        lacks: &[
            (Arm::Abstract, ONE_ADDRESS),
            (Arm::Tcp6, ONE_ADDRESS),
            (Arm::Bridge, ONE_ADDRESS),
            (Arm::Nat, ONE_ADDRESS),
            (Arm::Proxy, ONE_ADDRESS),
            (Arm::Pasta, ONE_ADDRESS),
            TLS_UNIX,
            TLS,
        ],
    }),
    ..DOCUMENTS
};

const DOCUMENTS: Facts = Facts {
    name: "",
    title: "",
    protocol: Some(Protocol::Mongodb),
    programs: &[],
    pools: None,
    logins: None,
    usual: Usual { ports: &[27_017], names: &["mongodb-", "ferretdb"], words: "mongodb or ferretdb" },
    spellings: &[],
    usual_backlog: None,
    how_to_raise_the_backlog: "raise its backlog",
    how_to_add_a_socket: "set `net.unixDomainSocket.enabled` (and `filePermissions`) and restart",
    private: None,
};

/// Returns the first three numbers of a version such as `1.6.18-beta`; a missing number is 0.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.trim().split(|part: char| !part.is_ascii_digit());
    [(); 3].map(|()| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}
