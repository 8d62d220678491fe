//! The collector, the folder for reports that wait, and the password, from the arguments and the environment.

use std::path::{Path, PathBuf};

use looptax_fleet::{Access, Destination, Place, Spool};
use looptax_host::read;
use looptax_model::dsn::Secret;
use looptax_model::failure::Failure;

use crate::args::CollectorArgs;
use crate::sys;
use crate::terminal::Terminal;

/// The environment variable with the collector's password.
const PASSWORD: &str = "LOOPTAX_COLLECTOR_PASSWORD";
/// Largest size of a file with a password or a key.
const MOST_SECRET_BYTES: u64 = 64 << 10;

/// Returns the collector that the arguments name, and the settings for connecting to it.
pub(crate) fn collector(args: &CollectorArgs) -> Result<(Destination, Access), Failure> {
    let destination = Destination::parse(&args.destination)?;
    let of_environment = std::env::var(PASSWORD).ok();
    sys::forget_variable(PASSWORD);
    let password = match &args.password_file {
        Some(_) if destination.has_password() => {
            return Err(Failure::usage(
                "the URL contains a password, and --password-file gives another password",
                "pass the password in only one of the two places",
            ));
        }
        Some(path) => Some(secret_in(path)?),
        None => of_environment,
    };
    let access = Access { password: password.map(Secret::new), ca_file: args.ca_file.clone(), ..Access::default() };
    Ok((destination, access))
}

/// Refuses a folder that does not exist, if its name does not look like a path: the name may be a mistyped address.
pub(super) fn refuse_word(destination: &Destination) -> Result<(), Failure> {
    let Place::Folder(folder) = &destination.place else {
        return Ok(());
    };
    let name = folder.display();
    if name.to_string().contains('/') || read::is_folder(folder) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("`{name}` is neither a URL nor an existing folder"),
        format!(
            "pass ./{name} for a folder, clickhouse://USER@HOST/DATABASE or postgres://USER@HOST/DATABASE for a \
                collector, or - to print"
        ),
    ))
}

/// Prints a warning if other users of the network could read data on the way to the collector.
pub(crate) fn caution(destination: &Destination, terminal: Terminal) {
    if let Some(words) = destination.caution() {
        terminal.words(&format!("note: {words}\n"));
    }
}

/// Returns the contents of a file, without the line break that editors put at its end.
pub(super) fn secret_in(path: &Path) -> Result<String, Failure> {
    let bytes = key_in(path, 1)?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::new(format!("cannot use the secret in `{}`: the secret is not text", path.display())))
}

/// Returns the contents of a key file, which may be any bytes; fails if there are fewer than `least_bytes`.
pub(super) fn key_in(path: &Path, least_bytes: usize) -> Result<Vec<u8>, Failure> {
    let failed = |what: String| {
        Failure::usage(
            format!("cannot use the secret in `{}`: {what}", path.display()),
            "pass a file that contains only the secret and that this account can read",
        )
    };
    let found = read::read(path, MOST_SECRET_BYTES);
    let mut bytes = found.map_err(|error| failed(error.to_string()))?;
    while bytes.pop_if(|it| matches!(*it, b'\r' | b'\n')).is_some() {}
    match bytes.len() {
        0 => Err(failed("it is empty".to_owned())),
        n if n < least_bytes => Err(failed(format!(
            "the secret has {n} bytes, but a key needs at least {least_bytes}: `head -c 32 /dev/urandom` makes a key"
        ))),
        _ => Ok(bytes),
    }
}

/// Returns the spool in the folder that the user named, otherwise in the usual folder.
pub(super) fn spool(named: Option<&Path>, collector: &Destination) -> Result<Spool, Failure> {
    let folder = match named {
        Some(folder) => folder.to_owned(),
        None => usual_spool()?,
    };
    Ok(Spool::new(&folder, &collector.to_string()))
}

fn usual_spool() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/looptax/spool"));
    }
    let of = |name: &str| {
        let folder = std::env::var_os(name).map(PathBuf::from);
        folder.filter(|it| it.is_absolute())
    };
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| {
        Failure::usage(
            "looptax has no place for the spool: neither XDG_STATE_HOME nor HOME is set",
            "choose a folder with --spool FOLDER",
        )
    })?;
    Ok(state.join("looptax/spool"))
}

/// Returns a random number below `limit`; 0 if `limit` is 0.
pub(super) fn random_below(limit: u64) -> u64 {
    let random = u64::from_ne_bytes(random());
    random.checked_rem(limit).unwrap_or_default()
}

/// Returns random bytes that cannot be predicted.
pub(super) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    // The kernel always returns up to 256 bytes completely; looptax does not support kernels that lack this call.
    debug_assert_eq!(filled, Ok(N));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_folder_unless_there_is_one() {
        for (typed, is_refused) in [
            ("clickhous", true),
            ("report", true),
            ("./report", false),
            ("report/", false),
            ("/var/spool/reports", false),
            // Tests run in the folder of the crate, so this folder exists.
            ("src", false),
            ("..", false),
            ("Cargo.toml", true),
            ("-", false),
            ("clickhouse://u@h/x", false),
        ] {
            let refused = refuse_word(&Destination::parse(typed).unwrap()).err();
            assert_eq!(refused.is_some(), is_refused, "{typed}");
            if let Some(failure) = refused {
                assert!(
                    failure.hint().unwrap_or_default().starts_with(&format!("pass ./{typed} for a folder")),
                    "{typed}"
                );
            }
        }
    }
}
