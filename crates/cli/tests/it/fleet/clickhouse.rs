//! A separate ClickHouse for a test, in its scratch folder, on free ports.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_fleet::{Access, Collector, Destination};
use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;

use crate::fixture::Alive;

/// The password of the account `default`.
const PASSWORD: &str = "qZ7-clickhouse";
/// The path of the server on Debian; only root has this folder on PATH.
const USUAL: &str = "/usr/sbin/clickhouse-server";

pub(super) struct ClickHouse {
    // Fields are dropped in this order, which is the order in which they have to end.
    _process: Alive,
    pub(super) address: SocketAddr,
    _scratch: Scratch,
}

/// The files of a certificate and its key; with them ClickHouse accepts only HTTPS.
pub(super) struct Certificate {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl ClickHouse {
    /// Starts a ClickHouse; `None` if it is not installed.
    pub(super) fn start(certificate: Option<&Certificate>) -> Option<Self> {
        Self::start_at(free_address(), certificate)
    }

    /// Starts a ClickHouse at an address that a test has reserved before.
    pub(super) fn start_at(address: SocketAddr, certificate: Option<&Certificate>) -> Option<Self> {
        if !Path::new(USUAL).is_file() {
            skip("clickhouse-server is not installed");
            return None;
        }
        let scratch = Scratch::new();
        fs::write(scratch.file("users.xml"), users()).unwrap();
        let config = scratch.file("config.xml");
        fs::write(&config, settings(&scratch, address, certificate)).unwrap();
        let log = fs::File::create(scratch.file("log")).unwrap();
        let process = Alive::spawn(
            Command::new(USUAL)
                .arg(format!("--config-file={}", config.display()))
                .current_dir(scratch.work())
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log),
        );
        let started = Self { _process: process, address, _scratch: scratch };
        if certificate.is_none() {
            started.wait();
        }
        Some(started)
    }

    fn wait(&self) {
        let destination = Destination::parse(&self.url()).unwrap();
        patience::wait_for("a ClickHouse", Duration::from_secs(60), || {
            Collector::open(&destination, &Access::default()).ok()
        });
    }

    pub(super) fn url(&self) -> String {
        url_at(self.address)
    }
}

/// Returns the URL of a ClickHouse that listens at this address, or will do so later.
pub(super) fn url_at(address: SocketAddr) -> String {
    format!("clickhouse://default:{PASSWORD}@{address}/looptax")
}

fn users() -> String {
    format!(
        "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password>{PASSWORD}</password><networks><ip>127.0.0.0/8</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"
    )
}

fn settings(scratch: &Scratch, address: SocketAddr, certificate: Option<&Certificate>) -> String {
    let folder = |name: &str| {
        let path = scratch.file(name);
        fs::create_dir_all(&path).unwrap();
        format!("{}/", path.display())
    };
    let port = address.port();
    let listening = match certificate {
        None => format!("<http_port>{port}</http_port>"),
        Some(it) => format!(
            "<https_port>{port}</https_port><openSSL><server><certificateFile>{}</certificateFile><privateKeyFile>{}</privateKeyFile><verificationMode>none</verificationMode><cacheSessions>false</cacheSessions></server></openSSL>",
            it.certificate.display(),
            it.key.display()
        ),
    };
    format!(
        "<yandex><logger><level>warning</level><console>1</console></logger>{listening}<listen_host>127.0.0.1</listen_host><listen_host>127.0.0.2</listen_host><path>{}</path><tmp_path>{}</tmp_path><user_files_path>{}</user_files_path><format_schema_path>{}</format_schema_path><users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone></yandex>",
        folder("data"),
        folder("tmp"),
        folder("files"),
        folder("schemas"),
    )
}
