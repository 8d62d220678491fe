//! Makes statements from the SQL files of this crate by inserting names and columns.

use crate::batch::TABLES;

/// Returns the statements of a file, without comments; each statement ends with a line `;`. `{name}` is replaced by its
/// value in `names`, `{table}` by the columns of that table, and `{table:alias}` by the same columns, each with the
/// alias before it.
pub(super) fn statements(file: &str, names: &[(&str, &str)]) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.starts_with("--"));
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let parts = text.split("\n;").map(str::trim);
    parts.filter(|part| !part.is_empty()).map(|part| written(part, names)).collect()
}

fn written(statement: &str, names: &[(&str, &str)]) -> String {
    let mut pieces = statement.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, rest)) => {
                text.push_str(&value(name, names));
                text.push_str(rest);
            }
            None => text.push_str(piece),
        }
    }
    text
}

fn value(name: &str, names: &[(&str, &str)]) -> String {
    if let Some((_, value)) = names.iter().find(|(known, _)| *known == name) {
        return (*value).to_owned();
    }
    let (table, alias) = name.split_once(':').unwrap_or((name, ""));
    let prefix = if alias.is_empty() { String::new() } else { format!("{alias}.") };
    let columns = TABLES.iter().filter(|it| it.name == table);
    let columns = columns.flat_map(|it| it.columns);
    let named: Vec<String> = columns.map(|it| format!("{prefix}{}", it.name)).collect();
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_columns_are_written_in() {
        let file = "-- a comment\nSELECT {reports:r}\nFROM {db}.reports r\n;\n\n-- two\nSELECT 1\n;\n";
        let found = statements(file, &[("db", "looptax")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("SELECT r.report_id, r.host_id, "), "{}", found[0]);
        assert!(found[0].ends_with("FROM looptax.reports r"), "{}", found[0]);
    }
}
