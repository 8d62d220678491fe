//! Tests how capabilities are given up, and the process that enters namespaces for a program without capabilities.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::chown;
use std::process::{Child, Command, Stdio};
use std::thread;

use looptax_host::{entrance, kernel, rights};
use looptax_testkit::skips::skip;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, LinkNameSpaceType, move_into_link_name_space};

const NOBODY: u32 = 65534;

/// Runs a test as root, in a separate thread, because capabilities belong to threads.
#[track_caller]
fn as_root(test: impl FnOnce() + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root");
    }
    thread::spawn(test).join().unwrap();
}

/// Reads one set of capabilities from the status of a process or thread.
fn set_of(status: &str, set: &str) -> CapabilitySet {
    let line = status.lines().find_map(|it| it.strip_prefix(set)).unwrap();
    CapabilitySet::from_bits_retain(u64::from_str_radix(line.trim(), 16).unwrap())
}

#[test]
fn a_lowered_root_writes_in_no_folder_of_another_user() {
    as_root(|| {
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(NOBODY), None).unwrap();
        let lowered = rights::lowered_to(rights::LOOKING);
        let refused = File::create(folder.path().join("file")).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        drop(lowered);
        File::create(folder.path().join("file")).unwrap();
    });
}

#[test]
fn what_is_given_up_does_not_come_back_with_a_program_that_root_executes() {
    as_root(|| {
        rights::keep_only(rights::LOOKING).unwrap();
        let own = fs::read_to_string("/proc/thread-self/status").unwrap();
        let program = Command::new("cat").arg("/proc/self/status").output().unwrap();
        let program = String::from_utf8(program.stdout).unwrap();
        for status in [&own, &program] {
            for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
                let extra = set_of(status, set) - rights::LOOKING;
                assert!(extra.is_empty(), "{set} {extra:?}");
            }
        }
    });
}

/// A process in another network namespace; it is ended when this value is dropped.
struct Elsewhere(Child);

impl Elsewhere {
    fn new() -> Self {
        let mut unshare = Command::new("unshare");
        let unshare = unshare.args(["--net", "cat"]).stdin(Stdio::piped());
        let child = Self(unshare.spawn().unwrap());
        let ours = kernel::link("/proc/self/ns/net").unwrap();
        let theirs = format!("/proc/{}/ns/net", child.0.id());
        while kernel::link(&theirs).unwrap() == ours {
            thread::yield_now();
        }
        child
    }

    fn namespace(&self) -> File {
        kernel::open(format!("/proc/{}/ns/net", self.0.id())).unwrap()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Returns the pid of the process that enters namespaces for this test.
fn entering() -> u32 {
    let children = kernel::names("/proc").unwrap().filter_map(|it| it.to_str()?.parse().ok());
    let is_it = |pid: &u32| {
        let status = kernel::text(format!("/proc/{pid}/status")).unwrap_or_default();
        let parent = format!("PPid:\t{}\n", std::process::id());
        status.starts_with("Name:\tlooptax-netns\n") && status.contains(&parent)
    };
    { children }.find(is_it).unwrap()
}

#[test]
fn a_namespace_is_entered_by_a_process_that_can_do_nothing_else() {
    as_root(|| {
        let elsewhere = Elsewhere::new();
        entrance::start().unwrap();
        rights::keep_only(rights::LOOKING).unwrap();
        let namespace = elsewhere.namespace();
        let kind = Some(LinkNameSpaceType::Network);
        let refused = move_into_link_name_space(namespace.as_fd(), kind);
        assert_eq!(refused, Err(Errno::PERM));
        entrance::socket_lister(namespace.as_fd()).unwrap();
        // The second request must not use the namespace of the first request.
        let file = File::open("/dev/null").unwrap();
        let refused = entrance::socket_lister(file.as_fd()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(Errno::INVAL.raw_os_error()));

        let pid = entering();
        let network = |whose: &str| kernel::link(format!("/proc/{whose}/ns/net")).unwrap();
        assert_eq!(network(&pid.to_string()), network("self"), "it comes back");
        let status = kernel::text(format!("/proc/{pid}/status")).unwrap();
        for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
            assert_eq!(set_of(&status, set), CapabilitySet::SYS_ADMIN, "{set}");
        }
        assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
        let files: Vec<_> = kernel::names(format!("/proc/{pid}/fd")).unwrap().collect();
        assert_eq!(files, ["0"]);
    });
}
