//! The settings of a systemd unit that decide the user of its program, and which sockets the program can reach.
//!
//! systemd.exec(5) and systemd.syntax(7): lists are joined, and an empty value empties a list. If a setting that is not
//! a list has several values, the last value takes effect. `RestrictAddressFamilies=`: the first list decides whether
//! families are allowed or denied, and later lists add to it or remove from it.

/// The settings of a unit and its drop-ins. The drop-ins are read after the unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitSettings {
    pub user: Option<String>,
    pub group: Option<String>,
    pub supplementary_groups: Vec<String>,
    /// Whether systemd creates a user for the unit at each start.
    pub is_dynamic: bool,
    /// Whether the unit has its own `/tmp` and `/var/tmp`.
    pub has_private_tmp: bool,
    /// Whether the unit may share its `/tmp` and `/var/tmp` with another unit.
    pub joins_namespace: bool,
    pub home: Home,
    /// Folders and files that the unit cannot access.
    pub inaccessible: Vec<String>,
    /// Folders that the unit sees as empty folders.
    pub temporary: Vec<String>,
    /// The source and the target of each bind mount. Other lines do not hide a bind mount.
    pub bound: Vec<(String, String)>,
    /// The folder or image that is the unit's `/`.
    pub root: Option<String>,
    /// The line that forbids Unix sockets, with the value that takes effect: `RestrictAddressFamilies=AF_INET
    /// AF_INET6`.
    pub without_unix: Option<String>,
}

/// The effect of `ProtectHome=` on `/home`, `/root` and `/run/user`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Home {
    #[default]
    Open,
    /// Set by `yes` and `tmpfs`: the content of the folders is hidden. The value `read-only` does not affect sockets.
    Hidden,
}

/// The families of sockets that a unit may use.
#[derive(Debug, Default)]
struct Families {
    /// Whether the list allows its families, or denies them; `None` before the first list.
    allows: Option<bool>,
    names: Vec<String>,
}

impl UnitSettings {
    /// Reads the texts of a unit and its drop-ins, in the order in which they take effect.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut found = Self::default();
        let mut families = Families::default();
        for text in texts {
            for (key, value) in service_settings(text) {
                found.take(&key, value.trim(), &mut families);
            }
        }
        found.without_unix = families.without_unix();
        found
    }

    fn take(&mut self, key: &str, value: &str, families: &mut Families) {
        let one = || Some(value.to_owned()).filter(|it| !it.is_empty());
        let is_on = matches!(value.to_ascii_lowercase().as_str(), "yes" | "true" | "on" | "1" | "y" | "t");
        match key {
            "User" => self.user = one(),
            "Group" => self.group = one(),
            "SupplementaryGroups" => add(&mut self.supplementary_groups, value),
            "DynamicUser" => {
                self.is_dynamic = is_on;
                self.has_private_tmp |= is_on;
            }
            "PrivateTmp" => self.has_private_tmp = is_on || value == "disconnected" || self.is_dynamic,
            "JoinsNamespaceOf" => self.joins_namespace = !value.is_empty(),
            "ProtectHome" => {
                self.home = if is_on || value == "tmpfs" { Home::Hidden } else { Home::Open };
            }
            "InaccessiblePaths" | "InaccessibleDirectories" => add(&mut self.inaccessible, value),
            "TemporaryFileSystem" => add(&mut self.temporary, value),
            "BindPaths" | "BindReadOnlyPaths" => {
                if value.is_empty() {
                    self.bound.clear();
                }
                let pairs = value.split_whitespace().map(|it| {
                    let mut parts = it.trim_start_matches('-').split(':');
                    let source = parts.next().unwrap_or_default();
                    (source.to_owned(), parts.next().unwrap_or(source).to_owned())
                });
                self.bound.extend(pairs);
            }
            "RootDirectory" | "RootImage" => self.root = one().filter(|it| it != "/"),
            "RestrictAddressFamilies" => families.take(value),
            _ => {}
        }
    }
}

fn add(list: &mut Vec<String>, value: &str) {
    if value.is_empty() {
        list.clear();
    }
    list.extend(value.split_whitespace().map(str::to_owned));
}

impl Families {
    fn take(&mut self, value: &str) {
        if value.is_empty() {
            *self = Self::default();
            return;
        }
        if value == "none" {
            *self = Self { allows: Some(true), names: Vec::new() };
            return;
        }
        let (is_denied, names) = match value.strip_prefix('~') {
            Some(rest) => (true, rest),
            None => (false, value),
        };
        let allows = *self.allows.get_or_insert(!is_denied);
        for name in names.split_whitespace() {
            self.names.retain(|it| it != name);
            if allows != is_denied {
                self.names.push(name.to_owned());
            }
        }
    }

    fn without_unix(&self) -> Option<String> {
        let has_unix = self.names.iter().any(|it| it == "AF_UNIX" || it == "AF_LOCAL");
        let allows = self.allows?;
        let sign = if allows { "" } else { "~" };
        let names = if self.names.is_empty() { "none".to_owned() } else { self.names.join(" ") };
        (allows != has_unix).then(|| format!("RestrictAddressFamilies={sign}{names}"))
    }
}

/// The settings of `[Service]`, and the setting of `[Unit]` with which a unit shares namespaces. If a line ends with a
/// backslash, the next line continues it.
fn service_settings(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_service = false;
    let mut goes_on = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        let (body, continues) = match line.strip_suffix('\\') {
            Some(body) => (body.trim_end(), true),
            None => (line, false),
        };
        if goes_on {
            if let Some((_, value)) = found.last_mut() {
                value.push(' ');
                value.push_str(body);
            }
            goes_on = continues;
            continue;
        }
        if let Some(section) = body.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            is_service = matches!(section, "Service" | "Unit");
        } else if let Some((key, value)) = body.split_once('=').filter(|_| is_service) {
            found.push((key.trim().to_owned(), value.trim().to_owned()));
            goes_on = continues;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> UnitSettings {
        UnitSettings::read([&*format!("[Service]\n{lines}")])
    }

    #[test]
    fn the_last_value_counts_and_lists_are_put_together() {
        let found = read("User=a\nUser=www-data\nGroup=\nSupplementaryGroups=redis mail\nSupplementaryGroups=x\n");
        assert_eq!(found.user.as_deref(), Some("www-data"));
        assert_eq!((found.group, found.supplementary_groups), (None, vec!["redis".into(), "mail".into(), "x".into()]));
        let emptied = UnitSettings::read(["[Service]\nInaccessiblePaths=/run\n", "[Service]\nInaccessiblePaths=\n"]);
        assert_eq!(emptied, UnitSettings::default());
        assert_eq!(read("[Install]\nUser=x\n").user, None);
        assert!(read("DynamicUser=yes\nPrivateTmp=no\n").has_private_tmp);
    }

    #[test]
    fn unix_sockets_are_taken_by_an_allowed_list_without_them_and_by_a_denied_one_with_them() {
        let line = |lines: &str| read(lines).without_unix;
        assert_eq!(
            line("RestrictAddressFamilies=AF_INET AF_INET6\n").as_deref(),
            Some("RestrictAddressFamilies=AF_INET AF_INET6")
        );
        assert_eq!(line("RestrictAddressFamilies=AF_INET \\\n  AF_INET6\nRestrictAddressFamilies=AF_UNIX\n"), None);
        assert_eq!(line("RestrictAddressFamilies=~AF_PACKET\n"), None);
        assert_eq!(line("RestrictAddressFamilies=~AF_UNIX\n").as_deref(), Some("RestrictAddressFamilies=~AF_UNIX"));
        assert_eq!(line("RestrictAddressFamilies=~AF_UNIX\nRestrictAddressFamilies=AF_UNIX\n"), None);
        assert_eq!(
            line("RestrictAddressFamilies=AF_UNIX\nRestrictAddressFamilies=~AF_UNIX\n").as_deref(),
            Some("RestrictAddressFamilies=none")
        );
        assert_eq!(line("RestrictAddressFamilies=AF_INET\nRestrictAddressFamilies=\n"), None);
        assert_eq!(line("RestrictAddressFamilies=none\n").as_deref(), Some("RestrictAddressFamilies=none"));
    }
}
