//! Pages of a real WordPress, loaded over TCP, over the socket, and under `looptax run`.
//!
//! `crate::servers::wordpress` runs the site and reports the times of each page. `loads` loads pages in turns, and
//! accepts only pages whose transport and queries are proved. `figures` computes estimates from their times. The result
//! is plain data; nothing is printed or saved. Called by the part of `reproduce` that is about WordPress.

mod figures;
mod length;
mod loads;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::Host;
use crate::servers::ServerError;
use crate::servers::wordpress::{Site, Transport, WordPress};
use crate::spec::Effort;
use looptax_model::failure::Failure;
use serde::Serialize;

use figures::{Contrast, Fifteen, SideFigures, contrast, fifteen, side};
use length::Length;
use loads::{Counted, Loaded};

#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    /// WordPress's version: `6.1.9`.
    pub wordpress: String,
    /// PHP's version: `8.2.36`.
    pub php: String,
    /// MariaDB's version, as MariaDB reports it.
    pub mariadb: String,
    /// The path of the php-fpm that generated the pages.
    pub php_fpm: PathBuf,
    /// The reason, in one line, why no page was measured under `looptax run`; `None` if pages were measured.
    pub without_redirect: Option<String>,
    /// The sites, the site of the publication first. A site may be missing after Ctrl-C.
    pub sites: Vec<SiteMeasured>,
}

/// The measurement of one site.
#[derive(Debug, Serialize)]
pub(crate) struct SiteMeasured {
    pub site: Site,
    /// The number of pages that counted, and the server's counts for their connections.
    #[serde(flatten)]
    pub counted: Counted,
    pub sides: Vec<SideFigures>,
    /// The cost of one transport relative to another.
    pub contrasts: Vec<Contrast>,
    /// The figures of the first fifteen pages of each transport, as many as in the article; `None` if there are fewer
    /// pages.
    pub fifteen: Option<Fifteen>,
    /// Number of pages of each transport in an epoch.
    pub loads_per_epoch: usize,
}

/// Starts WordPress, measures its two sites, and stops WordPress.
///
/// # Errors
/// A missing program or file, with `make reproduce` as the next step; an error of MariaDB, php-fpm or WordPress; a page
/// with a wrong transport or wrong queries, which makes the measurement invalid.
pub(crate) fn measure(effort: Effort, seed: u64, host: &Host, stop: &AtomicBool) -> Result<Measured, Failure> {
    let mut wordpress = WordPress::start(host.self_exe.clone(), host.scratch_root.clone(), &host.reaper)?;
    let redirect = wordpress.add_redirect();
    let without_redirect = redirect.err().map(|error| why(&error));
    let mut measured = Measured {
        wordpress: wordpress.version.clone(),
        php: wordpress.php_version.clone(),
        mariadb: wordpress.server().version.clone(),
        php_fpm: wordpress.installed.php_fpm.clone(),
        without_redirect,
        sites: Vec::new(),
    };
    let pairs = match measured.without_redirect {
        None => &PAIRS[..],
        Some(_) => &PAIRS[..1],
    };
    for (site, share) in [(Site::Full, 2), (Site::Bare, 1)] {
        let length = Length::new(effort, seed, share);
        let loaded = loads::run(&wordpress, (site, pairs), &length, stop);
        let loaded = loaded.map_err(|failure| with_log(failure, &mut wordpress))?;
        measured.sites.extend(judged(site, &loaded));
    }
    wordpress.stop()?;
    Ok(measured)
}

/// Computes the figures of a site; `None` if no epoch was measured.
fn judged(site: Site, loaded: &Loaded) -> Option<SiteMeasured> {
    let mut measured = SiteMeasured {
        site,
        counted: loads::counted(loaded)?,
        sides: Vec::new(),
        contrasts: Vec::new(),
        fifteen: None,
        loads_per_epoch: loaded.loads_per_epoch,
    };
    // After Ctrl-C a contrast may have no epochs.
    for it in { loaded.contrasts.iter() }.filter(|it| !it.epochs.is_empty()) {
        for (idx, transport) in it.arms.into_iter().enumerate() {
            let side = side(&it.epochs, idx, transport, it.alpha)?;
            measured.sides.push(side);
        }
        let contrast = contrast(&it.epochs, it.arms, it.alpha)?;
        measured.contrasts.push(contrast);
        if it.arms == PAIRS[0] {
            measured.fifteen = fifteen(&it.epochs);
        }
    }
    Some(measured)
}

/// The compared transports, `[over, of]`: first the published pair, then the two transports in the process of `looptax
/// run`.
const PAIRS: [[Transport; 2]; 2] = [[Transport::Unix, Transport::Tcp], [Transport::UnixBeside, Transport::Redirect]];

/// Returns the reason why `looptax run` could not start php-fpm: the message of `looptax run` in the log, or if there
/// is none, how php-fpm ended.
fn why(error: &ServerError) -> String {
    let ServerError::Pool { how, log_tail } = error else {
        return error.to_string();
    };
    let marks = ["error: ", "caused by: "];
    let said = { log_tail.lines() }.filter_map(|line| marks.iter().find_map(|mark| line.strip_prefix(mark)));
    let said: Vec<&str> = said.collect();
    if said.is_empty() { format!("php-fpm {how}") } else { said.join(": ") }
}

/// If a process has ended, adds to the failure how the process ended, because this explains more than the failure
/// itself.
fn with_log(failure: Failure, wordpress: &mut WordPress) -> Failure {
    match wordpress.has_exited() {
        Some(how) => failure.context(how),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looptax_run_says_is_the_reason() {
        let ended = |log_tail: &str| ServerError::Pool {
            how: "ended (exit status: 125)".to_owned(),
            log_tail: log_tail.to_owned(),
        };
        let log = "[Note] ready\nerror: looptax cannot move connections on this machine\ncaused by: no \
            seccomp\nhint: go on";
        assert_eq!(why(&ended(log)), "looptax cannot move connections on this machine: no seccomp");
        assert_eq!(why(&ended("[Note] ready")), "php-fpm ended (exit status: 125)");
    }
}
