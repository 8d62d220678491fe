//! Caddy: its Caddyfile with what that imports, the test of it, and the reload by its own endpoint.

use std::fs;
use std::path::{Path, PathBuf};

use looptax_discover::Process;

use super::super::program::{Line, file_of, line};
use super::known::{Files, FrontProgram};
use crate::reload::usual_reload;

/// Its options that say which file it reads.
const OPTIONS: [&str; 2] = ["--config", "--adapter"];

/// Caddy.
#[derive(Debug)]
pub(super) struct Caddy;

impl FrontProgram for Caddy {
    fn name(&self) -> &'static str {
        "caddy"
    }

    fn title(&self) -> &'static str {
        "Caddy"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["caddy_fastcgi", "caddy_proxy"]
    }

    fn files(&self, master: &Process) -> Result<Files, String> {
        let main = config(master);
        let text = fs::read_to_string(&main).map_err(|it| format!("{}: {it}", main.display()))?;
        let mut found = Files::new();
        for path in imports(&text, main.parent().unwrap_or(Path::new("/"))) {
            found.extend(fs::read_to_string(&path).ok().map(|text| (path, text)));
        }
        found.push((main, text));
        Ok(found)
    }

    /// It serves itself.
    fn is_serving(&self, _: &Process) -> bool {
        false
    }

    fn is_ours(&self, _: &Process) -> bool {
        true
    }

    fn test(&self, master: &Process) -> Line {
        told(master, "validate")
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        if let Some(command) = usual_reload(master) {
            return Ok(command.into());
        }
        let main = config(master);
        let text = fs::read_to_string(&main).unwrap_or_default();
        let is_off = text.lines().any(|it| it.trim() == "admin off");
        if is_off {
            return Err(format!(
                "Caddy {} cannot be told to read its file: {} has `admin off`",
                master.pid,
                main.display()
            ));
        }
        Ok(told(master, "reload"))
    }
}

/// It runs as nobody who is trusted, so its program does what it does as that one.
fn told(master: &Process, what: &str) -> Line {
    let mut words = vec![what.to_owned()];
    let arguments = master.arguments();
    for pair in arguments.windows(2) {
        if pair[0] == OPTIONS[1] {
            words.extend_from_slice(pair);
        }
    }
    words.extend([OPTIONS[0].to_owned(), config(master).display().to_string()]);
    Line {
        text: line(&file_of(master), &words),
        like: Some(master.clone()),
    }
}

/// The file that it was started with.
fn config(master: &Process) -> PathBuf {
    let arguments = master.arguments();
    let mut pairs = arguments.windows(2);
    let named = pairs.find(|it| it[0] == OPTIONS[0] || it[0] == "-c");
    let folder = fs::read_link(master.file("cwd")).unwrap_or_default();
    folder.join(named.map_or("Caddyfile", |it| &*it[1]))
}

/// The files that a text imports; a star stands for names of a folder.
fn imports(text: &str, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next().filter(|it| *it == "import").and(words.next()) else {
            continue;
        };
        let path = folder.join(pattern);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some((head, tail)) = name.split_once('*') else {
            found.push(path);
            continue;
        };
        let entries = fs::read_dir(path.parent().unwrap_or(folder));
        let entries = { entries.into_iter().flatten().flatten() }.map(|it| it.path());
        let is_one = |it: &PathBuf| {
            let name = it.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(head) && name.ends_with(tail)
        };
        found.extend(entries.filter(is_one));
    }
    found
}
