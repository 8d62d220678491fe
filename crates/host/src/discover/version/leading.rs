//! Reads a version at the beginning of a text.

/// The maximum number of bytes of a version that are read; no version is longer.
pub(super) const MOST_VERSION_BYTES: usize = 64;

/// Returns the start of a text, as far as it can be a version: it begins with a digit, and contains only characters
/// that occur in versions.
pub(super) fn leading_version(text: &[u8]) -> Option<&str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b".+~-".contains(byte);
    let n_bytes = text.iter().take(MOST_VERSION_BYTES).take_while(|it| is_part(it)).count();
    let version = std::str::from_utf8(&text[..n_bytes]).ok()?;
    let version = version.trim_end_matches(['.', '-', '+', '~']);
    version.starts_with(|it: char| it.is_ascii_digit()).then_some(version)
}
