//! The table of applications (`data/apps.toml`).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use looptax_model::dsn::Kind;
use serde::Deserialize;

use super::code::Language;
use super::lines::Lines;
use super::web::Proxy;
use crate::Takes;
use crate::packed::{packed, unpack};

/// The name of the table's entries for unknown applications.
pub(crate) const GUESSED: &str = "guessed";
/// How the text about a reload begins if the application reads its files each time.
pub const NOTHING_TO_DO: &str = "nothing to do";

const TABLE: &[u8] = packed!("apps");
const CALLS: &[u8] = packed!("calls");

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Php,
    Perl,
    Python,
    Ruby,
    Script,
    Go,
    /// Also Kotlin, Scala and C#.
    Java,
    Yaml,
    Xml,
    /// A word, blanks, and the value: `SQLConnectInfo db@host user`.
    Directives,
    /// Definitions and module parameters of Kamailio.
    Kamailio,
    /// `name {` or `name = {` around settings: Bacula, `FreeRADIUS`, Sphinx, Logstash, Play.
    Blocks,
    /// Blocks, with values that only a program can evaluate.
    Lua,
    Dotenv,
    Ini,
    Pairs,
    Arguments,
    /// A systemd unit, which sets the environment of its program.
    Unit,
    /// Compose files and Kubernetes manifests, which set the environment of their containers.
    Containers,
    /// A Procfile, with a command line for each process.
    Procfile,
    /// Shell scripts and crontabs.
    Shell,
    /// A Dockerfile, which sets the environment of the image's containers.
    Dockerfile,
    Nginx,
    Apache,
    Caddy,
    Haproxy,
}

impl Format {
    /// Whether the file holds environment variables, with names that depend on the program.
    pub(crate) const fn is_environment(self) -> bool {
        matches!(self, Self::Dotenv | Self::Unit | Self::Containers | Self::Dockerfile)
    }

    pub(crate) const fn language(self) -> Option<Language> {
        Some(match self {
            Self::Php => Language::Php,
            Self::Perl => Language::Perl,
            Self::Python => Language::Python,
            Self::Ruby => Language::Ruby,
            Self::Script => Language::Script,
            Self::Go => Language::Go,
            Self::Java => Language::Java,
            _ => return None,
        })
    }

    pub(crate) const fn proxy(self) -> Option<Proxy> {
        Some(match self {
            Self::Nginx => Proxy::Nginx,
            Self::Apache => Proxy::Apache,
            Self::Caddy => Proxy::Caddy,
            Self::Haproxy => Proxy::Haproxy,
            _ => return None,
        })
    }

    pub(crate) const fn lines(self) -> Option<Lines> {
        Some(match self {
            Self::Dotenv => Lines::Dotenv,
            Self::Ini => Lines::Ini,
            Self::Pairs => Lines::Pairs,
            Self::Arguments => Lines::Arguments,
            Self::Unit => Lines::Unit,
            Self::Dockerfile => Lines::Dockerfile,
            Self::Directives => Lines::Directives,
            Self::Kamailio => Lines::Kamailio,
            _ => return None,
        })
    }
}

/// The forms of a host that an application reads, besides a name or an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostForm {
    /// `/run/mysqld/mysqld.sock`, or PostgreSQL's folder.
    Path,
    /// `127.0.0.1:3306`.
    Port,
    /// `localhost:/run/mysqld/mysqld.sock`; with another host, the connection uses TCP.
    Colon,
    /// In addition to [`Colon`](Self::Colon), `localhost:3307:/run/mysqld/mysqld.sock`, as in `WordPress`.
    #[serde(rename = "port-colon")]
    PortColon,
    /// In addition to [`Path`](Self::Path), `@name`: libpq's abstract sockets.
    Abstract,
    /// `unix:/run/mysqld/mysqld.sock`.
    Unix,
    /// `!/run/redis/redis.sock`.
    Bang,
    /// In addition to the other forms, the host may be followed by a number (its weight), and then by a name.
    Weight,
    /// Several hosts, separated by commas or blanks; the driver may try any of them first.
    List,
    /// Several addresses, separated by semicolons; an address that is a path is the socket:
    /// `0.0.0.0:6033;/tmp/proxysql.sock`.
    Several,
}

/// When a socket setting takes effect although there is also a host setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SocketRule {
    #[default]
    Wins,
    /// If the host is empty or `localhost`.
    Localhost,
    /// If the host is `localhost` or 127.0.0.1.
    Loopback,
    /// By the rule of the driver that the URL's scheme names, as in `SQLAlchemy`.
    Driver,
}

/// The port that must be set for the application to use a path as host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PathPort {
    #[default]
    Any,
    /// The file has to set the port to 0.
    Zero,
    ZeroOrNone,
}

/// A key and its values. The first decision whose key occurs in the file decides whether the entry applies to a
/// connection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decision {
    pub(crate) key: String,
    /// The values with which the entry applies; `*` stands for any text.
    pub(crate) is: Vec<String>,
    /// Whether the next decision is tried if no value matches.
    #[serde(default)]
    pub(crate) hint: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The role whose setting gets a new value.
    pub(crate) set: Option<Role>,
    /// The new value, as a template.
    #[serde(default)]
    pub(crate) to: String,
    /// Whether the new value is appended to the old one.
    #[serde(default)]
    pub(crate) behind: bool,
    /// The role whose setting is replaced, if the role in `set` has no setting yet.
    pub(crate) instead_of: Option<Role>,
    pub(crate) drop: Option<Role>,
}

impl Step {
    /// Whether the new value contains the folder of `PostgreSQL`'s socket.
    pub(crate) fn writes_folder(&self) -> bool {
        self.to.contains("«folder")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Url,
    Host,
    /// libpq's IP address, which overrides the host.
    Hostaddr,
    Port,
    Socket,
    Scheme,
    User,
    Password,
    Database,
}

impl Role {
    pub(crate) const ALL: [Self; 9] = [
        Self::Url,
        Self::Host,
        Self::Hostaddr,
        Self::Port,
        Self::Socket,
        Self::Scheme,
        Self::User,
        Self::Password,
        Self::Database,
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Evidence {
    /// A test checks the entry by running the program itself.
    Tried,
    /// The entry is taken from the program's source or manual.
    #[default]
    Read,
    Package,
    Report,
    /// The entry is generally known, and was not checked again.
    Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    #[default]
    Client,
    /// The file of a server, which sets where the server listens.
    Server,
    /// The file of a server, with keys that other applications also use. The entry applies only if the user names it.
    NamedServer,
}

/// One application, and one format of its configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is a separate fact")]
pub(crate) struct App {
    #[serde(default = "guessed")]
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) files: Vec<String>,
    pub(crate) format: Format,
    /// Driver calls that have the settings as arguments. Each call has the name of its library before it.
    #[serde(default)]
    pub(crate) calls: Vec<String>,
    /// The dialect that has the driver's text for the socket; empty if no dialect has it.
    #[serde(default)]
    pub(crate) dialect: String,
    /// The host that is used by a driver call without a host, or by an application that has a port setting and no host.
    pub(crate) usual: Option<String>,
    #[serde(default)]
    pub(crate) url: Vec<String>,
    #[serde(default)]
    pub(crate) schemes: Vec<String>,
    #[serde(default)]
    pub(crate) host: Vec<String>,
    #[serde(default)]
    pub(crate) hostaddr: Vec<String>,
    #[serde(default)]
    pub(crate) port: Vec<String>,
    #[serde(default)]
    pub(crate) socket: Vec<String>,
    #[serde(default)]
    pub(crate) scheme: Vec<String>,
    #[serde(default)]
    pub(crate) user: Vec<String>,
    #[serde(default)]
    pub(crate) password: Vec<String>,
    #[serde(default)]
    pub(crate) database: Vec<String>,
    /// Settings whose value is a list of settings: `host=… dbname=…`, `Server=…;Database=…`.
    #[serde(default)]
    pub(crate) lists: Vec<String>,
    #[serde(default)]
    pub(crate) decide: Vec<Decision>,
    /// Whether the entry applies if no key decides.
    #[serde(default = "yes")]
    pub(crate) otherwise: bool,
    /// Why the kind is not certain if no key decides; empty if only this kind is possible.
    #[serde(default)]
    pub(crate) unsaid: String,
    /// Texts that the application's file must all contain, whatever its name; empty if the content does not show the
    /// application.
    #[serde(default)]
    pub(crate) content: Vec<String>,
    /// Signs that distinguish the application from other applications with the same keys: `key:NAME`, `beside:FILE`,
    /// `library:NAME`, `program:NAME` and so on.
    #[serde(default)]
    pub(crate) signs: Vec<String>,
    #[serde(default)]
    pub(crate) side: Side,
    /// A character that has a special meaning in the application's files unless it is doubled: `%` in Symfony's
    /// containers and in Python's `configparser`.
    pub(crate) doubled: Option<char>,
    /// Settings that override all other settings of a connection. If one of them is present, looptax does not know the
    /// server.
    #[serde(default)]
    pub(crate) over: Vec<String>,
    /// The file belongs to another application if none of these signs is present.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// The file belongs to another application if one of these signs is present.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// Characters that a socket's path must not contain in this setting.
    #[serde(default)]
    pub(crate) unfit: String,
    /// Whether the driver accepts an IPv6 address only without brackets.
    #[serde(default)]
    pub(crate) bare_ip: bool,
    /// The text that stands for the section's name in values: `$pool`.
    pub(crate) section: Option<String>,
    #[serde(default)]
    pub(crate) host_is: Vec<HostForm>,
    /// Example URLs in other forms that the driver also reads.
    #[serde(default)]
    pub(crate) url_is: Vec<String>,
    pub(crate) localhost: Option<Takes>,
    pub(crate) nowhere: Option<Takes>,
    #[serde(default)]
    pub(crate) socket_rule: SocketRule,
    /// Roles for which the driver distinguishes an empty value from a missing value.
    #[serde(default)]
    pub(crate) blank: Vec<Role>,
    /// The port that the application uses without a port setting, if it is not the default port of the kind of server.
    pub(crate) usual_port: Option<u16>,
    /// The database name that means all databases.
    pub(crate) all_databases: Option<String>,
    /// Whether the file also contains connections of other programs or kinds of server, which are found by their keys.
    #[serde(default)]
    pub(crate) shares: bool,
    /// Whether port 0 means the default port.
    #[serde(default)]
    pub(crate) zero_port: bool,
    /// The port that must be set if the host is a path.
    #[serde(default)]
    pub(crate) path_port: PathPort,
    #[serde(default)]
    pub(crate) change: Vec<Step>,
    /// Steps for a person, in addition to the change or instead of it.
    #[serde(default)]
    pub(crate) advice: Words,
    /// Whether the change works only with a third-party library, which may be missing: then looptax writes nothing.
    #[serde(default)]
    pub(crate) needs_library: bool,
    /// How the application reads its changed files; begins with [`NOTHING_TO_DO`] if it reads them each time.
    #[serde(default)]
    pub(crate) restart: String,
    #[serde(default)]
    pub(crate) traps: Vec<Words>,
    #[serde(default)]
    pub(crate) evidence: Evidence,
    #[expect(dead_code, reason = "for the maintainers of the table")]
    #[serde(default)]
    source: String,
}

/// Advice for a person about an application.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "WordsForm")]
pub(crate) struct Words {
    pub(crate) text: String,
    /// If `when` has any signs, at least one of them must be present.
    when: Vec<String>,
    /// Signs of which none may be present.
    unless: Vec<String>,
}

/// The form in the table: a text for every application of the entry, or a text that depends on signs.
#[derive(Deserialize)]
#[serde(untagged)]
enum WordsForm {
    General(String),
    OfSigns {
        words: String,
        #[serde(default)]
        when: Vec<String>,
        #[serde(default)]
        unless: Vec<String>,
    },
}

impl From<WordsForm> for Words {
    fn from(form: WordsForm) -> Self {
        match form {
            WordsForm::General(text) => Self { text, ..Self::default() },
            WordsForm::OfSigns { words, when, unless } => Self { text: words, when, unless },
        }
    }
}

impl Words {
    /// Whether the advice is general: it concerns a person who writes the lines by hand, and does not depend on signs.
    pub(crate) fn are_general(&self) -> bool {
        self.when.is_empty() && self.unless.is_empty()
    }

    pub(crate) fn hold(&self, has_sign: impl Fn(&str) -> bool) -> bool {
        let has = |it: &String| has_sign(it);
        (self.when.is_empty() || self.when.iter().any(has)) && !self.unless.iter().any(has)
    }

    /// The signs that the advice depends on.
    pub(crate) fn signs(&self) -> impl Iterator<Item = &String> {
        self.when.iter().chain(&self.unless)
    }
}

fn guessed() -> String {
    GUESSED.to_owned()
}

const fn yes() -> bool {
    true
}

impl App {
    /// Whether the entry is not an application but a carrier, whose file sets the environment of other programs.
    pub(crate) fn is_carrier(&self) -> bool {
        self.format.is_environment() && Role::ALL.iter().all(|it| self.patterns(*it).is_empty())
    }

    /// Whether the entry stands for applications that are found only by the names of their settings.
    pub(crate) fn is_guess(&self) -> bool {
        self.name == GUESSED && self.calls.is_empty()
    }

    /// Whether the change writes the folder of `PostgreSQL`'s socket, not the socket's file.
    pub(crate) fn writes_folder(&self) -> bool {
        self.change.iter().any(Step::writes_folder)
    }

    /// All advice of the entry.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Words> {
        self.traps.iter().chain([&self.advice])
    }

    pub(crate) fn patterns(&self, role: Role) -> &[String] {
        match role {
            Role::Url => &self.url,
            Role::Host => &self.host,
            Role::Hostaddr => &self.hostaddr,
            Role::Port => &self.port,
            Role::Socket => &self.socket,
            Role::Scheme => &self.scheme,
            Role::User => &self.user,
            Role::Password => &self.password,
            Role::Database => &self.database,
        }
    }
}

#[derive(Deserialize)]
struct Table {
    app: Vec<App>,
}

/// Texts in other files on which signs of the table depend. Each has the path of the file, relative to the folder of
/// the application's file, and the text. If the file contains the text, the source gets the neighbour `FILE:TEXT`.
pub fn texts_beside() -> &'static BTreeSet<(&'static str, &'static str)> {
    static TEXTS: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
        let signs = |app: &'static App| {
            let own = [&app.signs, &app.needs, &app.unless].into_iter().flatten();
            own.chain(app.words().flat_map(Words::signs))
        };
        apps().iter().flat_map(signs).filter_map(|it| it.strip_prefix("beside:")?.split_once(':')).collect()
    });
    &TEXTS
}

pub(crate) fn apps() -> &'static [App] {
    static APPS: LazyLock<Vec<App>> = LazyLock::new(|| {
        let tables: [Table; 2] = [unpack(TABLE), unpack(CALLS)];
        tables.into_iter().flat_map(|it| it.app).collect()
    });
    &APPS
}
