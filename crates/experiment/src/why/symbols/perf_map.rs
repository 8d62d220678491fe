//! Finds the names of code that a program makes at run time, in the file that the program writes for profilers.
//!
//! Source: Linux, `tools/perf/Documentation/jit-interface.txt`. The file is `/tmp/perf-PID.map`; each line has start
//! and length in hexadecimal, and a name. The library's parser needs the running process; this parser also reads the
//! file of a process that has ended.

use looptax_host::read;

/// The functions of one process, sorted by address.
#[derive(Debug, Default)]
pub(super) struct PerfMap(Vec<(u64, u64, String)>);

impl PerfMap {
    /// Reads the file of a process; the result is empty if the program has written none.
    pub(super) fn read(pid: u32) -> Self {
        Self::parse(&read::system_text(&format!("/tmp/perf-{pid}.map")))
    }

    fn parse(text: &str) -> Self {
        let parse_line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let start = u64::from_str_radix(words.next()?, 16).ok()?;
            let n_bytes = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((start, start.saturating_add(n_bytes), words.next()?.to_owned()))
        };
        let mut functions: Vec<_> = text.lines().filter_map(parse_line).collect();
        functions.sort();
        Self(functions)
    }

    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let idx = self.0.partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.0[..idx].last()?;
        (address < *end).then_some(name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_range() {
        let map = PerfMap::parse("7f20 10 late\n7f00 10 LazyCompile:*handle /app.js:3\nbroken\n");
        for (address, expected) in
            [(0x7eff, None), (0x7f0f, Some("LazyCompile:*handle /app.js:3")), (0x7f10, None), (0x7f20, Some("late"))]
        {
            assert_eq!(map.find(address), expected, "{address:x}");
        }
    }
}
