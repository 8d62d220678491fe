//! The simplest application: a script under PHP's built-in web server, which connects once for each page.

use looptax_model::dsn::Kind;

use crate::application::programs::can_load;
use crate::application::{Place, fill_table};
use crate::fixture::Server;

pub(super) const PHP: [&str; 4] = ["php", "-S", "«http»", "page.php"];

/// Whether PHP can connect to MariaDB and to Redis; prints a message if not.
pub(super) fn has_php() -> bool {
    let script = "exit(extension_loaded('mysqli') && extension_loaded('redis') ? 0 : 1);";
    can_load("php", &["-r", script], "PHP with mysqli and redis")
}

/// Returns an application with this script as its page; `None` if something for it is not installed.
pub(super) fn page(script: &str) -> Option<(Server, Place)> {
    if !has_php() {
        return None;
    }
    let server = Server::start(Kind::Mariadb)?;
    fill_table(&server);
    let place = Place::beside(&server);
    place.write(&[("page.php", script)]);
    Some((server, place))
}

/// Returns the application whose page makes one connection and runs one query.
pub(super) fn plain() -> Option<(Server, Place)> {
    page(include_str!("files/page.php"))
}
