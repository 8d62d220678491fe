//! Authentication with the plugin that the greeting offers, and with plugins to which the server switches.
//!
//! `mysql_common` computes the scrambles. This file decides which exchanges are allowed: a password is sent in clear
//! text only over a channel that no other program can read, and by `mysql_clear_password` only if the user has enabled
//! that plugin. A plugin outside the list is refused before it receives the password. This file must not log or keep
//! the password. Called by the handshake.

use mysql_common::auth::plugins::client_ed25519::ClientEd25519;
use mysql_common::auth::plugins::mysql_clear_password::MysqlClearPassword;
use mysql_common::auth::plugins::mysql_native_password::MysqlNativePassword;
use mysql_common::auth::plugins::{self as plugins, ChallengeResponsePlugin, Context, Response};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket};

use crate::error::printable;
use crate::mysql::fault;
use crate::mysql::packet::Packets;
use crate::mysql::sha2::{Exchange, Kind};
use crate::{Channel, Login, Stream, WireError};

/// Highest number of packets that a server may send in a login. A switch of the plugin and a full
/// `caching_sha2_password` exchange take 4; MariaDB tries each of an account's plugins in turn.
const MAX_ROUNDS: usize = 16;

/// Number of salt bytes that the greeting's scrambles need.
const SALT_BYTES: usize = 20;

pub(super) struct Authentication<'a> {
    password: &'a [u8],
    channel: Channel,
    enables_clear: bool,
    plugin: Plugin,
    procedure: Procedure,
    salt: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plugin {
    Native,
    CachingSha2,
    /// `sha256_password`. Servers also request this plugin for a user who does not exist.
    Sha256,
    Ed25519,
    Clear,
}

impl Plugin {
    /// Returns the plugin if looptax supports it and it is safe over `channel`; the clear-text plugin must also be
    /// enabled.
    fn accept(asked: &AuthPlugin<'_>, channel: Channel, enables_clear: bool) -> Result<Self, WireError> {
        match asked {
            AuthPlugin::MysqlNativePassword => Ok(Self::Native),
            AuthPlugin::CachingSha2Password => Ok(Self::CachingSha2),
            AuthPlugin::Sha256Password => Ok(Self::Sha256),
            AuthPlugin::Ed25519 => Ok(Self::Ed25519),
            AuthPlugin::MysqlClearPassword if channel.is_private() => {
                enables_clear.then_some(Self::Clear).ok_or(WireError::ClearNotEnabled)
            }
            other => Err(WireError::Unsupported { what: printable(other.as_bytes()) }),
        }
    }

    fn of_library(self) -> AuthPlugin<'static> {
        match self {
            Self::Native => AuthPlugin::MysqlNativePassword,
            Self::CachingSha2 => AuthPlugin::CachingSha2Password,
            Self::Sha256 => AuthPlugin::Sha256Password,
            Self::Ed25519 => AuthPlugin::Ed25519,
            Self::Clear => AuthPlugin::MysqlClearPassword,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
        }
    }

    fn procedure(self) -> Procedure {
        match self {
            Self::Native => Procedure::Native(MysqlNativePassword::default()),
            Self::CachingSha2 => Procedure::Sha2(Exchange::new(Kind::Caching)),
            Self::Sha256 => Procedure::Sha2(Exchange::new(Kind::Plain)),
            Self::Ed25519 => Procedure::Ed25519(ClientEd25519::default()),
            Self::Clear => Procedure::Clear(MysqlClearPassword::default()),
        }
    }
}

/// A plugin's login exchange, with its state.
enum Procedure {
    Native(MysqlNativePassword),
    Ed25519(ClientEd25519),
    Clear(MysqlClearPassword),
    Sha2(Exchange),
}

struct Circumstances<'a> {
    password: &'a [u8],
    salt: &'a [u8],
    channel: Channel,
}

impl Context for Circumstances<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.channel == Channel::Local
    }

    fn is_tls_transport(&self) -> bool {
        self.channel == Channel::Tls
    }

    fn scramble(&self) -> &[u8] {
        self.salt
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

impl<'a> Authentication<'a> {
    /// Begins with the plugin that the greeting offers: returns the exchange, and the answer that becomes part of the
    /// response.
    ///
    /// The greeting contains the server's default plugin, not the plugin of the account. If that plugin cannot start
    /// from the greeting, looptax begins with the native plugin, as the C libraries do, and the server switches.
    pub(super) fn start(
        greeting: &HandshakePacket<'_>,
        login: &'a Login,
        channel: Channel,
    ) -> Result<(Self, Vec<u8>), WireError> {
        let plugin = match greeting.auth_plugin() {
            Some(AuthPlugin::CachingSha2Password) => Plugin::CachingSha2,
            _ => Plugin::Native,
        };
        let mut salt = greeting.nonce();
        salt.truncate(SALT_BYTES);
        let mut authentication = Self {
            password: login.password.reveal().as_bytes(),
            channel,
            enables_clear: login.enables_clear,
            plugin,
            procedure: plugin.procedure(),
            salt: salt.clone(),
        };
        let answer = authentication.answer("log in", &salt)?;
        Ok((authentication, answer.unwrap_or_default()))
    }

    pub(super) fn plugin(&self) -> AuthPlugin<'static> {
        self.plugin.of_library()
    }

    /// Answers the server until it accepts the login, and returns the name of the plugin that succeeded.
    pub(super) fn finish<S: Stream>(mut self, packets: &mut Packets<S>) -> Result<&'static str, WireError> {
        const OK: u8 = 0x00;
        const MORE_DATA: u8 = 0x01;
        const SWITCH: u8 = 0xfe;
        for _ in 0..MAX_ROUNDS {
            let payload = packets.read()?;
            let action = packets.action();
            let answer = match payload.split_first() {
                Some((&OK, _)) => return Ok(self.plugin.name()),
                Some((&fault::ERR, _)) => return Err(fault::server_error(action, &payload)),
                Some((&SWITCH, _)) => self.switch(action, &payload)?,
                Some((&MORE_DATA, challenge)) => self.answer(action, challenge)?,
                _ => return Err(fault::malformed(action, "a step of the login", &payload)),
            };
            if let Some(answer) = answer {
                packets.write(&answer)?;
            }
        }
        let expected = "the end of the login";
        Err(fault::malformed(packets.action(), expected, b"one more step"))
    }

    /// Switches to the plugin that the server requests, and answers its challenge.
    fn switch(&mut self, action: &'static str, payload: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        if payload.len() == 1 {
            return Err(WireError::Unsupported { what: "mysql_old_password".to_owned() });
        }
        let request: AuthSwitchRequest<'_> =
            ParseBuf(payload).parse(()).map_err(|_| fault::malformed(action, "a plugin's name", payload))?;
        let asked = request.auth_plugin();
        self.plugin = Plugin::accept(&asked, self.channel, self.enables_clear)?;
        self.procedure = self.plugin.procedure();
        self.salt = request.plugin_data().to_vec();
        let mut challenge = request.plugin_data();
        if self.plugin == Plugin::Sha256 {
            challenge = challenge.get(..SALT_BYTES).unwrap_or(challenge);
        }
        self.answer(action, challenge)
    }

    /// Returns the plugin's answer to a challenge; `None` if it sends no answer.
    fn answer(&mut self, action: &'static str, challenge: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        let circumstances = Circumstances { password: self.password, salt: &self.salt, channel: self.channel };
        let answer: Result<Response, plugins::Error> = match &mut self.procedure {
            Procedure::Native(it) => it.run(circumstances, challenge),
            Procedure::Ed25519(it) => it.run(circumstances, challenge),
            Procedure::Clear(it) => it.run(circumstances, challenge),
            Procedure::Sha2(it) => {
                return it.answer(action, challenge, self.password, self.channel);
            }
        };
        match answer {
            Ok(Response::Next { packet } | Response::Last { packet }) => Ok(packet),
            Err(_) => Err(fault::malformed(action, "a challenge of the plugin", challenge)),
        }
    }
}
