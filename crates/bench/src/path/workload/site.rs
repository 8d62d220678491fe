//! Pages of an application behind a web server: of looptax's own site, or the page that a URL names.

use std::fmt;

use looptax_wire::{WireError, fastcgi, site, upstream};

/// A page as one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitePage {
    /// A page of 200 bytes.
    Hello,
    /// A page of this many bytes.
    Sized {
        bytes: u64,
    },
    /// Sends this many bytes, and receives a number.
    Upload {
        bytes: u64,
    },
    Named,
}

impl SitePage {
    /// Returns the page's name in options and records.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hello => site::HELLO,
            Self::Sized { .. } | Self::Named => site::SIZED,
            Self::Upload { .. } => site::UPLOAD,
        }
    }

    /// Returns the page's request to an HTTP server; `named` is the page that the target's URL names.
    pub(crate) fn fetch(self, named: &str, is_last: bool) -> Result<upstream::Fetch, WireError> {
        let target = match self {
            Self::Named => named.to_owned(),
            Self::Sized { bytes } => format!("/{}?{}={bytes}", site::SIZED, site::BYTES),
            _ => format!("/{}", self.name()),
        };
        upstream::Fetch::new(&upstream::Asked {
            target: &target,
            upload_bytes: self.upload_bytes(),
            answer_bytes: self.answer_bytes(),
            is_last,
        })
    }

    /// Returns the page's request to PHP-FPM, whose scripts are in `folder`.
    pub(crate) fn script(self, folder: &str, is_last: bool) -> Result<fastcgi::Page, WireError> {
        let query = match self {
            Self::Sized { bytes } => format!("{}={bytes}", site::BYTES),
            _ => String::new(),
        };
        fastcgi::Page::new(&fastcgi::Asked {
            script: &site::script(folder, self.name()),
            query: &query,
            upload_bytes: self.upload_bytes(),
            answer_bytes: self.answer_bytes(),
            is_last,
        })
    }

    fn upload_bytes(self) -> Option<usize> {
        match self {
            Self::Upload { bytes } => usize::try_from(bytes).ok(),
            _ => None,
        }
    }

    /// Returns the length of a right answer in bytes, if known.
    fn answer_bytes(self) -> Option<u64> {
        match self {
            Self::Hello => Some(site::HELLO_BYTES),
            Self::Sized { bytes } => Some(bytes),
            Self::Upload { bytes } => Some(bytes.to_string().len() as u64),
            Self::Named => None,
        }
    }
}

impl fmt::Display for SitePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Sized { bytes } | Self::Upload { bytes } => write!(f, ":{bytes}"),
            Self::Hello | Self::Named => Ok(()),
        }
    }
}
