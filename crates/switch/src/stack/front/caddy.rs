//! Controls Caddy: its Caddyfile and the files that it imports, the test of these files, and the reload by Caddy's
//! endpoint.

use std::path::{Path, PathBuf};

use looptax_host::discover::Process;
use looptax_host::program::{Variables, trusted_program};
use looptax_host::{kernel, read};
use looptax_model::failure::Failure;

use super::super::program::unread;
use super::known::{Files, FrontProgram};
use crate::line::{Line, Question, file_of};
use crate::reload::reload_of_unit;

/// The options that decide which file Caddy reads, in their long and short forms.
const CONFIG: [&str; 2] = ["--config", "-c"];
const ADAPTER: [&str; 2] = ["--adapter", "-a"];
const MOST_DEPTH: usize = 16;

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

    fn files(&self, master: &Process) -> Result<Files, Failure> {
        let main = config(master);
        let text = read::config(&main).map_err(|it| unread(&main, &it))?;
        let mut found = vec![(main, text)];
        follow(&mut found);
        Ok(found)
    }

    fn is_serving(&self, _: &Process) -> bool {
        false
    }

    fn is_ours(&self, _: &Process) -> bool {
        true
    }

    fn test(&self, master: &Process) -> Line {
        question(master, "validate").into()
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        if master.arguments().iter().any(|it| it == "--resume") {
            return Err(format!(
                "Caddy {} was started with --resume, so Caddy's configuration comes from the last command that Caddy \
                 received, and not from a file",
                master.pid
            ));
        }
        if let Some(command) = reload_of_unit(master) {
            return Ok(Line::from(&*command));
        }
        let main = config(master);
        let text = read::config(&main).unwrap_or_default();
        let is_off = text.lines().any(|it| it.trim() == "admin off");
        if is_off {
            return Err(format!(
                "Caddy {} cannot reload its configuration: the file {} has `admin off`",
                master.pid,
                main.display()
            ));
        }
        let reload = Line::from(question(master, "reload"));
        if master.uid != 0 {
            return Ok(reload);
        }
        // The command has to connect to the running Caddy. looptax's restricted run of root's programs forbids
        // connections, so the command becomes a shell line.
        trusted_program(&file_of(master))
            .map_err(|why| format!("users other than root can change {why}, so looptax does not run Caddy as root"))?;
        Ok(Line::from(reload.text()))
    }
}

/// Returns a command that runs Caddy's program with the file of the running process.
fn question(master: &Process, what: &str) -> Question {
    let mut words = vec![what.to_owned()];
    if let Some(adapter) = option(&master.arguments(), ADAPTER) {
        words.extend([ADAPTER[0].to_owned(), adapter]);
    }
    words.extend([CONFIG[0].to_owned(), config(master).display().to_string()]);
    Question { process: master.clone(), name: None, words, variables: Variables::Own(&["CADDY_"]) }
}

/// Returns the file with which Caddy was started.
fn config(master: &Process) -> PathBuf {
    let named = option(&master.arguments(), CONFIG);
    let folder = kernel::link(master.file("cwd")).unwrap_or_default();
    folder.join(named.unwrap_or_else(|| "Caddyfile".to_owned()))
}

/// Returns the last value of an option, from `--config FILE`, `--config=FILE`, `-c FILE` or `-cFILE`.
fn option(words: &[String], [long, short]: [&str; 2]) -> Option<String> {
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let joined = word.strip_prefix(long).and_then(|it| it.strip_prefix('='));
        let value = match joined {
            Some(value) => Some(value.to_owned()),
            None if word == long || word == short => words.get(at + 1).cloned(),
            None if word.starts_with("--") => None,
            None => { word.strip_prefix(short) }.map(|it| it.trim_start_matches('=').to_owned()),
        };
        found = value.or(found);
    }
    found
}

/// Adds the files that are imported, directly or through another imported file.
fn follow(files: &mut Files) {
    let mut from = 0;
    for _ in 0..MOST_DEPTH {
        let end = files.len();
        let folder = |path: &PathBuf| path.parent().unwrap_or(Path::new("/")).to_owned();
        let of_file = |(path, text): &(PathBuf, String)| imports(text, &folder(path));
        let named = files[from..].iter().flat_map(of_file);
        // Files are compared by their real paths; otherwise a file that imports itself would be read for ever.
        let mut named: Vec<PathBuf> = named.filter_map(|it| read::real_path(&it).ok()).collect();
        let is_known = |it: &PathBuf| {
            let mut known = files.iter();
            known.any(|file| read::real_path(&file.0).is_ok_and(|own| own == *it))
        };
        named.retain(|it| !is_known(it));
        named.sort();
        named.dedup();
        let read = |path: PathBuf| read::config(&path).ok().map(|text| (path, text));
        files.extend(named.into_iter().filter_map(read));
        from = end;
    }
}

/// Returns the files that a text imports; a star matches any part of a name in a folder.
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
        let entries = read::list(path.parent().unwrap_or(folder)).unwrap_or_default();
        let is_one = |it: &PathBuf| {
            let name = it.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(head) && name.ends_with(tail)
        };
        found.extend(entries.into_iter().filter(is_one));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn options_are_read_in_all_their_forms() {
        let check = |words: &str, config: Option<&str>, adapter: Option<&str>| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(option(&words, CONFIG).as_deref(), config, "{words:?}");
            assert_eq!(option(&words, ADAPTER).as_deref(), adapter, "{words:?}");
        };
        check("caddy run --environ --config /a", Some("/a"), None);
        check("caddy run --config=/a --adapter=nginx", Some("/a"), Some("nginx"));
        check("caddy run -c /a -a nginx", Some("/a"), Some("nginx"));
        check("caddy run --watch", None, None);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "files of the test's own")]
    fn what_an_import_imports_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sites")).unwrap();
        fs::write(path("Caddyfile"), "import sites/*\n").unwrap();
        fs::write(path("sites/a"), "import ../snippet\n").unwrap();
        fs::write(path("snippet"), "import sites/*\nimport snippet\n").unwrap();
        let mut files = vec![(path("Caddyfile"), "import sites/*\n".to_owned())];
        follow(&mut files);
        let read: Vec<PathBuf> = files.into_iter().map(|it| it.0).collect();
        let own = |name: &str| fs::canonicalize(path(name)).unwrap();
        assert_eq!(read, [path("Caddyfile"), own("sites/a"), own("snippet")]);
    }
}
