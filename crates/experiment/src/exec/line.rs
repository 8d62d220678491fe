//! The command that is run for an arm: its words and its environment variables.
//!
//! The only program that this module runs is a MySQL client, to find out the client's family.

use std::process::{Command, Stdio};

use looptax_bench::CommandPlan;
use looptax_bench::path::Endpoint;
use looptax_host::program::find_program;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;

use crate::spec::exec::{Exec, Given, TRANSPORT, Template, joined};
use crate::spec::tool::{Flavor, without_passwords};
use crate::target::Target;

pub(super) fn command_for(target: Option<&Target>, exec: &Exec, arm: Arm) -> Result<CommandPlan, Failure> {
    let (words, set, unset) = match (&exec.given, target) {
        (Given::Template(template), Some(target)) => expanded(template, target, arm)?,
        (Given::Template(_), None) => return Err(super::plan::needs_target()),
        (Given::PerArm { unix, tcp }, _) => {
            let words = if arm == Arm::Unix { unix } else { tcp };
            let set = target.map_or_else(|| Ok(Vec::new()), whereabouts)?;
            (words.clone(), set, Vec::new())
        }
    };
    let password = target.map_or("", |target| target.login.password.reveal());
    let mut shown = joined(&without_passwords(&words));
    if !password.is_empty() {
        shown = shown.replace(password, looptax_model::dsn::MASK);
    }
    Ok(CommandPlan { arm: arm.name().to_owned(), shown, words, set, unset })
}

type Parts = (Vec<String>, Vec<(String, String)>, Vec<String>);

fn expanded(template: &Template, target: &Target, arm: Arm) -> Result<Parts, Failure> {
    let flavor = flavor(template)?;
    let flags = template.tool.expand(&target.endpoint(arm)?, &target.login, target.protocol, flavor);
    let mut words = Vec::new();
    for word in &template.words {
        if word == TRANSPORT {
            words.extend(flags.words.iter().cloned());
        } else {
            words.push(word.clone());
        }
    }
    Ok((words, flags.set, flags.unset))
}

/// Returns the family of a MySQL client: MariaDB's clients have MariaDB in their version; any other client is MySQL's.
fn flavor(template: &Template) -> Result<Flavor, Failure> {
    if !template.tool.has_flavors() {
        return Ok(Flavor::Mariadb);
    }
    let words = &template.words[..=template.program_idx];
    // A path is used as given; a name without a folder is searched for on PATH.
    let program = match &*words[0] {
        path if path.contains('/') => Ok(path.into()),
        name => find_program(name),
    };
    let asked = program.and_then(|it| {
        #[allow(
            clippy::disallowed_methods,
            reason = "a tool that only root can change, or a path that the caller gave"
        )]
        let mut command = Command::new(it);
        command.args(&words[1..]).arg("--version");
        command.stdin(Stdio::null()).output()
    });
    let answer = asked.map_err(|source| {
        Failure::from(source)
            .context(format!("cannot start `{}`", joined(words)))
            .with_hint("install the program, or put its folder into PATH")
    })?;
    let is_mariadb = String::from_utf8_lossy(&answer.stdout).contains("MariaDB");
    Ok(if is_mariadb { Flavor::Mariadb } else { Flavor::Mysql })
}

/// Returns environment variables for programs that looptax does not know: the server's addresses, and looptax's account
/// on the server.
fn whereabouts(target: &Target) -> Result<Vec<(String, String)>, Failure> {
    let mut set = Vec::new();
    for arm in [Arm::Unix, Arm::Tcp] {
        match target.endpoint(arm)? {
            at @ (Endpoint::Unix(_) | Endpoint::Abstract(_)) => {
                set.push(("LOOPTAX_SOCKET", at.to_string()));
            }
            Endpoint::Tcp(address) => {
                set.push(("LOOPTAX_HOST", address.ip().to_string()));
                set.push(("LOOPTAX_PORT", address.port().to_string()));
            }
        }
    }
    let login = &target.login;
    set.push(("LOOPTAX_USER", login.user.clone()));
    set.push(("LOOPTAX_PASSWORD", login.password.reveal().to_owned()));
    set.push(("LOOPTAX_DATABASE", login.database.clone().unwrap_or_default()));
    Ok(set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
