//! PHP-FPM: the master that listens at an address, the test of its files, and the settings that open its socket.

use std::path::Path;

use looptax_advise::app::PoolSection;
use looptax_discover::{Place, Process, listens_on};

use super::program::{file_of, line, masters};
use super::rights::{Access, User, number_of};

/// What the pool has where it says nothing.
const USUAL_MODE: u32 = 0o660;

/// The master that listens there.
pub(super) fn find(is_there: impl Fn(&Place) -> bool) -> Option<Process> {
    let mut all = masters(|it| it.starts_with("php-fpm")).into_iter();
    all.find(|it| listens_on(it).iter().any(|it| is_there(&it.place)))
}

/// Whether it listens on this socket.
pub(super) fn listens(master: &Process, socket: &Path) -> bool {
    let all = listens_on(master);
    all.iter()
        .any(|it| matches!(&it.place, Place::Path { path, .. } if path == socket))
}

/// The line of a shell that tests its files: `php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)` says which.
pub(super) fn test(master: &Process) -> String {
    // That a pool may run as root was for whoever started it to say.
    let mut words = vec!["-t".to_owned(), "-R".to_owned()];
    let shown = master.arguments().join(" ");
    let own = shown.split_once('(').and_then(|it| it.1.rsplit_once(')'));
    if let Some((path, _)) = own {
        words.extend(["-y".to_owned(), path.to_owned()]);
    }
    line(&file_of(master), &words)
}

/// A setting that is written, and its value.
pub(super) type Wanted = (&'static str, String);

/// Whose the socket will be, and who may what; why that is not known.
pub(super) fn access(section: &PoolSection<'_>, master: &Process) -> Result<Access, String> {
    for key in ["listen.acl_users", "listen.acl_groups"] {
        if section.value(key).is_some() {
            return Err(format!(
                "{key} is set, and then owner, group and mode do not count alone"
            ));
        }
    }
    let id = |key: &str, path: &str, usual: u32| match section.value(key) {
        None => Ok(usual),
        Some(name) => {
            number_of(path, &name).ok_or_else(|| format!("{key} = {name} is nobody known here"))
        }
    };
    let mode = match section.value("listen.mode") {
        None => USUAL_MODE,
        Some(text) => {
            u32::from_str_radix(&text, 8).map_err(|_| format!("listen.mode = {text} is no mode"))?
        }
    };
    Ok(Access {
        uid: id("listen.owner", "/etc/passwd", master.uid)?,
        gid: id("listen.group", "/etc/group", master.gid)?,
        mode,
    })
}

/// The fewest settings that let the user in; nothing where it gets in anyway, `None` where no setting does.
pub(super) fn opening(now: Access, user: &User, master: &Process) -> Option<Vec<Wanted>> {
    if now.lets_in(user) {
        return Some(Vec::new());
    }
    let mode = || ("listen.mode", format!("{USUAL_MODE:04o}"));
    let open = Access {
        mode: USUAL_MODE,
        ..now
    };
    if open.lets_in(user) {
        return Some(vec![mode()]);
    }
    // Only root gives a socket away.
    if master.uid != 0 {
        return None;
    }
    let mut wanted = vec![("listen.owner", user.name.clone())];
    let own = Access {
        uid: user.uid,
        ..now
    };
    if !own.lets_in(user) {
        wanted.push(mode());
    }
    Some(wanted)
}
