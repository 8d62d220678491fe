//! Sends statements over ClickHouse's HTTP interface. Each statement is a separate request, with limits on time and
//! size.

use std::sync::Arc;

use looptax_model::dsn::Secret;
use ureq::Agent;
use ureq::http::HeaderValue;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::super::access::Access;
use super::super::authorities;
use super::super::destination::ClickHouseAt;
use crate::text::cleaned;
use crate::{FleetError, Refusal};

/// The error codes with which ClickHouse reports that it cannot execute a statement now, but may be able to later.
///
/// # Source
/// ClickHouse, `src/Common/ErrorCodes.cpp`: `TIMEOUT_EXCEEDED`, `QUOTA_EXCEEDED`, `TOO_MANY_SIMULTANEOUS_QUERIES`,
/// `SOCKET_TIMEOUT`, `NETWORK_ERROR`, `NO_ZOOKEEPER`, `MEMORY_LIMIT_EXCEEDED`, `TABLE_IS_READ_ONLY`,
/// `NOT_ENOUGH_SPACE`, `TOO_MANY_PARTS`, `ALL_CONNECTION_TRIES_FAILED`, `KEEPER_EXCEPTION`.
const LATER: [&str; 12] = ["159", "201", "202", "209", "210", "225", "241", "242", "243", "252", "279", "999"];
/// Maximum size of an error's text in bytes.
const MOST_ERROR_BYTES: u64 = 16 << 10;

/// The connection settings for one server and one user.
pub(super) struct Http {
    agent: Agent,
    url: String,
    user: HeaderValue,
    password: Option<HeaderValue>,
    to: String,
}

impl Http {
    /// # Errors
    /// [`FleetError::Authority`], [`FleetError::Destination`].
    pub(super) fn new(at: &ClickHouseAt, access: &Access) -> Result<Self, FleetError> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent("looptax")
            .timeout_connect(Some(access.connect_limit))
            .timeout_resolve(Some(access.connect_limit))
            .timeout_global(Some(access.answer_limit));
        if at.is_sealed {
            config = config.tls_config(trusting(access)?);
        }
        let password = at.password.as_ref().or(access.password.as_ref());
        let header = |text: &str| {
            HeaderValue::from_bytes(text.as_bytes()).map_err(|_| FleetError::Destination {
                what: "a user name or a password cannot contain the end of a line".to_owned(),
            })
        };
        let scheme = if at.is_sealed { "https" } else { "http" };
        Ok(Self {
            agent: config.build().new_agent(),
            url: format!("{scheme}://{}:{}/", at.host, at.port),
            user: header(&at.user)?,
            password: password.map(Secret::reveal).map(header).transpose()?,
            to: format!("{}:{}", at.host, at.port),
        })
    }

    /// Runs a statement and returns the whole reply. `body` contains the rows to insert.
    ///
    /// # Errors
    /// [`FleetError::Away`], [`FleetError::Refused`], [`FleetError::Answer`].
    pub(super) fn run(
        &self,
        sql: &str,
        settings: &[(&str, &str)],
        body: &[u8],
        most_bytes: u64,
    ) -> Result<Vec<u8>, FleetError> {
        let mut request = self
            .agent
            .post(&self.url)
            .header("X-ClickHouse-User", self.user.clone())
            // With this setting, the HTTP status applies to the whole reply and not only to its beginning.
            .query("wait_end_of_query", "1")
            .query_pairs(settings.iter().copied());
        if let Some(password) = &self.password {
            request = request.header("X-ClickHouse-Key", password.clone());
        }
        // If there are rows, they are the body of the request, and the statement is in the URL. Otherwise the statement
        // is the body, because a statement may be too long for a URL.
        let sent = if body.is_empty() { request.send(sql.as_bytes()) } else { request.query("query", sql).send(body) };
        let mut response = sent.map_err(|error| self.failed(error))?;
        let code = response.headers().get("X-ClickHouse-Exception-Code").cloned();
        let is_fine = response.status().as_u16() == 200 && code.is_none();
        let limit = if is_fine { most_bytes } else { MOST_ERROR_BYTES };
        let answer = response.body_mut().with_config().limit(limit).read_to_vec();
        if is_fine {
            return answer.map_err(|error| self.failed(error));
        }
        let words = answer.unwrap_or_default();
        Err(self.refused(response.status().as_u16(), code.as_ref(), &words))
    }

    /// Makes the error for an unexpected reply.
    pub(super) fn strange(&self, what: &str) -> FleetError {
        FleetError::Answer { to: self.to.clone(), what: what.to_owned() }
    }

    fn refused(&self, status: u16, code: Option<&HeaderValue>, words: &[u8]) -> FleetError {
        let words = String::from_utf8_lossy(words);
        let code = code.and_then(|it| it.to_str().ok().map(str::to_owned));
        let code = code.or_else(|| stated_code(&words));
        let Some(code) = code else {
            return match status {
                500..=599 | 429 => self.away(format!("HTTP status {status}")),
                _ => self.strange(&format!("HTTP status {status}")),
            };
        };
        let what = cleaned(&format!("code {code}: {}", words.trim()));
        if LATER.contains(&&*code) {
            return self.away(what);
        }
        FleetError::Refused { to: self.to.clone(), what, refusal: refusal(&code) }
    }

    fn failed(&self, error: ureq::Error) -> FleetError {
        use ureq::Error;
        match error {
            Error::BodyExceedsLimit(limit) => self.strange(&format!("the server's answer has more than {limit} bytes")),
            Error::Protocol(_) | Error::Http(_) | Error::TooManyRedirects => {
                self.strange("the server's answer is not HTTP")
            }
            Error::LargeResponseHeader(..) => self.strange("the header of the server's answer is too long"),
            Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                self.away(cleaned(&error.to_string()))
            }
            other => self.away(cleaned(&other.to_string())),
        }
    }

    fn away(&self, what: String) -> FleetError {
        FleetError::Away { to: self.to.clone(), what }
    }
}

/// Returns the reason for a refusal from an error's code.
///
/// # Source
/// ClickHouse, `src/Common/ErrorCodes.cpp`: `UNKNOWN_TABLE`, `UNKNOWN_DATABASE`; `UNKNOWN_USER`, `WRONG_PASSWORD`,
/// `REQUIRED_PASSWORD`, `IP_ADDRESS_NOT_ALLOWED`, `AUTHENTICATION_FAILED`; `READONLY`, `DATABASE_ACCESS_DENIED`,
/// `ACCESS_DENIED`; `CANNOT_PARSE_TEXT` and similar codes, `TOO_LARGE_STRING_SIZE`, `INCORRECT_DATA`,
/// `VIOLATED_CONSTRAINT`.
fn refusal(code: &str) -> Refusal {
    match code {
        "60" => Refusal::NoTables,
        "81" => Refusal::NoDatabase,
        "192" | "193" | "194" | "195" | "516" => Refusal::Login,
        "164" | "291" | "497" => Refusal::Rights,
        "6" | "26" | "27" | "38" | "41" | "72" | "117" | "131" | "469" => Refusal::Row,
        _ => Refusal::Other,
    }
}

/// Returns the code from texts such as `Code: 60, e.displayText() = …` and `Code: 60. DB::Exception: …`.
fn stated_code(words: &str) -> Option<String> {
    let rest = words.strip_prefix("Code: ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// Makes the TLS settings, with the project's own crypto provider and the trusted authorities.
fn trusting(access: &Access) -> Result<TlsConfig, FleetError> {
    let authorities = authorities::read(access.ca_file.as_deref())?;
    let certificates: Vec<Certificate<'static>> =
        { authorities.iter() }.map(|der| Certificate::from_der(der).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}
