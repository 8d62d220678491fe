//! An invented machine for the set-up scripts: a folder as its root, and small scripts as its programs.
//!
//! The fake apt-get reads its plans from files, writes down its arguments, and "installs" by creating the program. Used
//! only by the tests in this folder.

use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The programs that the scripts need, besides those that they look for.
const TOOLS: [&str; 26] = [
    "bash", "cat", "chmod", "cp", "dirname", "du", "env", "find", "flock", "grep", "head", "ln", "ls", "mkdir",
    "mktemp", "mv", "printf", "readlink", "rm", "rmdir", "sed", "sh", "sort", "stat", "tail", "tr",
];
const WANTED: [&str; 18] = [
    "mariadbd",
    "my_print_defaults",
    "mariadb-dump",
    "postgres",
    "redis-server",
    "redis-benchmark",
    "memcached",
    "haproxy",
    "pgbouncer",
    "pgpool",
    "sysbench",
    "cc",
    "ip",
    "nft",
    "pasta",
    "setfacl",
    "tshark",
    "perl",
];

/// For a simulation, prints the plan of the last package. Otherwise notes what keeps services from starting now, and
/// creates the program that the package contains.
const APT_GET: &str = r#"
log=$LOOPTAX_SETUP_ROOT/asked
echo "apt-get $*" >>"$log"
[ "$1" = install ] || exit 0
for last; do :; done
case " $* " in
  *' --simulate '*)
    plan=$LOOPTAX_SETUP_ROOT/plans/$last
    [ -e "$plan" ] || { echo "E: Unable to locate package $last"; exit 100; }
    cat "$plan"
    exit 0 ;;
esac
policy=$LOOPTAX_SETUP_ROOT/usr/sbin/policy-rc.d
status=0; sh "$policy" || status=$?
echo "policy exit $status" >>"$log"
cat "$LOOPTAX_SETUP_ROOT"/etc/postgresql-common/createcluster.d/* >>"$log" 2>/dev/null
[ ! -e "$LOOPTAX_SETUP_ROOT/fail" ] || exit 100
program=$last; [ "$last" != postgresql ] || program=postgres
case $last in
  wordpress) file=usr/share/wordpress/wp-settings.php ;;
  wordpress-theme-*) file=usr/share/wordpress/wp-content/themes/${last#wordpress-theme-}/style.css ;;
  *) file= ;;
esac
[ -z "$file" ] || { mkdir -p "$LOOPTAX_SETUP_ROOT/${file%/*}"; : >"$LOOPTAX_SETUP_ROOT/$file"; exit 0; }
printf '#!/bin/sh\n' >"$LOOPTAX_SETUP_ROOT/bin/$program"
chmod 755 "$LOOPTAX_SETUP_ROOT/bin/$program"
"#;

/// Makes a virtual environment whose `pip` notes its arguments.
const PYTHON: &str = r#"
[ "$1 $2" = "-m venv" ] || exit 2
mkdir -p "$3/bin"
printf '#!/bin/sh\necho "pip $*" >>"$LOOPTAX_SETUP_ROOT/asked"\n' >"$3/bin/pip"
chmod 755 "$3/bin/pip"
"#;

pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stderr: String,
}

impl fmt::Display for Ran {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "exit status {}\n{}", self.status, self.stderr)
    }
}

/// The invented machine; its folder is removed when this value is dropped.
pub(crate) struct Machine {
    root: TempDir,
}

impl Machine {
    /// Makes a Debian on which everything is installed, and whose user is root.
    pub(crate) fn complete() -> Self {
        let machine = Self { root: tempfile::tempdir().expect("a scratch folder") };
        for folder in ["bin", "plans", "etc", "usr/sbin"] {
            fs::create_dir_all(machine.path(folder)).expect("a folder");
        }
        for tool in TOOLS {
            symlink(find_tool(tool), machine.path("bin").join(tool)).expect("a link");
        }
        for program in WANTED {
            machine.add_program(program, "");
        }
        machine.add_program("id", "echo 0");
        machine.add_program("cargo", "");
        machine.add_program("rustc", "echo 'rustc 9.99.0 (abc 2030-01-01)'");
        machine.add_program("python3", PYTHON);
        machine.add_program("apt-get", APT_GET);
        machine.add_program("apt-cache", "echo '  Candidate: 1.0'");
        machine.add_program("systemctl", "echo \"systemctl $*\" >>\"$LOOPTAX_SETUP_ROOT/asked\"");
        machine
    }

    /// Runs scripts/setup.sh, which sees only this machine.
    pub(crate) fn setup(&self, purpose: &str) -> Ran {
        self.run("setup.sh", &[purpose])
    }

    /// Runs a script of the set-up, which sees only this machine; servers would be installed in `servers`.
    pub(crate) fn run(&self, script: &str, args: &[&str]) -> Ran {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
        let output = Command::new("bash")
            .arg(scripts.join(script))
            .args(args)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("LOOPTAX_SETUP_ROOT", self.root.path())
            .env("LOOPTAX_SERVERS", self.path("servers"))
            .env("LOOPTAX_TYPOS", self.path("typos"))
            .output()
            .expect("bash starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.stdout, b"", "stdout is for data\n{stderr}");
        Ran { status: output.status.code().unwrap_or(-1), stderr }
    }

    pub(crate) fn add_program(&self, name: &str, body: &str) {
        self.add_file(&format!("bin/{name}"), &format!("#!/bin/sh\n{body}\n"));
    }

    pub(crate) fn remove_program(&self, name: &str) {
        fs::remove_file(self.path("bin").join(name)).expect("the program was there");
    }

    pub(crate) fn has_program(&self, name: &str) -> bool {
        self.path("bin").join(name).exists()
    }

    pub(crate) fn add_file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        // An existing file may be a link to a program of the real machine, and this program must stay unchanged.
        let _was_there = fs::remove_file(&path);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Sets apt's answer to a simulation of this package; `PACKAGE` is replaced by the name of the package.
    pub(crate) fn plan(&self, package: &str, plan: &str) {
        self.add_file(&format!("plans/{package}"), &plan.replace("PACKAGE", package));
    }

    pub(crate) fn let_installing_fail(&self) {
        self.add_file("fail", "");
    }

    /// Returns all arguments of apt-get and systemctl, and what apt-get has noted while it installed.
    pub(crate) fn asked(&self) -> String {
        fs::read_to_string(self.path("asked")).unwrap_or_default()
    }

    /// Asserts that the set-up has left no file in the system's folders.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        assert!(!self.has_file("usr/sbin/policy-rc.d"), "the service policy is left");
        assert!(!self.has_file("etc/postgresql-common"), "the cluster settings are left");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }
}

fn find_tool(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("PATH is set");
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.exists())
        .unwrap_or_else(|| panic!("`{name}` is on no folder of PATH"))
}
