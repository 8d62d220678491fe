//! Finds the PHP-FPM workers that read a site's file because they serve its folder.
//!
//! A pool counts if its user or group owns the file, or if it is the only pool and the file is in a folder where web
//! servers keep their sites. If several pools remain, none of them counts. Inspects processes and the file's owner;
//! called by `client`.

use std::collections::BTreeMap;
use std::path::Path;

use looptax_host::discover::{Process, any_process};
use looptax_host::read;

use super::rights::Rights;

/// The folders in which web servers keep sites.
const ROOTS: [&str; 5] = ["/var/www/", "/srv/www/", "/srv/http/", "/usr/share/nginx/", "/usr/share/wordpress/"];
/// Files that a PHP application has in the same folder as its `.env`.
const BESIDE: [&str; 4] = ["artisan", "composer.json", "index.php", "symfony.lock"];

/// Returns the rights of the workers that read this site's file, and the pid of one of these workers; `None` if several
/// pools may read the file.
pub(super) fn workers_of(path: &Path) -> Option<(Rights, u32)> {
    if !is_of_php(path) {
        return None;
    }
    let whole = std::path::absolute(path).ok()?;
    let found = read::look(&whole).ok()??;
    let is_in_root = ROOTS.iter().any(|it| whole.starts_with(it));
    only_one(&workers(), (found.st_uid, found.st_gid), is_in_root)
}

fn is_of_php(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_program = path.extension().is_some_and(|it| it == "php" || it == "inc");
    let has_beside = |it: &str| read::is_file(&path.with_file_name(it));
    is_program || name.starts_with(".env") && BESIDE.iter().any(|it| has_beside(it))
}

/// Returns the running PHP-FPM workers that do not run as root.
fn workers() -> Vec<Process> {
    let mut all = Vec::new();
    any_process(|process| {
        if process.program_name().starts_with("php-fpm") {
            all.push(process.clone());
        }
        false
    });
    let masters: Vec<u32> = all.iter().map(|it| it.pid).collect();
    all.retain(|it| masters.contains(&it.parent) && it.uid != 0);
    all
}

fn only_one(workers: &[Process], (uid, gid): (u32, u32), is_in_root: bool) -> Option<(Rights, u32)> {
    let mut users: BTreeMap<u32, &Process> = BTreeMap::new();
    for worker in workers {
        users.entry(worker.uid).or_insert(worker);
    }
    let has_group = |it: &Process| gid != 0 && (it.gid == gid || it.groups.contains(&gid));
    let owner = users.get(&uid).copied();
    let mut of_group = users.values().copied().filter(|it| has_group(it));
    let by_group = of_group.next().filter(|_| of_group.next().is_none());
    let mut all = users.values().copied();
    let alone = all.next().filter(|_| all.next().is_none() && is_in_root);
    let worker = owner.or(by_group).or(alone)?;
    let rights = Rights { uid: worker.uid, gid: worker.gid, groups: worker.groups.clone() };
    Some((rights, worker.pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(uid: u32, gid: u32) -> Process {
        let own = looptax_host::discover::process(std::process::id()).unwrap();
        Process { uid, gid, groups: Vec::new(), ..own }
    }

    #[test]
    fn a_pool_is_taken_by_the_files_owner_or_group_or_where_it_is_the_only_one() {
        let found = |workers: &[Process], owner, is_in_root| only_one(workers, owner, is_in_root).map(|it| it.0.uid);
        let (shop, blog) = (worker(1001, 1001), worker(1002, 1002));
        let both = [shop.clone(), shop.clone(), blog];
        assert_eq!(found(&both, (1002, 1002), false), Some(1002));
        assert_eq!(found(&both, (0, 1001), false), Some(1001));
        // If root owns the folder, looptax does not know which of the two pools serves it.
        assert_eq!(found(&both, (0, 0), true), None);
        assert_eq!(found(std::slice::from_ref(&shop), (0, 0), true), Some(1001));
        assert_eq!(found(&[shop], (0, 0), false), None);
        assert_eq!(found(&[], (0, 0), true), None);
    }
}
