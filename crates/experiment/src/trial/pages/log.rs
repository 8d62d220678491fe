//! A web server's access log: reads the pages that the server replied with; a page's weight is the number of its lines.
//!
//! Reads the common and the combined log format, as written by Apache, nginx and Caddy's transform encoder, with or
//! without a site's name at the beginning. Of each line, only the site, the request and the status are used. To find
//! the request, the parser searches for the time, which directly precedes the request. The text is untrusted.
//!
//! # Source
//! Apache 2.4, `mod_log_config`, and `ap_escape_logitem` for its escapes; nginx 1.24, `ngx_http_log_module`.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, Read};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::{Page, Problem};

/// Maximum size of a line in bytes: a request of 8 KiB with every byte escaped, and as much again for the rest of the
/// line.
const LINE_BYTES: u64 = 64 << 10;
/// Maximum number of different pages that are counted: their addresses then take a few hundred megabytes.
const MOST_DISTINCT: usize = 1_000_000;
const MOST_SITES: usize = 3;
/// The characters of a path and its query that are encoded: all except those that RFC 3986 allows, and except `%`,
/// which begins an existing escape.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b'%');

#[derive(Debug, PartialEq, Eq)]
struct Line {
    /// The site's name, if the line starts with it.
    site: Option<String>,
    method: Vec<u8>,
    target: Vec<u8>,
    status: u16,
}

#[derive(Default)]
struct Counts {
    /// The pages, in the order in which they first occurred.
    targets: Vec<(String, u64)>,
    places: HashMap<String, usize>,
    sites: BTreeSet<String>,
    n_lines: usize,
    /// The number of lines in another format. `first_unread` is the number of the first of these lines, and whether it
    /// is JSON.
    n_unread: usize,
    first_unread: Option<(usize, bool)>,
    n_beyond: u64,
}

/// Reads the pages that were requested by GET and got status 200, as pages of the same site as `base`.
///
/// A page's weight is the number of its lines. If there are more than `n_most` pages, `n_most` of them are chosen as if
/// lines were drawn at random, with `seed`.
pub fn from_log(mut log: impl BufRead, base: &Page, n_most: usize, seed: u64) -> (Vec<Page>, Vec<Problem>) {
    let mut counts = Counts::default();
    let mut problems = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match log.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => counts.add(line.trim_ascii()),
            Err(error) => {
                problems
                    .push(Problem { line: Some(counts.n_lines + 1), what: format!("cannot read further: {error}") });
                break;
            }
        }
    }
    problems.extend(counts.problems());
    let drawn = draw(counts.targets, n_most, seed).into_iter();
    let pages = drawn.map(|(target, weight)| base.sibling(target, weight));
    (pages.collect(), problems)
}

impl Counts {
    fn add(&mut self, line: &[u8]) {
        self.n_lines += 1;
        if line.is_empty() {
            return;
        }
        let Some(line) = parse(line) else {
            self.n_unread += 1;
            let is_json = line.starts_with(b"{");
            self.first_unread.get_or_insert((self.n_lines, is_json));
            return;
        };
        if line.method != b"GET" || line.status != 200 {
            return;
        }
        let Some(target) = own_target(&line.target) else {
            return;
        };
        if let Some(site) = line.site
            && self.sites.len() <= MOST_SITES
        {
            self.sites.insert(site);
        }
        if let Some(place) = self.places.get(&target) {
            self.targets[*place].1 += 1;
        } else if self.targets.len() < MOST_DISTINCT {
            self.places.insert(target.clone(), self.targets.len());
            self.targets.push((target, 1));
        } else {
            self.n_beyond += 1;
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |line, what| problems.push(Problem { line, what });
        if let Some((first, is_json)) = self.first_unread {
            let form = if is_json {
                "JSON, not a line in the common or combined format"
            } else {
                "not a line in the common or combined format"
            };
            let more = match self.n_unread {
                1 => String::new(),
                2 => "; the same applies to 1 more line".to_owned(),
                n => format!("; the same applies to {} more lines", n - 1),
            };
            add(Some(first), format!("{form}{more}"));
        }
        if self.targets.is_empty() {
            let n_lines = self.n_lines;
            add(None, format!("found no GET with status 200 in {n_lines} lines"));
        }
        if self.n_beyond > 0 {
            let n_beyond = self.n_beyond;
            add(None, format!("more than {MOST_DISTINCT} different pages: {n_beyond} lines are left out"));
        }
        if self.sites.len() > 1 {
            let mut sites: Vec<&str> = self.sites.iter().map(String::as_str).take(MOST_SITES).collect();
            if self.sites.len() > MOST_SITES {
                sites.push("…");
            }
            add(None, format!("the log contains several sites: {}", sites.join(", ")));
        }
        problems
    }
}

/// Chooses `n_most` pages as if lines were drawn until `n_most` different pages have been drawn, but without drawing
/// lines: each page gets a random waiting time from an exponential distribution with the page's weight, and the pages
/// with the shortest times are chosen.
///
/// # Source
/// Efraimidis and Spirakis, Weighted random sampling with a reservoir, Information Processing Letters 97, 2006.
fn draw(targets: Vec<(String, u64)>, n_most: usize, seed: u64) -> Vec<(String, u64)> {
    if targets.len() <= n_most {
        return targets;
    }
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut waiting: Vec<(f64, usize)> = { targets.iter().enumerate() }
        .map(|(idx, (_, weight))| {
            // A number of 53 bits in (0, 1], whose logarithm is finite.
            let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            (-uniform.ln() / *weight as f64, idx)
        })
        .collect();
    waiting.sort_by(|one, other| one.0.total_cmp(&other.0));
    let chosen: BTreeSet<usize> = waiting.into_iter().take(n_most).map(|it| it.1).collect();
    let targets = targets.into_iter().enumerate();
    { targets.filter(|(idx, _)| chosen.contains(idx)) }.map(|(_, target)| target).collect()
}

/// Parses a line of a log; `None` if the line has another form.
fn parse(line: &[u8]) -> Option<Line> {
    // These three characters end the time. They cannot occur earlier in the line, because servers escape text that
    // comes from a client.
    let at = line.windows(3).position(|it| it == b"] \"")?;
    let front = &line[..at];
    let time = front.iter().rposition(|it| *it == b'[')?;
    let (request, rest) = quoted(&line[at + 3..])?;
    let status = rest.strip_prefix(b" ")?.split(|it| *it == b' ').next()?;
    let status = std::str::from_utf8(status).ok()?.parse().ok()?;
    let mut words = request.splitn(2, |it| *it == b' ');
    let method = words.next()?.to_vec();
    let target = words.next().unwrap_or_default();
    let version = target.windows(6).rposition(|it| it == b" HTTP/");
    Some(Line {
        site: site(&front[..time]),
        method,
        target: target[..version.unwrap_or(target.len())].to_vec(),
        status,
    })
}

/// Returns the site of a line that starts with site, host, identity and user: `%v:%p %h %l %u` or `%v %h %l %u`.
fn site(front: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(front).ok()?;
    match text.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        // A line without a site also has four words if the user name contains a space. In that case the second word is
        // the identity `-`.
        [site, host, _, _] if host != "-" => Some(site.to_owned()),
        _ => None,
    }
}

/// Returns the text up to the closing quote, without escapes, and the rest of the line.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = match rest {
            [b'"', rest @ ..] => return Some((found, rest)),
            [b'\\', b'x', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                found.push(16 * digit(*high) + digit(*low));
                rest
            }
            [b'\\', escaped @ (b'"' | b'\\'), rest @ ..] => {
                found.push(*escaped);
                rest
            }
            [b'\\', letter @ (b'n' | b't' | b'r' | b'b' | b'v'), rest @ ..] => {
                found.push(control(*letter));
                rest
            }
            [byte, rest @ ..] => {
                found.push(*byte);
                rest
            }
            [] => return None,
        };
    }
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => hex.to_ascii_lowercase() - b'a' + 10,
    }
}

fn control(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        _ => 11,
    }
}

/// Returns path and query in the form in which they are sent; `None` for a target that does not name a page.
fn own_target(target: &[u8]) -> Option<String> {
    let lower = target.to_ascii_lowercase();
    // A request to a proxy contains the whole address.
    let is_whole = |scheme: &[u8]| lower.starts_with(scheme).then_some(scheme.len());
    let path = match is_whole(b"http://").or_else(|| is_whole(b"https://")) {
        Some(at) => {
            let host = &target[at..];
            let path = host.iter().position(|it| *it == b'/');
            path.map_or(&b"/"[..], |path| &host[path..])
        }
        None => target,
    };
    let is_path = path.starts_with(b"/");
    is_path.then(|| percent_encode(path, ENCODED).to_string())
}

#[cfg(test)]
mod tests {
    use looptax_testkit::dice::Dice;

    use super::super::tests::resolve;
    use super::*;

    fn read(log: &[u8], n_most: usize) -> (Vec<(String, u64)>, Vec<String>) {
        let base = Page::parse("http://localhost:8080/x?y", &resolve).unwrap();
        let (pages, problems) = from_log(log, &base, n_most, 7);
        for page in &pages {
            assert_eq!(page.url, format!("http://localhost:8080{}", page.at.target));
            page.for_load(&mut Vec::new()).unwrap();
        }
        let pages = pages.into_iter().map(|page| (page.at.target, page.weight));
        (pages.collect(), problems.iter().map(ToString::to_string).collect())
    }

    #[track_caller]
    fn check(log: &str, expected: &[(&str, u64)], words: &[&str]) {
        let (pages, problems) = read(log.as_bytes(), 100);
        let pages: Vec<_> = pages.iter().map(|(page, n)| (page.as_str(), *n)).collect();
        assert_eq!(pages, expected);
        assert_eq!(problems.len(), words.len(), "{problems:?}");
        for (problem, words) in problems.iter().zip(words) {
            assert!(problem.contains(words), "{problem}");
        }
    }

    /// The lines that Apache 2.4 wrote for these requests.
    const APACHE: &str = r#"127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET / HTTP/1.1" 200 222 "http://x/\"quo\\te] \"" "M \"q\" \xc3\xa9"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET /a?b=c%20d&e=1 HTTP/1.1" 200 222 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "HEAD /h HTTP/1.1" 200 219 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "POST /p HTTP/1.1" 200 222 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET /quote\"in\\back HTTP/1.1" 200 222 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET /caf\xc3\xa9 HTTP/1.1" 200 222 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET /tab here" 400 448 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET http://shop.test/abs?x HTTP/1.1" 200 222 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET /old HTTP/1.0" 200 222 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET /nine" 200 3 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "OPTIONS * HTTP/1.1" 200 126 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "\x16\x03\x01" 400 448 "-" "-"
127.0.0.1 - - [23/Nov/2026:18:06:44 +0000] "GET / HTTP/1.1" 200 222
"#;

    #[test]
    fn a_log_of_apache_has_its_pages() {
        let pages = [
            ("/", 2),
            ("/a?b=c%20d&e=1", 1),
            ("/quote%22in%5Cback", 1),
            ("/caf%C3%A9", 1),
            ("/abs?x", 1),
            ("/old", 1),
            ("/nine", 1),
        ];
        check(APACHE, &pages, &[]);
        let named = APACHE.replace("127.0.0.1 - -", "shop.test:80 127.0.0.1 - -");
        check(&named, &pages, &[]);
    }

    #[test]
    fn other_servers_lines_are_read_alike() {
        // nginx escapes quotes and backslashes as hexadecimal numbers; user names may contain spaces; times may have
        // other forms.
        let nginx =
            "::1 - a b [23/Nov/2026:18:06:44 +0000] \"GET /\\x22q\\x5C HTTP/2.0\" 200 5 \"-\" \"-\" \"10.0.0.1\"\n";
        check(nginx, &[("/%22q%5C", 1)], &[]);
        let iso = "10.0.0.1 - - [2026-11-23T18:06:44Z] \"GET /iso HTTP/1.1\" 200 5\r\n";
        check(iso, &[("/iso", 1)], &[]);
        let sites = "[::1]:80 ::1 - - [t] \"GET /a HTTP/1.1\" 200 5\nb:80 ::1 - - [t] \"GET /b HTTP/1.1\" 200 5\n";
        let words = "several sites: [::1]:80, b:80";
        check(sites, &[("/a", 1), ("/b", 1)], &[words]);
    }

    #[test]
    fn what_is_no_such_line_is_said_once() {
        let good = "h - - [t] \"GET /a HTTP/1.1\" 200 5\n";
        let nothing = "found no GET with status 200";
        check("", &[], &[nothing]);
        check("\n\n", &[], &[nothing]);
        check(
            "{\"request\":{}}\n{}\n",
            &[],
            &["line 1: JSON, not a line in the common or combined format; the same applies to 1 more line", nothing],
        );
        check(&format!("# comment\n{good}"), &[("/a", 1)], &["line 1: not a line"]);
        for bad in [
            "h - - [t] \"GET /a HTTP/1.1\" - 5",
            "h - - [t] \"GET /a HTTP/1.1 200 5",
            "h - - t] \"GET /a HTTP/1.1\" 200 5",
            "h - - [t] \"GET /a HTTP/1.1\"200",
        ] {
            check(&format!("{good}{bad}\n"), &[("/a", 1)], &["line 2: not a line"]);
        }
        let other = "h - - [t] \"GET /a HTTP/1.1\" 301 5\nh - - [t] \"-\" 408 0\n";
        check(other, &[], &[nothing]);
        check(&"x".repeat(200_000), &[], &["line 1: not a line", nothing]);
    }

    /// Targets of random bytes are written in the form of Apache and of nginx, and must be read back unchanged.
    #[test]
    fn whatever_was_asked_for_is_read_back() {
        let mut dice = Dice::new(43);
        for round in 0..2_000 {
            // A space would end a target, so a target contains none.
            let bytes = (0..=dice.below(30)).map(|_| dice.below(256) as u8);
            let path: Vec<u8> = bytes.filter(|it| !b" \0\n".contains(it)).collect();
            let target = [b"/", path.as_slice()].concat();
            let mut written = String::new();
            for byte in &target {
                match (round % 2, byte) {
                    (0, b'"' | b'\\') => written.extend(['\\', char::from(*byte)]),
                    (0, b'\t') => written += "\\t",
                    (_, 0x20..=0x7e) if !b"\"\\".contains(byte) => written.push(char::from(*byte)),
                    (0, _) => written.extend(format!("\\x{byte:02x}").chars()),
                    (_, _) => written.extend(format!("\\x{byte:02X}").chars()),
                }
            }
            let log = format!("h - - [t] \"GET {written} HTTP/1.1\" 200 5 \"a\" \"b\"");
            let (pages, problems) = read(log.as_bytes(), 1);
            assert_eq!(problems, [""; 0]);
            let decoded: Vec<u8> = percent_encoding::percent_decode_str(&pages[0].0).collect();
            let expected: Vec<u8> = percent_encoding::percent_decode(&target).collect();
            assert_eq!(decoded, expected, "{written}");
        }
    }

    #[test]
    fn survives_changed_bytes_anywhere() {
        let mut dice = Dice::new(44);
        let mut n_unread = 0;
        for _ in 0..5_000 {
            let mut log = APACHE.as_bytes().to_vec();
            for _ in 0..20 {
                let at = dice.below(log.len());
                log[at] = dice.below(256) as u8;
            }
            n_unread += usize::from(!read(&log, 3).1.is_empty());
        }
        assert!(n_unread > 1000, "the changes must matter: {n_unread}");
    }

    #[test]
    fn of_many_pages_those_with_many_lines_are_drawn_more_often() {
        let pages = || (0..100_u64).map(|idx| (idx.to_string(), if idx < 10 { 91 } else { 1 }));
        let mut n_heavy = 0;
        for seed in 0..200 {
            let drawn = draw(pages().collect(), 5, seed);
            assert_eq!(drawn.len(), 5);
            assert_eq!(drawn, draw(pages().collect(), 5, seed));
            n_heavy += drawn.iter().filter(|it| it.1 == 91).count();
        }
        // The page that is drawn first is heavy in 910 of 1000 cases; the page that is drawn fifth, in at least 546 of
        // 636 cases.
        assert!((850..=950).contains(&n_heavy), "{n_heavy} of 1000");
        assert_eq!(draw(pages().collect(), 100, 1).len(), 100);
    }
}
