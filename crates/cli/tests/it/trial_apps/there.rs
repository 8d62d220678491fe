//! An application whose pages already use the socket: there is nothing to try.

use super::plain::{PHP, page};
use super::tried::{of_front_page, trial};

/// The page opens connections over the socket, and closes them.
const ON_THE_SOCKET: &str = "<?php\n$database = new mysqli('localhost', '«user»', '«password»', '«database»', 0, '«socket»');\nfor ($n = 0; $n < 20; $n++) $text = $database->query('SELECT text FROM greetings')->fetch_row()[0];\necho $text;\n";

#[test]
fn pages_on_the_socket_are_told_to_be_there() {
    let Some((server, place)) = page(ON_THE_SOCKET) else {
        return;
    };
    let run = trial(&place, &[&server]).args(of_front_page(&place, &PHP)).run();
    run.expect_error(2, &["nothing to try: the "]);
    place.scratch.check_nothing_left();
}
