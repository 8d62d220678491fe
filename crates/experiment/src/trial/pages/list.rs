//! A list of pages: each line has a URL, with the method before it if the method is not GET.

use looptax_bench::path::Resolve;

use super::{Counted, Page, Problem};

/// The methods that a line may have: only methods that change nothing.
const METHODS: [&str; 2] = ["GET", "HEAD"];

/// Reads a list. Empty lines and comments from `#` on are skipped. A page that is listed twice is requested twice as
/// often.
pub fn from_list(text: &str, resolve: Resolve<'_>) -> (Vec<Page>, Vec<Problem>) {
    let mut counted = Counted::default();
    let mut problems = Vec::new();
    for (idx, line) in text.lines().enumerate() {
        let words = line.split_whitespace();
        let words: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
        let page = match words[..] {
            [] => continue,
            [url] => Page::parse(url, resolve),
            [method, url] if METHODS.contains(&method) => {
                Page::parse(url, resolve).map(|page| Page { method: method.to_owned(), ..page })
            }
            [method, _] => Err(format!("`{method}`: a list may contain pages for GET and HEAD only")),
            _ => Err("more than a method and a URL".to_owned()),
        };
        match page {
            Ok(page) => counted.add(page),
            Err(what) => problems.push(Problem { line: Some(idx + 1), what }),
        }
    }
    (counted.pages, problems)
}

#[cfg(test)]
mod tests {
    use super::super::tests::resolve;
    use super::*;

    #[test]
    fn a_list_has_a_page_in_each_line() {
        let text = "# the shop\nhttp://localhost/a\n\n  HEAD http://localhost/a # its head\r\n\
            http://localhost/b?c\nGET http://localhost/a\nPOST http://localhost/\nhttp://example.org/\n\
            GET http://localhost/ twice";
        let (pages, problems) = from_list(text, &resolve);
        let pages: Vec<_> =
            { pages.iter() }.map(|page| (page.method.as_str(), page.at.target.as_str(), page.weight)).collect();
        assert_eq!(pages, [("GET", "/a", 2), ("HEAD", "/a", 1), ("GET", "/b?c", 1)]);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "line 7: `POST`: a list may contain pages for GET and HEAD only",
            "line 8: `example.org` is not an address of this machine (looked up in /etc/hosts)",
            "line 9: more than a method and a URL",
        ];
        assert_eq!(problems, expected);
    }
}
