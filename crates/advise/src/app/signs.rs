//! Signs in a file, its folder and its program that show to which application of the table it belongs.

use super::pattern::fits;
use super::source::Source;
use super::table::App;

/// The texts with which signs are compared.
#[derive(Debug)]
pub(super) struct Signs {
    /// The signs that are present: `key:NAME` for each setting, in every form in which a file can set variables;
    /// `beside:FILE` for each file in the folder, and `beside:FILE:TEXT` for a file that contains a text;
    /// `library:NAME` for a dependency, `program:NAME` for the program, and `variable:NAME` for each variable of the
    /// process.
    names: Vec<String>,
    /// The text in which signs `text:…` are searched.
    text: String,
}

impl Signs {
    pub(super) fn of(source: &Source<'_>) -> Self {
        let text = String::from_utf8_lossy(source.bytes).into_owned();
        let keys = text.lines().flat_map(|line| line.split(['{', ','])).filter_map(|line| {
            let line = line.trim_start();
            let heads = ["export ", "- name: ", "- ", "Environment="];
            let head = heads.iter().find_map(|it| line.strip_prefix(it)).unwrap_or(line);
            let name = head.split(['=', ':']).next()?.trim().trim_matches(['"', '\'']);
            let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
            is_name.then(|| format!("key:{name}"))
        });
        let neighbours = source.neighbours.iter().map(|it| {
            let is_sign = it.starts_with("library:");
            if is_sign { it.clone() } else { format!("beside:{it}") }
        });
        let program = source.program.map(|it| format!("program:{it}"));
        let variables = source.environment.into_iter().flatten().map(|(name, _)| format!("variable:{name}"));
        let names = keys.chain(neighbours).chain(program).chain(variables).collect();
        Self { names, text }
    }

    pub(super) fn has(&self, sign: &str) -> bool {
        match sign.strip_prefix("text:") {
            Some(text) => self.text.contains(text),
            None => self.names.iter().any(|name| fits(sign, name)),
        }
    }

    pub(super) fn has_any(&self, signs: &[String]) -> bool {
        signs.iter().any(|it| self.has(it))
    }

    /// Whether a sign is present that distinguishes this application from others with the same keys.
    pub(super) fn are_of(&self, app: &App) -> bool {
        self.has_any(&app.signs)
    }
}
