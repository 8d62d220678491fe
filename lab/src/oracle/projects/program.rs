//! The programs that serve as applications: their paths, whether they can run on this machine, and how they are
//! started.
//!
//! The drivers are those that `clients/setup.sh` installs, or those of the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::draw::{Form, Program};
use crate::workspace::root;

/// Programs that are written into the scratch folder, where every user can read them.
const SOURCES: [(&str, &str); 5] = [
    ("project.php", include_str!("programs/project.php")),
    ("project.py", include_str!("programs/project.py")),
    ("project.rb", include_str!("programs/project.rb")),
    ("project.js", include_str!("programs/project.js")),
    ("project.sh", include_str!("programs/project.sh")),
];

/// The programs in the scratch folder, with the drivers that they load.
#[derive(Debug)]
pub(super) struct Programs {
    folder: PathBuf,
    /// Path of Python packages in addition to the system's own.
    python_path: String,
    node_modules: PathBuf,
    go: PathBuf,
}

impl Programs {
    pub(super) fn lay_down(folder: PathBuf) -> Result<Self> {
        for (name, text) in SOURCES {
            fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        let clients = root()?.join("target/clients");
        let go = folder.join("project");
        let built = clients.join("bin/project");
        if built.is_file() {
            fs::copy(built, &go).context("cannot copy the program in Go")?;
        }
        Ok(Self { python_path: python_path(&clients), node_modules: clients.join("node/node_modules"), go, folder })
    }

    /// Returns why a form cannot run on this machine; `None` if it can.
    pub(super) fn missing(&self, form: &Form) -> Option<String> {
        let needs = form.needs;
        let is_there = match form.program {
            Program::Php => {
                runs(Command::new("php").args(["-r", &format!("exit(extension_loaded('{needs}') ? 0 : 1);")]))
            }
            Program::Python => runs(
                Command::new("/usr/bin/python3")
                    .args(["-c", &format!("import {needs}")])
                    .env("PYTHONPATH", &self.python_path),
            ),
            Program::Ruby => runs(Command::new("ruby").args(["-e", &format!("require '{needs}'")])),
            Program::Node => self.node_modules.join(needs).is_dir(),
            Program::Go => self.go.is_file(),
            Program::Shell => runs(Command::new(needs).arg("--version")),
        };
        let what = if needs.is_empty() { "the program in Go" } else { needs };
        (!is_there).then(|| format!("{what} is missing: clients/setup.sh installs it"))
    }

    /// Returns the arguments that start a form's program.
    pub(super) fn words(&self, form: &Form) -> Vec<String> {
        let of = |name: &str| self.folder.join(name).display().to_string();
        let mut words = match form.program {
            Program::Php => vec!["/usr/bin/php".to_owned(), of("project.php")],
            Program::Python => vec!["/usr/bin/python3".to_owned(), of("project.py")],
            Program::Ruby => vec!["/usr/bin/ruby".to_owned(), of("project.rb")],
            Program::Node => vec!["/usr/bin/node".to_owned(), of("project.js")],
            Program::Go => vec![self.go.display().to_string()],
            Program::Shell => vec!["/bin/sh".to_owned(), of("project.sh")],
        };
        words.extend((!form.word.is_empty()).then(|| form.word.to_owned()));
        words
    }

    /// Returns the program's environment, except for the project's variables.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("HOME", "/nonexistent".to_owned()),
            ("PYTHONPATH", self.python_path.clone()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("PROJECT_MODULES", self.node_modules.display().to_string()),
        ]
    }
}

/// Returns the path of the packages that `clients/setup.sh` installs, for use with the system's own Python, which every
/// user can run.
fn python_path(clients: &Path) -> String {
    let lib = clients.join("python/lib");
    let versions = fs::read_dir(lib).into_iter().flatten().flatten();
    let mut packages = versions.map(|it| it.path().join("site-packages")).filter(|it| it.is_dir());
    packages.next().map_or_else(String::new, |it| it.display().to_string())
}

fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}
