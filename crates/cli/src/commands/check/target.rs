//! The target of `check`, from the arguments.

use std::path::{Path, PathBuf};

use looptax_host::read;
use looptax_model::failure::Failure;

use crate::args::CheckArgs;

/// The object that `check` checks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// Every program on this machine that is connected to a server over TCP.
    Machine,
    Process(u32),
    Address(&'a str),
    Files(&'a [PathBuf]),
}

impl<'a> Target<'a> {
    /// Decides whether the arguments name a process, an address or files.
    ///
    /// # Errors
    /// If there are several words and not all are files, or if a process is given together with another client.
    pub(super) fn find(args: &'a CheckArgs) -> Result<Self, Failure> {
        let targets = &*args.targets;
        let one = match targets {
            [] => return Ok(args.pid.map_or(Self::Machine, Self::Process)),
            [one] => one,
            several if several.iter().any(|it| process(it).is_some() || address(it).is_some()) => {
                return Err(Failure::usage(
                    "several targets have to be files or folders",
                    "check a URL or a process in a separate command",
                ));
            }
            several => return Ok(Self::Files(several)),
        };
        if let Some(pid) = process(one) {
            if args.pid.is_some() || args.user.is_some() {
                return Err(Failure::usage(
                    format!("the target is already process {pid}, so --pid and --user cannot choose another client"),
                    "leave --pid and --user out",
                ));
            }
            return Ok(Self::Process(pid));
        }
        Ok(address(one).map_or(Self::Files(targets), Self::Address))
    }
}

/// Returns the process whose number the word is. `./123` is a file.
fn process(word: &Path) -> Option<u32> {
    let word = word.to_str()?;
    word.parse().ok().filter(|_| word.bytes().all(|it| it.is_ascii_digit()))
}

/// Returns the word if it is an address; `None` if a file has this name.
fn address(word: &Path) -> Option<&str> {
    let is_address = |it: &&str| ["://", "=", "@"].iter().any(|sign| it.contains(sign));
    let is_path = |it: &&str| ["/", "./", "../"].iter().any(|start| it.starts_with(start));
    word.to_str().filter(is_address).filter(|it| !is_path(it) && !read::exists(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_process_a_url_an_address_and_the_rest_are_files() {
        for (word, pid, is_address) in [
            ("812", Some(812), false),
            ("./812", None, false),
            ("+812", None, false),
            ("mysql://u@127.0.0.1/d", None, true),
            ("host=127.0.0.1 dbname=d", None, true),
            ("u@127.0.0.1", None, true),
            ("./mysql://u@h", None, false),
            ("/srv/a=b/.env", None, false),
            ("wp-config.php", None, false),
        ] {
            let path = Path::new(word);
            assert_eq!((process(path), address(path).is_some()), (pid, is_address), "{word}");
        }
    }
}
