//! Adds to an address the parameters that libpq takes from a service and from environment variables.
//!
//! If the caller passed a process, the variables of its environment count. Without a process, looptax's own environment
//! decides where the service file is (`PGSERVICEFILE`, `PGSYSCONFDIR`, `HOME`); its other variables only lead to a note,
//! because the application may have another environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use looptax_advise::app::address_of;
use looptax_host::read::{self, system_text};
use looptax_model::dsn::{
    Address, Condition, OverSocket, PARAMETERS, Parameter, libpq_parameters, service_in, without_secrets,
};
use looptax_model::failure::Failure;
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use super::bounded_read::Files;
use super::client::Client;
use super::sources;

type Pairs = Vec<(String, String)>;

/// The folder in which libpq looks last for the service file, unless `PGSYSCONFDIR` gives another folder.
///
/// # Source
/// `pg_config --sysconfdir` of Debian's packages.
const SYSTEM_FOLDER: &str = "/etc/postgresql-common";

/// Reads an address that a person typed, adds the parameters that libpq would add, and returns the points about the
/// added parameters.
///
/// # Errors
/// If the text is not an address, or contains a service that libpq would not find.
pub fn typed(text: &str, client: &Client) -> Result<(Address, Vec<Point>), Failure> {
    let unread = |error| Failure::usage(error, "for example mysql://user@127.0.0.1:3306/db");
    let address = address_of(text).map_err(unread)?;
    let Some(mut pairs) = libpq_parameters(text.trim()) else {
        return Ok((address, Vec::new()));
    };
    let of_process = client.pid.map(sources::environment).transpose()?;
    let mut points = Vec::new();
    let named = value(&pairs, "service").or_else(|| of_process.as_ref()?.get("PGSERVICE").cloned());
    if let Some(name) = named.filter(|it| !it.is_empty()) {
        let (file, own) = service(&name, client, of_process.as_ref())?;
        let what = format!("`service={name}`: libpq uses {}", without_secrets(&own));
        let how = format!("read {} as libpq does", file.display());
        points.push(Point::new(Topic::Configuration, PointCode::ServiceRead, Outcome::Note, what, how));
        add(&mut pairs, own);
        // The service is no longer needed: its parameters have been added.
        pairs.retain(|it| it.0 != "service");
    }
    let is_service_read = !points.is_empty();
    match of_process {
        Some(environment) => {
            let own =
                PARAMETERS.iter().filter_map(|it| Some((it.name.to_owned(), environment.get(it.variable)?.clone())));
            add(&mut pairs, own.collect());
        }
        None => points.extend(ours(&pairs, is_service_read)),
    }
    let address = Address::of_libpq(&pairs).map_err(|error| Failure::usage(error, "check its port"))?;
    Ok((address, points))
}

fn value(pairs: &Pairs, name: &str) -> Option<String> {
    Some(pairs.iter().rfind(|it| it.0 == name)?.1.clone())
}

/// Adds the parameters of `more` that `pairs` does not have yet.
fn add(pairs: &mut Pairs, more: Pairs) {
    for (name, value) in more {
        if pairs.iter().all(|it| it.0 != name) {
            pairs.push((name, value));
        }
    }
}

/// Finds a service; returns the service's file and parameters.
fn service(
    name: &str,
    client: &Client,
    of_process: Option<&BTreeMap<String, String>>,
) -> Result<(PathBuf, Pairs), Failure> {
    let variable = |name: &str| match of_process {
        Some(environment) => environment.get(name).cloned(),
        None => std::env::var(name).ok(),
    };
    let given = variable("PGSERVICEFILE").map(PathBuf::from);
    let own = given.clone().or_else(|| {
        // If the caller passed only a user, that user's environment is not known.
        let home = variable("HOME").filter(|_| client.rights.is_none() || of_process.is_some());
        let home = home.filter(|it| !it.is_empty()).or_else(|| home_of(&client.user))?;
        Some(Path::new(&home).join(".pg_service.conf"))
    });
    let folder = variable("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_FOLDER.to_owned());
    let of_system = Path::new(&folder).join("pg_service.conf");
    let files: Vec<PathBuf> = own.into_iter().chain([of_system]).collect();
    let is_wanted = |it: &&PathBuf| given.as_ref() == Some(*it) || read::exists(it);
    for file in files.iter().filter(is_wanted) {
        let shown = file.display();
        let bytes = Files::Ours.read(file).map_err(|error| {
            let hint = "run looptax as a user who may read the file, or set PGSERVICEFILE to another file";
            Failure::usage(format!("cannot read the service file `{shown}`: {error}"), hint)
        })?;
        let refused = |error| {
            let hint = format!("correct the file; `psql service={name}` refuses this file as well");
            Failure::usage(format!("cannot read the service `{name}` of `{shown}`: {error}"), hint)
        };
        if let Some(pairs) = service_in(&String::from_utf8_lossy(&bytes), name).map_err(refused)? {
            return Ok((file.clone(), pairs));
        }
    }
    let looked: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
    Err(Failure::usage(
        format!("there is no service `{name}` in {}, so libpq does not connect", looked.join(" or ")),
        "set PGSERVICEFILE to another file; or pass the application with --user or --pid: looptax then reads the \
        application's own file",
    ))
}

fn home_of(user: &str) -> Option<String> {
    let passwd = system_text("/etc/passwd");
    let line = passwd.lines().find(|it| it.split(':').next() == Some(user))?;
    line.split(':').nth(5).map(str::to_owned)
}

/// Returns points about variables of looptax's environment that would change the address for a libpq program started
/// from this shell.
fn ours(pairs: &Pairs, is_service_read: bool) -> Vec<Point> {
    let is_open = |it: &&Parameter| {
        let is_there = |name: &str| pairs.iter().any(|pair| pair.0 == name);
        // Without a `hostaddr`, the host decides the destination.
        let is_said = match it.name {
            "service" => is_service_read,
            "host" => is_there("hostaddr"),
            _ => false,
        };
        !it.variable.is_empty() && !is_there(it.name) && !is_said
    };
    let point = |it: &Parameter| {
        let value = std::env::var(it.variable).ok().filter(|it| !it.is_empty())?;
        let what = match it.over_socket {
            OverSocket::Place => "which server libpq uses, because the address does not contain a server",
            _ if Condition::of(it.variable, &value).is_some() => "whether libpq accepts a socket",
            _ => return None,
        };
        let what = format!(
            "`{}={value}` is set in looptax's environment, and this check ignores it; in a program with the same \
             environment this variable decides {what}",
            it.variable
        );
        let point = Point::new(
            Topic::Configuration,
            PointCode::VariableDecides,
            Outcome::Note,
            what,
            "looked at looptax's own environment",
        );
        Some(point.with_next(format!(
            "write `{}=…` into the address if the application has this variable; with --pid, looptax reads the \
             environment of the application's process",
            it.name
        )))
    };
    PARAMETERS.iter().filter(is_open).filter_map(point).collect()
}
