//! The result of `looptax dsn`, for a terminal.

use std::fmt::Write;

use looptax_model::record::Spelling;

use super::lines::fitted;
use super::style::{Style, cleaned};

/// Returns the text to write for each dialect. `socket` is the path of the socket and how it was found; `elsewhere` is
/// the host of the URL if that host is another machine.
pub fn spelled(spellings: &[Spelling], socket: &str, elsewhere: Option<&str>, style: Style) -> String {
    let mut text = elsewhere.map_or_else(String::new, |host| {
        format!("beware: `{host}` is not this machine, and a Unix socket works only within one machine\n")
    });
    let _ = writeln!(text, "{socket}");
    let mut text = fitted(&cleaned(&text, style), style.width);
    for spelling in spellings {
        let (to_copy, about) = written(spelling);
        text += &cleaned(&to_copy, style);
        text += &fitted(&cleaned(&about, style), style.width);
    }
    text
}

/// Returns the lines to copy, which are not broken, and the lines that explain them.
fn written(spelling: &Spelling) -> (String, String) {
    let mut to_copy = format!("\n{} ({}), in {}:\n", spelling.name, spelling.language, spelling.place);
    for line in spelling.text.lines() {
        let _ = writeln!(to_copy, "    {line}");
    }
    let mut text = String::new();
    for why in &spelling.cannot {
        let _ = writeln!(text, "  does not work here: {why}");
    }
    let _ = writeln!(text, "  localhost means {}: {}", spelling.localhost.words(), spelling.why);
    for trap in &spelling.traps {
        let _ = writeln!(text, "  beware: {trap}");
    }
    let _ = match &spelling.proved {
        Some(proved) => writeln!(text, "  proved with {} on {}", proved.driver, proved.date),
        None => writeln!(text, "  not proved: looptax has not tried this with any driver"),
    };
    (to_copy, text)
}

/// Explains which transport each dialect uses for this host, with the reason.
pub fn explained(spellings: &[Spelling], host: Option<&str>, port: u16, style: Style) -> String {
    let mut text = format!("host {}, port {port}\n", host.unwrap_or("(none)"));
    let widest = |of: fn(&Spelling) -> usize| spellings.iter().map(of).max().unwrap_or(0);
    let name_columns = widest(|it| it.name.len() + it.language.len() + 3);
    let takes_columns = widest(|it| it.takes_now.words().len());
    for spelling in spellings {
        let name = format!("{} ({})", spelling.name, spelling.language);
        let _ =
            writeln!(text, "  {name:name_columns$}  {:takes_columns$}  {}", spelling.takes_now.words(), spelling.why);
    }
    fitted(&cleaned(&text, style), style.width)
}
