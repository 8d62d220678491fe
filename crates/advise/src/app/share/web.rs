//! nginx in front of PHP-FPM, each in its own container. Both have their configuration files in the project, mounted
//! one by one.
//!
//! Called by `read` to find connections and by `compose` to make changes; `image` describes the socket.
//!
//! # Source
//! docker-library/php, Dockerfile-linux.template: `php-fpm.d`, commit f26909cd (2026-01-09); php.net, "FPM
//! configuration"; `php-fpm -tt` of 8.2: the files are read in the byte order of their names, and the last setting of a
//! pool takes effect.

use std::collections::BTreeSet;
use std::path::Path;

use looptax_model::record::Edit;

use super::container::{Container, Mount};
use super::image::{is_fpm, is_nginx};
use super::line::Inserted;
use super::taken::is_below;
use crate::app::bind::{bound_of, merged};
use crate::app::found::Found;
use crate::app::inside::{Service, services};
use crate::app::rewrite::Rewrite;
use crate::app::section::Section;
use crate::app::setting::Problem;
use crate::app::source::Source;
use crate::app::table::apps;
use crate::app::web::{self, Proxy};
use crate::app::whole::{Part, Whole};

/// The folder of nginx's files in its image; `POOLS` is the folder of PHP-FPM's pools, and `MAIN` the file that
/// includes them.
pub(super) const SITES: &str = "/etc/nginx";
const POOLS: &str = "/usr/local/etc/php-fpm.d";
const MAIN: &str = "/usr/local/etc/php-fpm.conf";

/// The file that the image's pool reads last. It contains `listen = 9000` in images from before 2026-01-09.
const LAST: &str = "zz-docker.conf";
const POOL: &str = "www";

/// The mode of the socket. Every user may connect, because the users of the two containers share no group.
const MODE: &str = "0666";

/// Returns the files that the services of a Compose file mount as files of nginx or PHP-FPM, if these files are in the
/// folder of the Compose file.
pub(crate) fn own_files(name: &str, text: &str) -> Vec<String> {
    let all = services(name, text).into_iter().flat_map(|it| it.mounted);
    let own: BTreeSet<String> = all.filter(|it| is_own(&it.0) && is_below(&it.1)).map(|it| it.1).collect();
    own.into_iter().collect()
}

fn is_own(target: &str) -> bool {
    let is_read = Path::new(target).extension().is_some_and(|it| it == "conf");
    is_read && [SITES, POOLS].iter().any(|it| name_in(target, it).is_some())
}

fn name_in<'a>(target: &'a str, folder: &str) -> Option<&'a str> {
    target.strip_prefix(folder)?.strip_prefix('/')
}

/// Returns the mounted file, if nginx or PHP-FPM reads it and looptax has read it, too.
fn part_of<'a>(mount: &Mount, whole: &'a Whole) -> Option<(&'a Part, &'a str)> {
    let from = mount.from.as_deref().filter(|_| mount.target.as_deref().is_some_and(is_own))?;
    whole.others().find(|it| it.0.words == from)
}

/// The connections in the files that services of a Compose file mount as nginx's files, and a problem for each service
/// whose files are missing.
pub(super) fn connections(whole: &Whole, source: &Source<'_>) -> (Vec<Found>, Vec<Problem>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let name = source.path.and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let services = services(name, whole.own());
    let has_fpm = services.iter().any(|it| it.image.as_deref().is_some_and(is_fpm));
    for Service { name: service, image, mounted } in &services {
        let sites = mounted.iter().filter(|it| is_own(&it.0) && name_in(&it.0, SITES).is_some());
        let parts: Vec<_> = sites.filter_map(|it| whole.others().find(|part| part.0.words == it.1)).collect();
        if parts.is_empty() && has_fpm && image.as_deref().is_some_and(is_nginx) {
            let what = format!(
                "`{service}` runs nginx, but mounts no configuration file as a single file from this folder: looptax \
                 cannot see whether nginx uses PHP-FPM; `docker compose exec {service} nginx -T` shows nginx's \
                 configuration"
            );
            problems.push(Problem { line: None, what });
        }
        for (part, text) in parts {
            let (mut settings, _) = web::read(text, Proxy::Nginx);
            for it in &mut settings {
                (it.line, it.start) = (it.line + part.first_line, it.start + part.at.start);
            }
            let app = apps().iter().filter(|it| it.name == "nginx_fastcgi");
            let bound = app.flat_map(|it| bound_of(it, &settings, source, true)).collect();
            all.extend(merged(bound, source, true).into_iter().map(|it| Found {
                service: Some(service.clone()),
                taken: vec![part.words.clone()],
                ..it
            }));
        }
    }
    (all, problems)
}

/// The lines that make the server's pool listen on the socket.
///
/// # Errors
/// If a fact that decides where the pool listens is not known.
pub(super) fn listening(
    (own, server): (&Container, &Container),
    whole: &Whole,
    (socket, port): (&str, u16),
) -> Result<Vec<Inserted>, String> {
    all_is_known(own, whole)?;
    let title = &server.title;
    let unknown = |why: &str| {
        Err(format!(
            "{why}, so looptax does not know which `listen` applies: `docker compose exec {title} php-fpm -tt` shows it"
        ))
    };
    let mut files = Vec::new();
    for mount in server.mounts_at(POOLS).chain(server.mounts_at(MAIN)) {
        let name = mount.target.as_deref().and_then(|it| name_in(it, POOLS)).filter(|it| !it.contains('/'));
        let Some((name, (part, text))) = name.zip(part_of(mount, whole)) else {
            let at = mount.target.as_deref().unwrap_or("an unknown path");
            return unknown(&format!("looptax does not read what `{title}` mounts at {at}"));
        };
        let n_pools = text.lines().filter(|it| it.trim().starts_with(&format!("[{POOL}]"))).count();
        if n_pools > 1 || text.lines().any(|it| it.trim_start().starts_with("include")) {
            return unknown(&format!("{} has the pool twice, or includes other files", part.words));
        }
        files.push((name, part, Section::find(text, POOL)));
    }
    files.sort_by_key(|it| it.0);
    let has = |section: &Option<Section<'_>>, key: &str| section.as_ref().and_then(|it| it.value(key));
    let Some(winner) = files.iter().rposition(|it| has(&it.2, "listen").is_some()) else {
        return Err(format!(
            "no file of the project sets the address of the pool `{POOL}` of `{title}`: mount a file with \
             `[{POOL}]` and `listen = {port}` at {POOLS}/zz-socket.conf, and run the same command again"
        ));
    };
    let (name, part, section) = &files[winner];
    let listen = has(section, "listen").unwrap_or_default();
    if listen != port.to_string() && !listen.ends_with(&format!(":{port}")) {
        return Err(format!("according to {}, the pool `{POOL}` listens on {listen}, not on port {port}", part.words));
    }
    if *name < LAST {
        return Err(format!(
            "{} is read before the image's own {LAST}; in images from before 2026-01-09, {LAST} sets `listen = \
             {port}`, and looptax does not know which of the two files applies: mount your file at \
             {POOLS}/zz-socket.conf",
            part.words
        ));
    }
    let has_others = files[winner + 1..].iter().any(|it| has(&it.2, "listen.mode").is_some());
    let has_lists = |section| ["listen.acl_users", "listen.acl_groups"].iter().any(|it| has(section, it).is_some());
    if has_others || files.iter().any(|it| has_lists(&it.2)) {
        return Err(format!("another setting of the pool `{POOL}` sets which users may use its socket"));
    }
    let wanted = [("listen", socket.to_owned()), ("listen.mode", MODE.to_owned())];
    let written = section.as_ref().and_then(|it| it.written("listen", &wanted));
    let (rewrites, edits) = written.ok_or_else(|| format!("{} is not written in plain lines", part.words))?;
    let at = |it: Rewrite| Rewrite { at: it.at.start + part.at.start..it.at.end + part.at.start, ..it };
    let below = |it: Edit| Edit { line: it.line.map(|line| line + part.first_line), ..it };
    Ok(rewrites.into_iter().zip(edits).map(|(rewrite, edit)| (vec![at(rewrite)], below(edit))).collect())
}

/// Checks that all files that nginx reads are known. The files in nginx's own image pass no requests to other
/// containers.
fn all_is_known(own: &Container, whole: &Whole) -> Result<(), String> {
    let title = &own.title;
    let starts_it = own.words.first().is_none_or(|it| it == "nginx" || it == "nginx-debug");
    let why = if let Some(key) = own.replaced_by {
        format!("it has `{key}`")
    } else if !own.image.as_deref().is_some_and(is_nginx) {
        "the service's image is not one of nginx's own".to_owned()
    } else if !starts_it || own.words.iter().any(|it| it == "-c" || it == "-p") {
        "the service's command may read other files".to_owned()
    } else if own.has_configs {
        "it has `configs`".to_owned()
    } else if let Some(mount) = own.mounts_at(SITES).find(|it| part_of(it, whole).is_none()) {
        let at = mount.target.as_deref().unwrap_or("an unknown path");
        format!(
            "looptax does not read the files that are mounted at {at}, but only single files from the Compose file's \
             folder"
        )
    } else {
        return Ok(());
    };
    Err(format!(
        "looptax does not know what else `{title}` sends to PHP-FPM, because {why}; `docker compose exec {title} nginx \
         -T` shows nginx's configuration"
    ))
}
