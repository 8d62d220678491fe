//! Blocks in files with one setting per line, and the settings in the first lines of blocks: Dovecot's `mysql localhost
//! {`, collectd's `<Database shop>`.
//!
//! Called by `lines`.

use std::collections::BTreeSet;

use super::setting::{Joins, Setting, Value, named};

/// Opens or closes a section if the line does so: a block of Dovecot (`mysql localhost {`) or collectd (`<Plugin
/// mysql>`), or a section that begins with `config :app, App.Repo,` in Elixir.
pub(super) fn is_section(line: &str, number: usize, section: &mut Vec<String>) -> bool {
    if line == "}" {
        section.pop();
        return true;
    }
    if let Some(opened) = line.strip_suffix('{') {
        if section.len() < 16 {
            let first = opened.split([' ', '=']).next().unwrap_or_default();
            // Dovecot has a separate block for each server.
            let is_server = matches!(first, "mysql" | "pgsql") && !opened.contains('=');
            section.push(named(if is_server { opened.trim_end() } else { first }));
        }
        return true;
    }
    if let Some(rest) = line.strip_prefix("config :") {
        let name = rest.split(',').nth(1).map(|it| it.trim().trim_start_matches(':'));
        // A block on one line is left out.
        *section = name.filter(|_| line.ends_with(',')).map(named).into_iter().collect();
        return true;
    }
    let Some(inside) = line.strip_prefix('<').and_then(|it| it.strip_suffix('>')) else {
        return false;
    };
    if inside.starts_with('/') {
        section.pop();
    } else if section.len() < 16 {
        let name = inside.replace('"', "");
        let tag = name.split(' ').next().unwrap_or_default();
        // The words after the tag show a kind of server only in files of collectd. In other files, such as Fluentd's
        // `<match mysql.**>`, these words select messages.
        let is_collectd = tag == "Plugin" || section.first().is_some_and(|it| it.starts_with("Plugin "));
        section.push(if is_collectd { named(&name) } else { named(&format!("{tag} {number}")) });
    }
    true
}

/// The settings in the first line of a block: a database or a host. `whole` is that line as a setting.
pub(super) fn labels(head: &str, section: &[String], whole: &Setting) -> Vec<Setting> {
    let label = |name: &str| section.iter().cloned().chain([name.to_owned()]).collect();
    let database = database_of(head, section).map(|database| Setting {
        path: label("Database"),
        value: Value::Text(database.to_owned()),
        ..whole.clone()
    });
    let host = host_of(head).and_then(|host| {
        let start = head.rfind(host)?;
        let part = whole.part("host", host, start..start + host.len(), 0, Joins::Line);
        Some(Setting { path: label("host"), ..part })
    });
    database.into_iter().chain(host).collect()
}

/// In collectd's `<Database shop>`, the name is the name of the database only for PostgreSQL.
fn database_of<'a>(head: &'a str, section: &[String]) -> Option<&'a str> {
    let name = head.strip_prefix("<Database ")?.trim_end_matches('>').trim_matches('"');
    let is_own = section.first().is_some_and(|it| it.ends_with("postgresql"));
    is_own.then_some(name)
}

/// In Dovecot's `mysql localhost {`, the name of the block is the host.
fn host_of(head: &str) -> Option<&str> {
    let label = head.strip_suffix('{')?;
    let label = ["mysql ", "pgsql "].iter().find_map(|it| label.strip_prefix(it))?;
    let bare = label.trim().trim_matches(['"', '\'']);
    (!bare.is_empty() && !bare.contains([' ', '='])).then_some(bare)
}

/// If the file loads collectd plugins, drops the settings of the plugins that it does not load. If the file loads no
/// plugins, settings of plugins become doubtful.
pub(super) fn loaded_only(settings: &mut Vec<Setting>, text: &str) {
    let plugin_of = |it: &Setting| it.path.first()?.strip_prefix("Plugin ").map(str::to_lowercase);
    let loads = |line: &str| {
        let name = line.trim().trim_start_matches('<').strip_prefix("LoadPlugin")?.trim_end_matches('>');
        Some(name.trim().trim_matches('"').to_lowercase())
    };
    let loaded: BTreeSet<String> = text.lines().filter_map(loads).collect();
    let loads_all = |it: &Setting| {
        let is_true = matches!(&it.value, Value::Text(text) if matches!(text.as_str(), "true" | "yes" | "on"));
        it.path == ["AutoLoadPlugin"] && is_true
    };
    if settings.iter().any(loads_all) {
        return;
    }
    settings.retain(|it| loaded.is_empty() || plugin_of(it).is_none_or(|name| loaded.contains(&name)));
    for setting in settings.iter_mut().filter(|it| loaded.is_empty() && plugin_of(it).is_some()) {
        setting.doubt.get_or_insert_with(|| "in the block of a plugin that another file may load".to_owned());
    }
}
