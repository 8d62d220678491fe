//! Translates `trial --site` into the arguments for a trial of private copies of the site.

use looptax_model::failure::Failure;
use looptax_switch::SiteCopy;

use crate::args::TrialArgs;

/// Returns the arguments for a trial of the copies: the command that starts the copies, the pages of the copies, and
/// their socket (`--also`). The user could have typed these arguments.
///
/// # Errors
/// A usage failure if the pages belong to several hosts.
pub(crate) fn of_copy(args: &TrialArgs, copy: &SiteCopy) -> Result<TrialArgs, Failure> {
    let mut args = args.clone();
    let pages: Vec<_> = match &*args.url {
        [] => vec![copy.page(None)],
        urls => urls.iter().map(|url| copy.page(Some(url))).collect(),
    };
    let host = pages.first().and_then(|it| it.host.clone());
    if pages.iter().any(|it| it.host != host) {
        let hint = "pass only pages of one host, or pass --header 'Host: NAME' and pages at 127.0.0.1";
        return Err(Failure::usage("--url names pages of several hosts", hint));
    }
    args.url = pages.into_iter().map(|it| it.url).collect();
    let is_host = |header: &String| header.split(':').next().is_some_and(|it| it.trim().eq_ignore_ascii_case("host"));
    if let Some(host) = host.filter(|_| !args.header.iter().any(is_host)) {
        args.header.push(format!("Host: {host}"));
    }
    args.command = copy.command();
    args.moving.also.extend(copy.also().map(str::to_owned));
    Ok(args)
}
