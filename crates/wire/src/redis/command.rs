//! A command in the form that Redis reads.

/// Appends a command as an array of bulk strings.
pub(super) fn write_command<T: AsRef<[u8]>>(out: &mut Vec<u8>, parts: &[T]) {
    out.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
    for part in parts {
        let part = part.as_ref();
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}
