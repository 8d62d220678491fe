//! libpq's service file, in which a name stands for the parameters of a connection.
//!
//! # Source
//! `parseServiceFile` of PostgreSQL's `fe-connect.c`; each error in this file was tried with psql 15.

use crate::dsn::libpq::PARAMETERS;

/// A line of a service file that libpq refuses.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The line is not `name=value` with a parameter of libpq, or has blanks around the name.
    #[error("syntax error in line {line}")]
    Line { line: usize },
    #[error("line {line} names a service within a service, which libpq refuses")]
    Nested { line: usize },
    #[error("line {line} gets the parameters from LDAP, which looptax does not query")]
    Ldap { line: usize },
}

/// Returns the parameters of the service with this name, in order; `None` if the text has no service with this name.
///
/// # Errors
/// Returns the first line of the service that libpq refuses.
pub fn service_in(text: &str, name: &str) -> Result<Option<Vec<(String, String)>>, ServiceError> {
    let head = format!("[{name}]");
    let lines = text.lines().enumerate().map(|(idx, line)| (idx + 1, line.trim()));
    let mut of_service = lines.skip_while(|(_, line)| !line.starts_with(&head));
    if of_service.next().is_none() {
        return Ok(None);
    }
    let own = of_service.take_while(|(_, line)| !line.starts_with('['));
    let pairs = own.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(line, text)| {
        if text.starts_with("ldap") {
            return Err(ServiceError::Ldap { line });
        }
        let (name, value) = text.split_once('=').ok_or(ServiceError::Line { line })?;
        match name {
            "service" => Err(ServiceError::Nested { line }),
            _ if PARAMETERS.iter().all(|it| it.name != name) => Err(ServiceError::Line { line }),
            _ => Ok((name.to_owned(), value.to_owned())),
        }
    });
    pairs.collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_read_as_libpq_reads_it() {
        let text = "# c\n[shop]\n  host=127.0.0.1 \n\nport=5433\n#user=x\n[bad]\nhost = h\n[nested]\nservice=shop\n[far]\nldap://h\n";
        let pairs = [("host", "127.0.0.1"), ("port", "5433")];
        let expected = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(service_in(text, "shop"), Ok(Some(expected)));
        assert_eq!(service_in(text, "sho"), Ok(None));
        assert_eq!(service_in(text, "bad"), Err(ServiceError::Line { line: 8 }));
        assert_eq!(service_in(text, "nested"), Err(ServiceError::Nested { line: 10 }));
        assert_eq!(service_in(text, "far"), Err(ServiceError::Ldap { line: 12 }));
    }
}
