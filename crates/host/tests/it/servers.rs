//! Tests with real web servers that run as root: each lists and tests its own files under supervision.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use looptax_host::program::ProgramError;
use looptax_testkit::patience::wait_for;
use looptax_testkit::skips::skip;

use crate::program::{Alive, MALLORY, asked, is_root, waiting};

/// A running server. Its configuration is read by running its program with other arguments.
struct Running {
    folder: tempfile::TempDir,
    process: Alive,
}

impl Running {
    /// Starts a server; `None` if it is not installed, or the test does not run as root.
    fn new(program: &str, files: &[(&str, &str)], words: &[&str]) -> Option<Self> {
        if !is_root() {
            return None;
        }
        if !Path::new(program).exists() {
            skip(&format!("application: {program} is not installed"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        // Servers run as their own users, who have to be able to enter the folder.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let filled = |text: &str| text.replace("FOLDER", &folder.path().display().to_string());
        for (name, text) in files {
            let path = folder.path().join(name);
            let file = fs::File::create(path);
            file.and_then(|mut it| std::io::Write::write_all(&mut it, filled(text).as_bytes())).unwrap();
        }
        let words: Vec<String> = words.iter().map(|it| filled(it)).collect();
        let process = waiting(Path::new(program), |it| {
            it.args(&words).stderr(std::process::Stdio::null());
        });
        Some(Self { folder, process })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    #[track_caller]
    fn said(&self, words: &[&str]) -> String {
        let folder = self.folder.path().display().to_string();
        let words: Vec<String> = words.iter().map(|it| it.replace("FOLDER", &folder)).collect();
        let words: Vec<&str> = words.iter().map(|it| &**it).collect();
        let answer = asked(&self.process, &words).unwrap();
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.output + &answer.errors
    }

    /// Checks that the output is not used if the configuration includes a file of another user.
    #[track_caller]
    fn refuses(&self, file: &str, words: &[&str]) {
        let folder = self.folder.path().display().to_string();
        let words: Vec<String> = words.iter().map(|it| it.replace("FOLDER", &folder)).collect();
        let words: Vec<&str> = words.iter().map(|it| &**it).collect();
        chown(self.path(file), Some(MALLORY), None).unwrap();
        match asked(&self.process, &words) {
            Err(ProgramError::Foreign { why, .. }) => assert_eq!(why.path, self.path(file)),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the names in the server's folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

const NGINX: &str = "daemon off;
pid FOLDER/pid;
error_log FOLDER/error.log;
events {}
http {
  access_log FOLDER/access.log;
  include FOLDER/more.conf;
  upstream named { server localhost:1; }
}
";

#[test]
fn nginx_lists_and_tests_its_files() {
    let files = [("nginx.conf", NGINX), ("more.conf", "server { listen unix:FOLDER/socket; }\n")];
    let words = ["-c", "FOLDER/nginx.conf", "-e", "FOLDER/error.log"];
    let Some(nginx) = Running::new("/usr/sbin/nginx", &files, &words) else {
        return;
    };
    // When this file exists, nginx has also made the folders below /var/lib/nginx, which a test of its files needs.
    let has_begun = || nginx.path("pid").exists().then_some(());
    wait_for("nginx", Duration::from_secs(10), has_begun);
    let dump = nginx.said(&[&["-T", "-q"][..], &words].concat());
    assert!(dump.contains("more.conf:\nserver { listen unix:"), "{dump}");
    nginx.said(&[&["-t"][..], &words].concat());
    for name in nginx.names() {
        assert!(["access.log", "error.log", "more.conf", "nginx.conf", "pid", "socket"].contains(&&*name), "{name}");
    }
    nginx.refuses("more.conf", &[&["-T", "-q"][..], &words].concat());
}

#[test]
fn nginx_loads_no_module_of_another_user() {
    let module = "load_module FOLDER/evil.so;\n";
    let conf = format!("{module}{NGINX}");
    let files = [("nginx.conf", &*conf), ("evil.so", "x"), ("more.conf", ""), ("plain.conf", NGINX)];
    let plain = ["-c", "FOLDER/plain.conf", "-e", "FOLDER/error.log"];
    let Some(nginx) = Running::new("/usr/sbin/nginx", &files, &plain) else {
        return;
    };
    nginx.refuses("evil.so", &["-t", "-c", "FOLDER/nginx.conf", "-e", "FOLDER/error.log"]);
}

const APACHE: &str = "ServerName localhost
ServerRoot /etc/apache2
PidFile FOLDER/pid
ErrorLog FOLDER/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
Listen ADDRESS
Include FOLDER/more.conf
";

#[test]
fn apache_lists_and_tests_its_files() {
    let conf = APACHE.replace("ADDRESS", &looptax_testkit::ports::free_address().to_string());
    let files = [("apache.conf", &*conf), ("more.conf", "LogLevel warn\n")];
    let words = ["-f", "FOLDER/apache.conf"];
    let running = [&words[..], &["-X"]].concat();
    let Some(apache) = Running::new("/usr/sbin/apache2", &files, &running) else {
        return;
    };
    let list = [&words[..], &["-t", "-D", "DUMP_INCLUDES"]].concat();
    let dump = apache.said(&list);
    assert!(dump.contains("more.conf"), "{dump}");
    apache.said(&[&words[..], &["-t"]].concat());
    apache.refuses("more.conf", &list);
}

#[test]
fn php_fpm_tests_its_files() {
    let pool = "[www]\nuser = nobody\nlisten = FOLDER/socket\npm = static\npm.max_children = 1\n";
    let conf = "[global]\ndaemonize = no\npid = FOLDER/pid\nerror_log = FOLDER/error.log\ninclude = FOLDER/pool.conf\n";
    let files = [("php-fpm.conf", conf), ("pool.conf", pool)];
    let words = ["-y", "FOLDER/php-fpm.conf", "-F"];
    let Some(php) = Running::new("/usr/sbin/php-fpm8.2", &files, &words) else {
        return;
    };
    let test = ["-t", "-R", "-y", "FOLDER/php-fpm.conf"];
    let said = php.said(&test);
    assert!(said.contains("test is successful"), "{said}");
    php.refuses("pool.conf", &test);
}

#[test]
fn haproxy_tests_its_files() {
    let conf = "global\n  maxconn 100\ndefaults\n  mode http\n  timeout client 1s\n  timeout server 1s\n  timeout connect 1s\nfrontend f\n  bind ADDRESS\n  default_backend b\nbackend b\n  server s localhost:1\n";
    let address = looptax_testkit::ports::free_address().to_string();
    let conf = conf.replace("ADDRESS", &address);
    let files = [("haproxy.cfg", &*conf)];
    let words = ["-W", "-f", "FOLDER/haproxy.cfg"];
    let Some(haproxy) = Running::new("/usr/sbin/haproxy", &files, &words) else {
        return;
    };
    let test = ["-c", "-f", "FOLDER/haproxy.cfg"];
    let said = haproxy.said(&test);
    assert!(said.contains("valid"), "{said}");
    haproxy.refuses("haproxy.cfg", &test);
}
