//! Files as people write them, with random words, and the settings that their languages find in them.

use std::path::Path;

use super::words::{self, Words, encoded};
use looptax_testkit::dice::Dice;

/// Stands for the value of a setting that is a URL.
pub(super) const URL: &str = "(a URL)";

pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) oracle: &'static Oracle,
    pub(super) write: fn(&mut Dice, &Words) -> String,
    /// The settings that the language finds in the file, before or after the edit.
    pub(super) holds: fn(&Words, bool) -> Vec<(&'static str, String)>,
}

/// A program that reads such files. Its script takes files and prints lines `name<TAB>value` for each, and a line `--`
/// after each file.
pub(super) struct Oracle {
    pub(super) program: &'static str,
    pub(super) before: &'static [&'static str],
    pub(super) script: &'static str,
}

const PHP: Oracle = Oracle {
    program: "php",
    before: &["-d", "display_errors=stderr", "-r"],
    script: include_str!("../../data/readers/php.php"),
};

const PYTHON: Oracle = Oracle {
    program: "python3",
    before: &["-W", "ignore", "-c"],
    script: include_str!("../../data/readers/settings.py"),
};

const INI: Oracle = Oracle { program: "python3", before: &["-c"], script: include_str!("../../data/readers/ini.py") };

const RUBY: Oracle =
    Oracle { program: "ruby", before: &["-W0", "-e"], script: include_str!("../../data/readers/gitlab.rb") };

const YAML: Oracle =
    Oracle { program: "ruby", before: &["-W0", "-ryaml", "-e"], script: include_str!("../../data/readers/yaml.rb") };

const NODE: Oracle = Oracle { program: "node", before: &["-e"], script: include_str!("../../data/readers/node.js") };

const SHELL: Oracle = Oracle { program: "bash", before: &["-c"], script: include_str!("../../data/readers/shell.sh") };

/// Returns a comment line, an empty line or nothing.
fn aside(dice: &mut Dice, start: &str, end: &str) -> String {
    match dice.below(3) {
        0 => format!("{start} DB_HOST it's \"10.0.0.1\" é{end}\n"),
        1 => "\n".to_owned(),
        _ => String::new(),
    }
}

/// Returns the lines in random order, with comment lines between them.
fn shuffled(dice: &mut Dice, mut lines: Vec<String>, start: &str, end: &str) -> String {
    let mut text = String::new();
    while !lines.is_empty() {
        text.push_str(&aside(dice, start, end));
        let at = dice.below(lines.len());
        text.push_str(&lines.remove(at));
        text.push('\n');
    }
    text
}

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "WordPress",
        path: "/srv/wp-config.php",
        oracle: &PHP,
        write: |dice, words| {
            let define = |dice: &mut Dice, name: &str, value: &str| {
                let (name, value) = (words::php(dice, name), words::php(dice, value));
                let blank = dice.one(&["", " ", "\t"]);
                format!("define({blank}{name},{blank}{value}{blank});")
            };
            let lines = vec![
                define(dice, "DB_HOST", "127.0.0.1"),
                define(dice, "DB_USER", &words.user),
                define(dice, "DB_PASSWORD", &words.password),
                define(dice, "DB_NAME", &words.database),
                define(dice, "OTHER", &words.other),
            ];
            let comment = dice.one(&["//", "#"]);
            format!("<?php\n{}", shuffled(dice, lines, comment, ""))
        },
        holds: |words, is_moved| {
            let host = if is_moved { format!("localhost:{}", words.socket) } else { "127.0.0.1".to_owned() };
            vec![
                ("DB_HOST", host),
                ("DB_USER", words.user.clone()),
                ("DB_PASSWORD", words.password.clone()),
                ("DB_NAME", words.database.clone()),
                ("OTHER", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "Drupal",
        path: "/srv/sites/default/settings.php",
        oracle: &PHP,
        write: |dice, words| {
            let pair = |dice: &mut Dice, name: &str, value: &str| {
                let (name, value) = (words::php(dice, name), words::php(dice, value));
                format!("  {name} => {value},")
            };
            let lines = vec![
                pair(dice, "driver", "mysql"),
                pair(dice, "host", "127.0.0.1"),
                pair(dice, "username", &words.user),
                pair(dice, "password", &words.password),
                pair(dice, "database", &words.database),
                pair(dice, "prefix", &words.other),
            ];
            let (open, close) = dice.one(&[("array(", ")"), ("[", "]")]);
            let text = shuffled(dice, lines, "  /*", " */");
            format!("<?php\n$databases['default']['default'] = {open}\n{text}{close};\n")
        },
        holds: |words, is_moved| {
            let mut all = vec![
                ("databases/default/default/driver", "mysql".to_owned()),
                ("databases/default/default/host", "127.0.0.1".to_owned()),
                ("databases/default/default/username", words.user.clone()),
                ("databases/default/default/password", words.password.clone()),
                ("databases/default/default/database", words.database.clone()),
                ("databases/default/default/prefix", words.other.clone()),
            ];
            if is_moved {
                all.push(("databases/default/default/unix_socket", words.socket.to_owned()));
            }
            all
        },
    },
    Shape {
        name: "Joomla",
        path: "/srv/configuration.php",
        oracle: &PHP,
        write: |dice, words| {
            let set =
                |dice: &mut Dice, name: &str, value: &str| format!("\tpublic ${name} = {};", words::php(dice, value));
            let lines = vec![
                set(dice, "dbtype", "mysqli"),
                set(dice, "host", "127.0.0.1"),
                set(dice, "user", &words.user),
                set(dice, "password", &words.password),
                set(dice, "db", &words.database),
                set(dice, "sitename", &words.other),
            ];
            format!("<?php\nclass JConfig {{\n{}}}\n", shuffled(dice, lines, "\t//", ""))
        },
        holds: |words, is_moved| {
            let host = if is_moved { format!("unix:{}", words.socket) } else { "127.0.0.1".to_owned() };
            vec![
                ("dbtype", "mysqli".to_owned()),
                ("host", host),
                ("user", words.user.clone()),
                ("password", words.password.clone()),
                ("db", words.database.clone()),
                ("sitename", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "Django",
        path: "/srv/settings.py",
        oracle: &PYTHON,
        write: |dice, words| {
            let pair = |dice: &mut Dice, name: &str, value: &str| {
                let value = words::python(dice, value);
                format!("        '{name}': {value},")
            };
            let lines = vec![
                pair(dice, "ENGINE", "django.db.backends.mysql"),
                pair(dice, "HOST", "127.0.0.1"),
                pair(dice, "USER", &words.user),
                pair(dice, "PASSWORD", &words.password),
                pair(dice, "NAME", &words.database),
            ];
            let text = shuffled(dice, lines, "        #", "");
            let other = words::python(dice, &words.other);
            format!("OTHER = {other}\nDATABASES = {{\n    'default': {{\n{text}    }}\n}}\n")
        },
        holds: |words, is_moved| {
            let host = if is_moved { words.socket } else { "127.0.0.1" };
            let port = is_moved.then(|| ("DATABASES/default/PORT", String::new()));
            let mut all = vec![
                ("DATABASES/default/ENGINE", "django.db.backends.mysql".to_owned()),
                ("DATABASES/default/HOST", host.to_owned()),
                ("DATABASES/default/USER", words.user.clone()),
                ("DATABASES/default/PASSWORD", words.password.clone()),
                ("DATABASES/default/NAME", words.database.clone()),
                ("OTHER", words.other.clone()),
            ];
            all.extend(port);
            all
        },
    },
    Shape {
        name: "GitLab",
        path: "/etc/gitlab/gitlab.rb",
        oracle: &RUBY,
        write: |dice, words| {
            let set = |dice: &mut Dice, name: &str, value: &str| {
                format!("gitlab_rails['{name}'] = {}", words::ruby(dice, value))
            };
            let lines = vec![
                set(dice, "db_host", "127.0.0.1"),
                set(dice, "db_username", &words.user),
                set(dice, "db_password", &words.password),
                set(dice, "db_database", &words.database),
                set(dice, "time_zone", &words.other),
            ];
            shuffled(dice, lines, "#", "")
        },
        holds: |words, is_moved| {
            let folder = Path::new(words.socket).parent().unwrap().display().to_string();
            vec![
                ("db_host", if is_moved { folder } else { "127.0.0.1".to_owned() }),
                ("db_username", words.user.clone()),
                ("db_password", words.password.clone()),
                ("db_database", words.database.clone()),
                ("time_zone", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "Rails",
        path: "/srv/config/database.yml",
        oracle: &YAML,
        write: |dice, words| {
            let pair = |dice: &mut Dice, name: &str, value: &str| format!("  {name}: {}", words::yaml(dice, value));
            let lines = vec![
                pair(dice, "adapter", "mysql2"),
                pair(dice, "host", "127.0.0.1"),
                pair(dice, "username", &words.user),
                pair(dice, "password", &words.password),
                pair(dice, "database", &words.database),
                pair(dice, "encoding", &words.other),
            ];
            format!("production:\n{}", shuffled(dice, lines, "  #", ""))
        },
        holds: |words, is_moved| {
            let host = if is_moved {
                ("production/socket", words.socket.to_owned())
            } else {
                ("production/host", "127.0.0.1".to_owned())
            };
            vec![
                host,
                ("production/adapter", "mysql2".to_owned()),
                ("production/username", words.user.clone()),
                ("production/password", words.password.clone()),
                ("production/database", words.database.clone()),
                ("production/encoding", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "Doctrine",
        path: "/srv/config/packages/doctrine.yaml",
        oracle: &YAML,
        write: |dice, words| {
            let url = mysql_url(words).replace('%', "%%");
            let url = words::yaml(dice, &url);
            let other = words::yaml(dice, &words.other);
            format!("doctrine:\n  dbal:\n    url: {url} # ours\n    charset: {other}\n")
        },
        holds: |words, _| vec![("doctrine/dbal/url", URL.to_owned()), ("doctrine/dbal/charset", words.other.clone())],
    },
    Shape {
        name: "Ghost",
        path: "/srv/config.production.json",
        oracle: &NODE,
        write: |dice, words| {
            let pair = |dice: &mut Dice, name: &str, value: &str| format!("\"{name}\": {}", words::json(dice, value));
            let mut lines = vec![
                pair(dice, "host", "127.0.0.1"),
                pair(dice, "user", &words.user),
                pair(dice, "password", &words.password),
                pair(dice, "database", &words.database),
                pair(dice, "charset", &words.other),
            ];
            let first = lines.remove(dice.below(5));
            lines.push(first);
            let between = dice.one(&[",", ", ", ",\n      "]);
            format!(
                "{{\n  \"database\": {{\n    \"client\": \"mysql\",\n    \"connection\": {{ {} }}\n  }}\n}}\n",
                lines.join(between)
            )
        },
        holds: |words, is_moved| {
            let host = if is_moved {
                ("database/connection/socketPath", words.socket.to_owned())
            } else {
                ("database/connection/host", "127.0.0.1".to_owned())
            };
            vec![
                host,
                ("database/client", "mysql".to_owned()),
                ("database/connection/user", words.user.clone()),
                ("database/connection/password", words.password.clone()),
                ("database/connection/database", words.database.clone()),
                ("database/connection/charset", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "node",
        path: "/srv/knexfile.js",
        oracle: &NODE,
        write: |dice, words| {
            let pair =
                |dice: &mut Dice, name: &str, value: &str| format!("    {name}: {},", words::script(dice, value));
            let lines = vec![
                pair(dice, "host", "127.0.0.1"),
                pair(dice, "user", &words.user),
                pair(dice, "password", &words.password),
                pair(dice, "database", &words.database),
                pair(dice, "charset", &words.other),
            ];
            let text = shuffled(dice, lines, "    //", "");
            format!("module.exports = {{\n  client: 'mysql2',\n  connection: {{\n{text}  }},\n}};\n")
        },
        holds: |words, is_moved| {
            let host = if is_moved {
                ("connection/socketPath", words.socket.to_owned())
            } else {
                ("connection/host", "127.0.0.1".to_owned())
            };
            vec![
                host,
                ("client", "mysql2".to_owned()),
                ("connection/user", words.user.clone()),
                ("connection/password", words.password.clone()),
                ("connection/database", words.database.clone()),
                ("connection/charset", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "Laravel",
        path: "/srv/.env",
        oracle: &SHELL,
        write: |dice, words| {
            let set = |dice: &mut Dice, name: &str, value: &str| {
                let export = dice.one(&["", "export "]);
                format!("{export}{name}={}", words::shell(dice, value))
            };
            let lines = vec![
                set(dice, "DB_CONNECTION", "mysql"),
                set(dice, "DB_HOST", "127.0.0.1"),
                set(dice, "DB_USERNAME", &words.user),
                set(dice, "DB_PASSWORD", &words.password),
                set(dice, "DB_DATABASE", &words.database),
                set(dice, "OTHER", &words.other),
            ];
            format!("APP_KEY=x\n{}", shuffled(dice, lines, "#", ""))
        },
        holds: |words, is_moved| {
            let mut all = vec![
                ("DB_HOST", "127.0.0.1".to_owned()),
                ("DB_USERNAME", words.user.clone()),
                ("DB_PASSWORD", words.password.clone()),
                ("DB_DATABASE", words.database.clone()),
                ("OTHER", words.other.clone()),
            ];
            if is_moved {
                all.push(("DB_SOCKET", words.socket.to_owned()));
            }
            all
        },
    },
    Shape {
        name: "Symfony",
        path: "/srv/.env.local",
        oracle: &SHELL,
        write: |dice, words| {
            let lines = vec![
                format!("DATABASE_URL={}", words::shell(dice, &mysql_url(words))),
                format!("OTHER={}", words::shell(dice, &words.other)),
            ];
            format!("APP_SECRET=x\n{}", shuffled(dice, lines, "#", ""))
        },
        holds: |words, _| vec![("DATABASE_URL", URL.to_owned()), ("OTHER", words.other.clone())],
    },
    Shape {
        name: "Odoo",
        path: "/etc/odoo/odoo.conf",
        oracle: &INI,
        write: |dice, words| {
            let lines = vec![
                "db_host = 127.0.0.1".to_owned(),
                format!("db_user = {}", words.user),
                format!("db_password={}", words.password),
                format!("db_name={}", words.database),
                format!("other = {}", words.other),
            ];
            format!("[options]\n{}", shuffled(dice, lines, "#", ""))
        },
        holds: |words, is_moved| {
            let folder = Path::new(words.socket).parent().unwrap().display().to_string();
            vec![
                ("options/db_host", if is_moved { folder } else { "127.0.0.1".to_owned() }),
                ("options/db_user", words.user.clone()),
                ("options/db_password", words.password.clone()),
                ("options/db_name", words.database.clone()),
                ("options/other", words.other.clone()),
            ]
        },
    },
    Shape {
        name: "Alembic",
        path: "/srv/alembic.ini",
        oracle: &INI,
        write: |dice, words| {
            let url = format!(
                "mysql+pymysql://{}:{}@127.0.0.1/{}",
                encoded(&words.user),
                encoded(&words.password),
                encoded(&words.database)
            );
            let lines = vec![
                format!("sqlalchemy.url = {}", url.replace('%', "%%")),
                format!("other = {}", words.other.replace('%', "%%")),
            ];
            format!("[alembic]\n{}", shuffled(dice, lines, "#", ""))
        },
        holds: |words, _| vec![("alembic/sqlalchemy.url", URL.to_owned()), ("alembic/other", words.other.clone())],
    },
];

fn mysql_url(words: &Words) -> String {
    format!(
        "mysql://{}:{}@127.0.0.1:3306/{}?serverVersion=8.0",
        encoded(&words.user),
        encoded(&words.password),
        encoded(&words.database)
    )
}
