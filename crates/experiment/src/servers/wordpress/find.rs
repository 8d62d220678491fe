//! Finds the parts of a WordPress: its files, its theme, and PHP's FastCGI server with the MySQL extension.
//!
//! Looks at files and runs php-fpm to list its modules; installs nothing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use looptax_host::program::{is_executable, trusted_program};
use looptax_host::read;

use crate::servers::ServerError;

/// The folders in which distributions install WordPress: first Debian and Fedora, then Arch.
const FOLDERS: [&str; 2] = ["/usr/share/wordpress", "/usr/share/webapps/wordpress"];

/// The theme of the sites. Debian installs this theme with WordPress, and pages with this theme make few queries.
const THEME: &str = "twentytwentyone";

/// Folders that may contain php-fpm; some users do not have all of them in their PATH.
const USUAL_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/usr/bin"];

/// The paths of all parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub wordpress: PathBuf,
    /// The folder of themes that contains the sites' theme.
    pub themes: PathBuf,
    /// The path of PHP's FastCGI server: `php-fpm8.2`.
    pub php_fpm: PathBuf,
}

/// Finds all parts that a site needs besides its database.
///
/// # Errors
/// [`ServerError::SiteMissing`] for the first part that is not installed.
pub fn find() -> Result<Installed, ServerError> {
    let missing = |what, looked_for| ServerError::SiteMissing { what, looked_for };
    let wordpress = FOLDERS
        .iter()
        .map(PathBuf::from)
        .find(|folder| read::is_file(&folder.join("wp-settings.php")))
        .ok_or_else(|| missing("WordPress", FOLDERS.join(" or ")))?;
    let themes = wordpress.join("wp-content/themes");
    let style = themes.join(THEME).join("style.css");
    if !read::is_file(&style) {
        return Err(missing("WordPress's theme", style.display().to_string()));
    }
    let php_fpm = php_fpm().ok_or_else(|| missing("PHP's FastCGI server", "php-fpm".to_owned()))?;
    if !has_mysqli(&php_fpm) {
        let looked_for = format!("mysqli in the output of `{} -m`", php_fpm.display());
        return Err(missing("PHP's extension for MySQL", looked_for));
    }
    Ok(Installed { wordpress, themes, php_fpm })
}

/// Returns `php-fpm` if it is installed, otherwise the program with the highest version in its name.
pub(crate) fn php_fpm() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .chain(USUAL_FOLDERS.iter().map(PathBuf::from))
        .flat_map(|folder| read::list(&folder).unwrap_or_default())
        .filter(|path| is_executable(path) && trusted_program(path).is_ok())
        .filter_map(|path| Some((version_in(path.file_name()?.to_str()?)?, path)))
        .max_by_key(|(version, _)| *version)
        .map(|(_, path)| path)
}

/// Whether a program of this name is PHP's FastCGI server.
pub(crate) fn is_php_fpm(name: &str) -> bool {
    version_in(name).is_some()
}

/// Returns the version in `php-fpm8.2`. The name without a version counts as the highest, because a person has chosen
/// this program as the default.
fn version_in(name: &str) -> Option<(u32, u32)> {
    match name.strip_prefix("php-fpm")? {
        "" => Some((u32::MAX, 0)),
        version => {
            let (major, minor) = version.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        }
    }
}

fn has_mysqli(php_fpm: &Path) -> bool {
    #[allow(clippy::disallowed_methods, reason = "if looptax is privileged, only root can change this program")]
    let listed = Command::new(php_fpm).arg("-m").stdin(Stdio::null()).stderr(Stdio::null()).output();
    listed.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().any(|line| line.trim() == "mysqli")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<(u32, u32)>) {
        assert_eq!(version_in(name), expected);
        assert_eq!(is_php_fpm(name), expected.is_some());
    }

    #[test]
    fn the_version_is_in_the_name() {
        check("php-fpm8.2", Some((8, 2)));
        check("php-fpm7.4", Some((7, 4)));
        check("php-fpm", Some((u32::MAX, 0)));
        check("php-fpm8.2.bak", None);
        check("php8.2", None);
        assert!((8, 10) > (8, 2));
    }
}
