//! Controls PHP-FPM: tests its files, and finds the settings of a pool that give users access to its socket.

use std::path::{Path, PathBuf};

use looptax_advise::app::{Rewrite, Section};
use looptax_host::discover::Process;
use looptax_host::program::Variables;
use looptax_model::dsn::Kind;
use looptax_model::record::Edit;

use super::super::program::{is_trusted, masters, reload};
use super::super::rights::{Access, User, number_of};
use super::known::{BackProgram, Backlog, Closed, NO_SECTION, Own, Wanted};
use crate::diagnose::check::main_file_of_fpm;
use crate::line::{Line, Question};

/// The folder in which PHP-FPM's packages put their sockets.
const USUAL_FOLDER: &str = "/run/php";
/// The mode of a pool's socket if the pool's file does not set a mode.
const USUAL_MODE: u32 = 0o660;
/// The setting for the length of a pool's queue.
const BACKLOG: &str = "listen.backlog";
/// The word that PHP-FPM replaces with the pool's name.
const POOL: &str = "$pool";

#[derive(Debug)]
pub(in crate::stack) struct Fpm;

impl BackProgram for Fpm {
    fn name(&self) -> &'static str {
        "php-fpm"
    }

    fn title(&self) -> &'static str {
        "PHP-FPM"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["php_fpm_pool"]
    }

    fn extension(&self) -> &'static str {
        "conf"
    }

    fn is_it(&self, process: &Process) -> bool {
        // A program of another user could print anything, so looptax does not rely on such a program.
        process.program_name().starts_with("php-fpm") && is_trusted(process)
    }

    fn usual_socket(&self, label: &str) -> Option<PathBuf> {
        Some(Path::new(USUAL_FOLDER).join(format!("{label}.sock")))
    }

    /// Tests the main file, which the master process shows in its title: `php-fpm: master process
    /// (/etc/php/8.2/fpm/php-fpm.conf)`.
    fn test(&self, master: &Process) -> Option<Line> {
        // With `-R`, PHP-FPM allows a pool to run as root. The user who started PHP-FPM has already decided whether a
        // pool may do that.
        let mut words = vec!["-t".to_owned(), "-R".to_owned()];
        let path = main_file_of_fpm(master);
        words.extend(path.iter().flat_map(|it| ["-y".to_owned(), it.clone()]));
        let question = Question { process: master.clone(), name: None, words, variables: Variables::None };
        Some(question.into())
    }

    fn reload(&self, master: &Process) -> Result<String, String> {
        Ok(reload(master, "USR2"))
    }

    fn rights(&self) -> &'static str {
        "listen.owner, listen.group and listen.mode of the pool"
    }

    fn access(&self, own: &Own<'_>) -> Result<Access, String> {
        let section = Section::find(own.text, own.label).ok_or(NO_SECTION)?;
        access(&section, own)
    }

    fn opening(&self, now: Access, user: &User, own: &Own<'_>) -> Result<Vec<Wanted>, Closed> {
        opening(now, user, own.master).ok_or_else(|| Closed {
            what: format!(
                "PHP-FPM does not run as root, so the socket belongs to PHP-FPM's user, and {} cannot use this socket",
                user.name
            ),
            next: "set listen.group to a group that both users are in, and listen.mode = 0660".to_owned(),
        })
    }

    /// Without a number, or with a negative number, the queue has the largest length that the kernel allows.
    fn backlog(&self, own: &Own<'_>) -> Option<Backlog> {
        let section = Section::find(own.text, own.label)?;
        let said = section.value(BACKLOG).and_then(|it| it.parse().ok());
        Some(Backlog { kind: Kind::PhpFpm, key: BACKLOG, of_file: said })
    }

    fn written(&self, own: &Own<'_>, wanted: &[Wanted]) -> Option<(Vec<Rewrite>, Vec<Edit>)> {
        Section::find(own.text, own.label)?.written("listen", wanted)
    }

    fn by_hand(&self, own: &Own<'_>, lines: &str) -> String {
        format!(
            "write {lines} into [{}] of {}, and restart PHP-FPM: a reload leaves the socket as it is",
            own.label,
            own.file.display()
        )
    }
}

/// Returns the commands that test the pools among these files, one for each PHP-FPM whose folder contains such a file.
/// The test is needed because PHP-FPM does not survive a reload of files with errors.
pub fn pool_tests<'a>(files: impl IntoIterator<Item = &'a Path>) -> Vec<Line> {
    let is_pool = |it: &&Path| it.extension().is_some_and(|end| end == Fpm.extension());
    let pools: Vec<&Path> = files.into_iter().filter(is_pool).collect();
    if pools.is_empty() {
        return Vec::new();
    }
    let reads_one = |it: &Process| {
        let main = main_file_of_fpm(it).unwrap_or_default();
        let folder = Path::new(&main).parent().filter(|_| main.starts_with('/'));
        folder.is_some_and(|folder| pools.iter().any(|it| it.starts_with(folder)))
    };
    let masters = masters(|it| Fpm.is_it(it)).into_iter();
    masters.filter(reads_one).filter_map(|it| Fpm.test(&it)).collect()
}

/// Returns the owner, group and mode that the socket will have, or the reason why they are not known.
fn access(section: &Section<'_>, own: &Own<'_>) -> Result<Access, String> {
    let value = |key: &str| Some(section.value(key)?.replace(POOL, own.label));
    for key in ["listen.acl_users", "listen.acl_groups"] {
        if value(key).is_some() {
            return Err(format!("{key} is set, so owner, group and mode are not the only settings that count"));
        }
    }
    let id = |key: &str, path: &str, usual: u32| match value(key) {
        None => Ok(usual),
        Some(name) => {
            number_of(path, &name).ok_or_else(|| format!("{key} = {name} is not a user or group of this machine"))
        }
    };
    let mode = match value("listen.mode") {
        None => USUAL_MODE,
        Some(text) => u32::from_str_radix(&text, 8).map_err(|_| format!("listen.mode = {text} is not a mode"))?,
    };
    Ok(Access {
        uid: id("listen.owner", "/etc/passwd", own.master.uid)?,
        gid: id("listen.group", "/etc/group", own.master.gid)?,
        mode,
    })
}

/// Returns the fewest settings that give the user access; empty if the user already has access, `None` if no setting
/// can give it.
fn opening(now: Access, user: &User, master: &Process) -> Option<Vec<Wanted>> {
    if now.lets_in(user) {
        return Some(Vec::new());
    }
    let mode = || ("listen.mode", format!("{USUAL_MODE:04o}"));
    let open = Access { mode: USUAL_MODE, ..now };
    if open.lets_in(user) {
        return Some(vec![mode()]);
    }
    // Only a process of root can make another user the owner of a socket.
    if master.uid != 0 {
        return None;
    }
    let mut wanted = vec![("listen.owner", user.name.clone())];
    let own = Access { uid: user.uid, ..now };
    if !own.lets_in(user) {
        wanted.push(mode());
    }
    Some(wanted)
}
