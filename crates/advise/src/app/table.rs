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

/// The name of the entries for applications that are not known.
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
    /// A word, blanks, and what it is set to: `SQLConnectInfo db@host user`.
    Directives,
    /// Kamailio's definitions and parameters of modules.
    Kamailio,
    /// `name {` and `name = {` around settings: Bacula, `FreeRADIUS`, Sphinx, Logstash, Play.
    Blocks,
    /// The same with values that only a program evaluates.
    Lua,
    Dotenv,
    Ini,
    Pairs,
    Arguments,
    /// A unit of systemd: what it hands to its program as environment.
    Unit,
    /// Compose files and Kubernetes' manifests: the environment of their containers.
    Containers,
    /// A Procfile: a command line for each process.
    Procfile,
    /// Scripts of a shell and crontabs.
    Shell,
    /// What an image's containers have as their environment.
    Dockerfile,
    Nginx,
    Apache,
    Caddy,
    Haproxy,
}

impl Format {
    /// Whether it holds variables of an environment, under whatever names the program wants.
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

/// What a host may hold beside a name or an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostForm {
    /// `/run/mysqld/mysqld.sock`, or PostgreSQL's folder.
    Path,
    /// `127.0.0.1:3306`.
    Port,
    /// `localhost:/run/mysqld/mysqld.sock`; with another host it is TCP.
    Colon,
    /// Beside [`Colon`](Self::Colon): `localhost:3307:/run/mysqld/mysqld.sock`, as `WordPress` reads it.
    #[serde(rename = "port-colon")]
    PortColon,
    /// Beside [`Path`](Self::Path): `@name`, libpq's abstract sockets.
    Abstract,
    /// `unix:/run/mysqld/mysqld.sock`.
    Unix,
    /// `!/run/redis/redis.sock`.
    Bang,
    /// Beside the others: a number behind it, and a name behind that.
    Weight,
    /// Several of one transport, with commas or blanks between them: the first counts.
    List,
    /// Several addresses between semicolons, of which a path is the socket: `0.0.0.0:6033;/tmp/proxysql.sock`.
    Several,
}

/// When a socket beside a host counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SocketRule {
    #[default]
    Wins,
    /// Where the host is empty or `localhost`.
    Localhost,
    /// Where the host is `localhost` or 127.0.0.1.
    Loopback,
    /// As the driver does that the URL's scheme names: `SQLAlchemy`.
    Driver,
}

/// The port that must stand beside a path for the path to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PathPort {
    #[default]
    Any,
    /// 0, which has to be written.
    Zero,
    ZeroOrNone,
}

/// The first of these whose key is there decides whether the application applies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decision {
    pub(crate) key: String,
    /// Values, with `*` for anything.
    pub(crate) is: Vec<String>,
    /// Whether the next key decides where none of them fits.
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
    /// Whether that comes behind the value that is there.
    #[serde(default)]
    pub(crate) behind: bool,
    /// The role whose place it takes, where it has none of its own yet.
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
    /// libpq's IP address, which wins over the host.
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
    /// A test follows it with the program itself.
    Tried,
    /// Read in the program's source or manual.
    #[default]
    Read,
    Package,
    Report,
    /// Generally known, not read again.
    Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    #[default]
    Client,
    /// A server's own: where it listens.
    Server,
    /// The same under keys that are others' as well: only who names it means it.
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
    /// The host that such a call, or an application that is told a port, takes without one.
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
    /// Whether it applies where nothing decides.
    #[serde(default = "yes")]
    pub(crate) otherwise: bool,
    /// Why its kind is not certain where nothing decides; empty where no other kind can be meant.
    #[serde(default)]
    pub(crate) unsaid: String,
    /// Texts that all are in its file, whatever that is called; empty where its names tell nothing.
    #[serde(default)]
    pub(crate) content: Vec<String>,
    /// What tells it from others with the same keys: `key:NAME`, `beside:FILE`, `library:NAME`, `program:NAME` and so on.
    #[serde(default)]
    pub(crate) signs: Vec<String>,
    /// Whose file it is: of one who asks, or of a server.
    #[serde(default)]
    pub(crate) side: Side,
    /// A sign that its files hold twice where it is meant: `%` of Symfony's containers and of Python's `configparser`.
    pub(crate) doubled: Option<char>,
    /// Settings that win over all of these: where one is there, it is open where it goes.
    #[serde(default)]
    pub(crate) over: Vec<String>,
    /// Without one of these signs it is another application.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// With one of these signs it is another application.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// Characters that a socket's path cannot have there.
    #[serde(default)]
    pub(crate) unfit: String,
    /// Whether its driver takes no brackets around an IPv6 address.
    #[serde(default)]
    pub(crate) bare_ip: bool,
    /// What stands for the section's name in its values: `$pool`.
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
    /// The port without one, if it is not the usual one of its kind of server.
    pub(crate) usual_port: Option<u16>,
    /// The database name that means all of them.
    pub(crate) all_databases: Option<String>,
    /// Whether its file has connections of other programs, or of other kinds, beside these: they are found by their keys.
    #[serde(default)]
    pub(crate) shares: bool,
    /// Whether port 0 means the usual one.
    #[serde(default)]
    pub(crate) zero_port: bool,
    /// The port that a path as host needs beside it.
    #[serde(default)]
    pub(crate) path_port: PathPort,
    #[serde(default)]
    pub(crate) change: Vec<Step>,
    /// What there is to do besides, or instead.
    #[serde(default)]
    pub(crate) advice: Words,
    /// Whether the change works with a library of others alone, which may not be there: nothing is written then.
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

/// Words for a person about an application.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "WordsForm")]
pub(crate) struct Words {
    pub(crate) text: String,
    /// Signs of which one has to be there, if any is named.
    when: Vec<String>,
    /// Signs of which none may be there.
    unless: Vec<String>,
}

/// In the table: a text that is true of every application of the row, or one with its signs.
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
    /// Whether they are for whoever writes the lines by hand, and not about one application.
    pub(crate) fn are_general(&self) -> bool {
        self.when.is_empty() && self.unless.is_empty()
    }

    pub(crate) fn hold(&self, has_sign: impl Fn(&str) -> bool) -> bool {
        let has = |it: &String| has_sign(it);
        (self.when.is_empty() || self.when.iter().any(has)) && !self.unless.iter().any(has)
    }

    /// The signs that they hang on.
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
    /// Whether it is no application, but what hands others their environment.
    pub(crate) fn is_carrier(&self) -> bool {
        self.format.is_environment() && Role::ALL.iter().all(|it| self.patterns(*it).is_empty())
    }

    /// Whether it was found only by the names of its settings.
    pub(crate) fn is_guess(&self) -> bool {
        self.name == GUESSED && self.calls.is_empty()
    }

    /// Whether it takes the folder of `PostgreSQL`'s socket, and not the socket's file.
    pub(crate) fn writes_folder(&self) -> bool {
        self.change.iter().any(Step::writes_folder)
    }

    /// All words about it.
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

/// Texts in files beside an application's file that the table asks for: the file, seen from that file's folder, and the
/// text. One that is there is the neighbour `FILE:TEXT`.
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
