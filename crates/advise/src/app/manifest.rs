//! The direct dependencies of a project. They show which application uses a common name like `DATABASE_URL`.
//!
//! looptax does not read files that also list indirect dependencies (`composer.lock`, `poetry.lock`): a program with an
//! ORM depends on the driver indirectly, but does not pass its URL to the driver.

use serde_json::Value;

/// The names of the manifests, each with its package registry. Files that people write come before generated files.
const MANIFESTS: [(&str, &str); 11] = [
    ("package.json", "npm"),
    ("package-lock.json", "npm"),
    ("composer.json", "composer"),
    ("Gemfile", "gem"),
    ("Gemfile.lock", "gem"),
    ("requirements.txt", "pip"),
    ("pyproject.toml", "pip"),
    ("Pipfile", "pip"),
    ("go.mod", "go"),
    ("Cargo.toml", "cargo"),
    ("mix.exs", "hex"),
];

/// The signs in the manifests of a folder, each as `library:npm/NAME`. A manifest that cannot be read gives no signs.
pub fn libraries(read: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    let texts = MANIFESTS.iter().filter_map(|(file, whose)| Some((file, whose, read(file)?)));
    let signs = texts.flat_map(|(file, whose, text)| {
        let names = named(file, &String::from_utf8_lossy(&text));
        names.into_iter().map(move |name| format!("library:{whose}/{name}"))
    });
    signs.collect()
}

fn named(manifest: &str, text: &str) -> Vec<String> {
    match manifest {
        "package.json" => of_json(text, "/dependencies"),
        "package-lock.json" => of_json(text, "/packages//dependencies"),
        "composer.json" => of_json(text, "/require"),
        "Gemfile.lock" => text.lines().skip_while(|it| *it != "DEPENDENCIES").skip(1).filter_map(first_word).collect(),
        "requirements.txt" => text.lines().filter_map(of_python).collect(),
        "go.mod" => text.lines().filter_map(of_go).collect(),
        "Gemfile" | "mix.exs" => text.lines().filter_map(of_ruby_or_elixir).collect(),
        _ => of_toml(text),
    }
}

fn of_json(text: &str, at: &str) -> Vec<String> {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    let own = all.pointer(at).and_then(Value::as_object);
    own.map_or_else(Vec::new, |it| it.keys().cloned().collect())
}

/// Reads tables and lists whose names end in `dependencies` (including Poetry's groups), and Pipfile's `packages`.
fn of_toml(text: &str) -> Vec<String> {
    let all: toml::Table = toml::from_str(text).unwrap_or_default();
    let mut names = Vec::new();
    add_from(&all, &mut names);
    names
}

fn add_from(table: &toml::Table, names: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) if key == "dependencies" || key == "packages" => {
                names.extend(inner.keys().map(|it| it.to_lowercase()));
            }
            toml::Value::Array(items) if key == "dependencies" => {
                names.extend(items.iter().filter_map(|it| of_python(it.as_str()?)));
            }
            toml::Value::Table(inner) if !key.contains("dev") => add_from(inner, names),
            _ => {}
        }
    }
}

/// Returns `psycopg2` for `psycopg2[binary]>=2.9 # why`. In Python's package names, case does not matter, and `_`
/// equals `-`.
fn of_python(line: &str) -> Option<String> {
    let line = line.trim();
    let end = line.find(|it: char| !it.is_ascii_alphanumeric() && !"-_.".contains(it)).unwrap_or(line.len());
    (end > 0 && !line.starts_with('-')).then(|| line[..end].to_lowercase().replace('_', "-"))
}

/// Returns `pg` for `gem "pg", "~> 1.5"`, and `postgrex` for `{:postgrex, ">= 0.0.0"}`.
fn of_ruby_or_elixir(line: &str) -> Option<String> {
    let line = line.trim_start();
    let name = line.strip_prefix("gem ").or_else(|| line.strip_prefix("{:"))?;
    let name = name.trim_start().trim_start_matches(['"', '\'']);
    Some(name.split(['"', '\'', ',', ' ']).next()?.to_owned())
}

/// Returns `github.com/jackc/pgx` for `github.com/jackc/pgx/v5 v5.5.0`. `None` for a module that only another library
/// needs: the file marks such a module with `// indirect`.
fn of_go(line: &str) -> Option<String> {
    let line = line.trim_start().trim_start_matches("require ");
    let name = line.split_once(" v").filter(|_| !line.contains("// indirect"))?.0.trim();
    let (before, last) = name.rsplit_once('/')?;
    let is_version = last.strip_prefix('v').is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
    Some(if is_version { before } else { name }.to_owned())
}

/// Returns `rails` for `  rails (~> 7.1)!`.
fn first_word(line: &str) -> Option<String> {
    line.split([' ', '!']).find(|it| !it.is_empty()).filter(|_| line.starts_with("  ")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_project_names_its_own_libraries_and_not_those_below_them() {
        let cases: &[(&str, &str, &[&str])] = &[
            ("package.json", r#"{"dependencies":{"pg":"^8"},"devDependencies":{"mysql2":"3"}}"#, &["pg"]),
            ("package.json", "{\"dependencies\":[1]} x", &[]),
            (
                "package-lock.json",
                r#"{"packages":{"":{"dependencies":{"ioredis":"5"}},"node_modules/redis":{}}}"#,
                &["ioredis"],
            ),
            ("composer.json", r#"{"require":{"php":"^8","predis/predis":"^2"}}"#, &["php", "predis/predis"]),
            ("Gemfile", "source 'x'\n  gem 'pg', '~> 1'\n# gem 'mysql2'\ngem \"rails\"\n", &["pg", "rails"]),
            (
                "Gemfile.lock",
                "GEM\n  specs:\n    pg (1.5)\n\nDEPENDENCIES\n  rails (~> 7.1)\n  sidekiq!\n\nBUNDLED WITH\n   2.4\n",
                &["rails", "sidekiq", "2.4"],
            ),
            ("requirements.txt", "# a\n-r x.txt\nPsycopg2_binary[a]>=2.9 ; x\nredis\n", &["psycopg2-binary", "redis"]),
            (
                "pyproject.toml",
                "[project]\ndependencies = [\"asyncpg>=0.2\"]\n[tool.poetry.dependencies]\nDjango = \"4\"\n",
                &["asyncpg", "django"],
            ),
            ("pyproject.toml", "[tool.poetry.group.dev.dependencies]\npytest = \"7\"\n", &[]),
            ("Pipfile", "[packages]\npymysql = \"*\"\n[dev-packages]\nx = \"*\"\n", &["pymysql"]),
            (
                "go.mod",
                "module a\ngo 1.22\nrequire (\n\tgithub.com/jackc/pgx/v5 v5.5.0\n\tgithub.com/lib/pq v1.10.0 // indirect\n)\n",
                &["github.com/jackc/pgx"],
            ),
            ("go.mod", "require github.com/lib/pq v1.10.9\n", &["github.com/lib/pq"]),
            ("Cargo.toml", "[dependencies]\nsqlx = \"0.8\"\n[dev-dependencies]\ndiesel = \"2\"\n", &["sqlx"]),
            ("mix.exs", "defp deps do\n  [\n    {:postgrex, \">= 0.0.0\"},\n", &["postgrex"]),
        ];
        for (name, text, wanted) in cases {
            assert_eq!(named(name, text), *wanted, "{name}: {text}");
        }
    }
}
