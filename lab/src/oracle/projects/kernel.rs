//! The kernel's list of the TCP connections of a process.

use std::fs;
use std::path::Path;

/// Returns the number of established connections of a process to this port.
///
/// # Source
/// Linux, `Documentation/networking/proc_net_tcp.rst`: the remote address is the third word, the state the fourth (01
/// is established), the inode the tenth.
pub(super) fn n_over_tcp(pid: u32, port: u16) -> usize {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return 0;
    };
    let links: Vec<_> = files.flatten().filter_map(|it| fs::read_link(it.path()).ok()).collect();
    let lists = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default());
    let lines = lists.iter().flat_map(|list| list.lines().skip(1));
    lines
        .filter_map(|line| inode_to(line, port))
        .filter(|inode| links.iter().any(|link| *link == Path::new(&format!("socket:[{inode}]"))))
        .count()
}

/// Returns the inode of a line, if the line is an established connection to this port.
fn inode_to(line: &str, port: u16) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (_, remote) = words.get(2)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(remote, 16) == Ok(port) && *words.get(3)? == "01";
    words.get(9).copied().filter(|_| is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_gives_the_inode_of_a_connection_to_the_port() {
        let line = "   1: 0100007F:8A2E 0100007F:0CEA 01 00000000:00000000 00:00000000 00000000    33        0 54321 1 0 20 4 30 10 -1";
        assert_eq!(inode_to(line, 3306), Some("54321"));
        assert_eq!(inode_to(line, 5432), None);
        assert_eq!(inode_to(&line.replace(" 01 ", " 06 "), 3306), None);
    }
}
