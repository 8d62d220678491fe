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

/// The name of the entries for unknown applications.
pub(crate) const GUESSED: &str = "guessed";

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
    /// Java, Kotlin, Scala, C#.
    Java,
    Yaml,
    Xml,
    /// A word, blanks, and its value: `SQLConnectInfo db@host user`.
    Directives,
    /// Kamailio's definitions and module parameters.
    Kamailio,
    /// `name {` and `name = {` around settings: Bacula, `FreeRADIUS`, Sphinx, Logstash, Play.
    Blocks,
    /// The same, with values that only a program evaluates.
    Lua,
    Dotenv,
    Ini,
    Pairs,
    Arguments,
    /// A unit of systemd: the environment that it gives its program.
    Unit,
    /// Compose files and Kubernetes' manifests: the environment of their containers.
    Containers,
    /// A Procfile: a command line for each process.
    Procfile,
    /// Scripts of a shell and crontabs.
    Shell,
    /// The environment of an image's containers.
    Dockerfile,
    Nginx,
    Apache,
    Caddy,
    Haproxy,
}

impl Format {
    /// Whether it holds variables of an environment, under whatever names the program uses.
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

/// Forms of a host other than a name or an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostForm {
    /// `/run/mysqld/mysqld.sock`, or PostgreSQL's folder.
    Path,
    /// `127.0.0.1:3306`.
    Port,
    /// `localhost:/run/mysqld/mysqld.sock`; with another host it is TCP.
    Colon,
    /// In addition to [`Colon`](Self::Colon): `localhost:3307:/run/mysqld/mysqld.sock`, as `WordPress` reads it.
    #[serde(rename = "port-colon")]
    PortColon,
    /// In addition to [`Path`](Self::Path): `@name`, libpq's abstract sockets.
    Abstract,
    /// `unix:/run/mysqld/mysqld.sock`.
    Unix,
    /// `!/run/redis/redis.sock`.
    Bang,
    /// In addition to the others: a number after it, and a name after that.
    Weight,
    /// Several hosts of one transport, separated by commas or blanks: the first counts.
    List,
    /// Several addresses separated by semicolons; one that is a path is the socket: `0.0.0.0:6033;/tmp/proxysql.sock`.
    Several,
}

/// When a socket setting counts that is set in addition to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SocketRule {
    #[default]
    Wins,
    /// If the host is empty or `localhost`.
    Localhost,
    /// If the host is `localhost` or 127.0.0.1.
    Loopback,
    /// As in the driver that the URL's scheme names: `SQLAlchemy`.
    Driver,
}

/// The port that must be set for a path as host to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PathPort {
    #[default]
    Any,
    /// 0, which must be written.
    Zero,
    ZeroOrNone,
}

/// The first decision whose key is present decides whether the application applies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decision {
    pub(crate) key: String,
    /// Values, with `*` for anything.
    pub(crate) is: Vec<String>,
    /// Whether the next key decides if no value matches.
    #[serde(default)]
    pub(crate) hint: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The role that gets a value.
    pub(crate) set: Option<Role>,
    /// Its new value, as a template.
    #[serde(default)]
    pub(crate) to: String,
    /// Whether the new value is appended to the old one.
    #[serde(default)]
    pub(crate) behind: bool,
    /// The role whose setting it replaces, if it has no setting yet.
    pub(crate) instead_of: Option<Role>,
    pub(crate) drop: Option<Role>,
}

impl Step {
    /// Whether its value contains the folder of `PostgreSQL`'s socket.
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
    /// A test checks it with the program itself.
    Tried,
    /// Read in the program's source or manual.
    #[default]
    Read,
    Package,
    Report,
    /// Generally known; not checked again.
    Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    #[default]
    Client,
    /// A server's own file: where it listens.
    Server,
    /// The same, under keys that other applications also use: it applies only if the user names it.
    NamedServer,
}

/// One application and one format of its configuration.
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
    /// Calls whose arguments are its settings, under the names of their libraries.
    #[serde(default)]
    pub(crate) calls: Vec<String>,
    /// The dialect that has its text for the socket; empty if none has.
    #[serde(default)]
    pub(crate) dialect: String,
    /// The host that such a call, or an application with a port setting, uses if no host is given.
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
    /// Whether it applies if no key decides.
    #[serde(default = "yes")]
    pub(crate) otherwise: bool,
    /// Why its kind is not certain if no key decides; empty if it can only be this kind.
    #[serde(default)]
    pub(crate) unsaid: String,
    /// Texts that its file must all contain, whatever the file's name; empty if the text of its file shows nothing.
    #[serde(default)]
    pub(crate) content: Vec<String>,
    /// Signs that distinguish it from others with the same keys: `key:NAME`, `beside:FILE`, `library:NAME`,
    /// `program:NAME` and so on.
    #[serde(default)]
    pub(crate) signs: Vec<String>,
    /// Whether it is the file of a client or of a server.
    #[serde(default)]
    pub(crate) side: Side,
    /// A character that is written twice in its files to mean itself: `%` in Symfony's containers and Python's
    /// `configparser`.
    pub(crate) doubled: Option<char>,
    /// Settings that override all of these: if one is present, the server is not known.
    #[serde(default)]
    pub(crate) over: Vec<String>,
    /// Without one of these signs it is another application.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// With one of these signs it is another application.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// Characters that a socket's path cannot contain there.
    #[serde(default)]
    pub(crate) unfit: String,
    /// Whether its driver accepts an IPv6 address only without brackets.
    #[serde(default)]
    pub(crate) bare_ip: bool,
    /// The text that stands for the section's name in its values: `$pool`.
    pub(crate) section: Option<String>,
    #[serde(default)]
    pub(crate) host_is: Vec<HostForm>,
    /// Example URLs in further forms that its driver reads.
    #[serde(default)]
    pub(crate) url_is: Vec<String>,
    pub(crate) localhost: Option<Takes>,
    pub(crate) nowhere: Option<Takes>,
    #[serde(default)]
    pub(crate) socket_rule: SocketRule,
    /// Roles whose empty value its driver does not treat as absent.
    #[serde(default)]
    pub(crate) blank: Vec<Role>,
    /// The port that it uses without a setting, if it is not the usual one of its kind of server.
    pub(crate) usual_port: Option<u16>,
    /// The name that means all databases.
    pub(crate) all_databases: Option<String>,
    /// Whether its file also has connections of other programs or kinds: these are found by their keys.
    #[serde(default)]
    pub(crate) shares: bool,
    /// Whether port 0 means the usual one.
    #[serde(default)]
    pub(crate) zero_port: bool,
    /// The port that must be set with a path as host.
    #[serde(default)]
    pub(crate) path_port: PathPort,
    #[serde(default)]
    pub(crate) change: Vec<Step>,
    /// Steps for a person, in addition or instead.
    #[serde(default)]
    pub(crate) advice: Words,
    /// Whether the change works only with a third-party library, which may be missing: then looptax writes nothing.
    #[serde(default)]
    pub(crate) needs_library: bool,
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
    /// Signs of which at least one must be present, if any are listed.
    when: Vec<String>,
    /// Signs that must all be absent.
    unless: Vec<String>,
}

/// In the table: advice that is true of every application of the row, or advice with its signs.
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
    /// Whether the advice is for a person who writes the lines by hand, and not about one application.
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
    /// Whether it is not an application but a carrier, which gives other programs their environment.
    pub(crate) fn is_carrier(&self) -> bool {
        self.format.is_environment() && Role::ALL.iter().all(|it| self.patterns(*it).is_empty())
    }

    /// Whether it was found only by the names of its settings.
    pub(crate) fn is_guess(&self) -> bool {
        self.name == GUESSED && self.calls.is_empty()
    }

    /// Whether it needs the folder of `PostgreSQL`'s socket, and not the socket's file.
    pub(crate) fn writes_folder(&self) -> bool {
        self.change.iter().any(Step::writes_folder)
    }

    /// All advice about it.
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

/// Texts in other files that the table needs: the file, relative to the folder of the application's file, and the text.
/// If the file contains the text, the source has the neighbour `FILE:TEXT`.
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
