//! `release-notes.md`: the changelog's section about this version.

use std::fs;

use anyhow::{Result, bail};

use super::place::Place;

/// Writes the notes next to the artefacts; the notes are not an artefact.
pub(super) fn write(place: &Place) -> Result<()> {
    let text = fs::read_to_string(place.root.join("CHANGELOG.md"))?;
    let named = format!("[{}]", place.version);
    // Before the release of a version, its changes are in the section of unreleased changes.
    let Some(section) = section(&text, &named).or_else(|| section(&text, "[Unreleased]")) else {
        bail!("CHANGELOG.md has no section {named}");
    };
    fs::write(place.artefacts.with_file_name("release-notes.md"), section)?;
    Ok(())
}

/// Returns the text between the heading that begins with `heading` and the next heading of the same level.
fn section(text: &str, heading: &str) -> Option<String> {
    let mut lines = text.lines();
    lines.find(|line| line.strip_prefix("## ").is_some_and(|it| it.starts_with(heading)))?;
    let body: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Some(body.join("\n").trim().to_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_where_the_next_begins() {
        let text = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-01-02\n\n### Added\n\n- a\n\n## [1.1.0]\n- b\n";
        assert_eq!(section(text, "[1.2.0]").as_deref(), Some("### Added\n\n- a\n"));
        assert_eq!(section(text, "[1.1.0]").as_deref(), Some("- b\n"));
        assert_eq!(section(text, "[1.0.0]"), None);
    }
}
