//! Finds the names of addresses in the kernel, from `/proc/kallsyms`.

use std::cmp::Reverse;

use looptax_host::kernel;

/// The kernel's functions, sorted by address.
#[derive(Debug, Default)]
pub(super) struct Kallsyms {
    /// The text of the file, with the names and modules.
    text: String,
    /// For each address, the offset in `text` at which its name starts.
    starts: Vec<(u64, u32)>,
}

impl Kallsyms {
    /// Reads the file; the result is empty if the kernel hides its addresses.
    pub(super) fn read() -> Self {
        Self::parse(kernel::text("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: String) -> Self {
        let mut found: Vec<(u64, char, u32)> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            found.extend(parse_line(line).map(|(address, kind, name)| (address, kind, at + name)));
            at += line.len() as u32;
        }
        // If an address has several names, the search finds the last of them. Therefore the name to show is sorted to
        // the end.
        let name_at = |at: u32| &text[at as usize..];
        found.sort_by_key(|&(address, kind, at)| {
            let n_underscores = name_at(at).bytes().take_while(|&it| it == b'_').count();
            (address, kind.is_uppercase(), Reverse(n_underscores))
        });
        let starts = found.into_iter().map(|(address, _, at)| (address, at));
        Self { starts: starts.collect(), text }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the function that contains an address, and its module if the function is not in the kernel itself.
    pub(super) fn find(&self, address: u64) -> Option<(&str, Option<&str>)> {
        let idx = self.starts.partition_point(|(start, _)| *start <= address);
        let (_, at) = self.starts[..idx].last()?;
        let line = self.text[*at as usize..].lines().next()?;
        Some(match line.split_once('\t') {
            Some((name, module)) => (name, Some(module)),
            None => (line, None),
        })
    }
}

/// Returns the address, the kind of symbol, and the offset of the name in the line; `None` for data and for hidden
/// addresses.
fn parse_line(line: &str) -> Option<(u64, char, u32)> {
    let (address, rest) = line.split_once(' ')?;
    let (kind, _) = rest.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let kind = kind.chars().next()?;
    let is_code = matches!(kind, 't' | 'T' | 'w' | 'W');
    let name = line.len() - rest.len() + kind.len_utf8() + 1;
    (is_code && address != 0).then_some((address, kind, name as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t helper
ffffffff81000300 W memcpy
ffffffff81000300 T __memcpy
ffffffff81000200 T tcp_sendmsg
ffffffff82000000 D init_task
ffffffffc0000000 t veth_xmit\t[veth]
";

    #[test]
    fn an_address_has_the_name_of_the_function_before_it() {
        let kallsyms = Kallsyms::parse(TEXT.to_owned());
        for (address, expected) in [
            (0xffff_ffff_80ff_ffff, None),
            (0xffff_ffff_8100_0000, Some(("_text", None))),
            (0xffff_ffff_8100_01ff, Some(("helper", None))),
            (0xffff_ffff_8100_0200, Some(("tcp_sendmsg", None))),
            (0xffff_ffff_8100_0310, Some(("memcpy", None))),
            (0xffff_ffff_c000_0010, Some(("veth_xmit", Some("[veth]")))),
        ] {
            assert_eq!(kallsyms.find(address), expected, "{address:x}");
        }
    }

    #[test]
    fn addresses_that_are_hidden_leave_nothing() {
        let hidden = "0000000000000000 T _text\n0000000000000000 T tcp_sendmsg\n";
        let kallsyms = Kallsyms::parse(hidden.to_owned());
        assert!(kallsyms.is_empty());
        assert_eq!(kallsyms.find(u64::MAX), None);
    }
}
