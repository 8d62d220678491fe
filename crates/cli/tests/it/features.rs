//! The table of `--version --verbose` is compared with what this machine shows without looptax.

use std::net::TcpListener;
use std::path::Path;

use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::exe;

#[track_caller]
fn check(table: &str, feature: &str, is_there: bool, without: &str) {
    let row = table.lines().find(|row| row.starts_with(feature));
    let row = row.unwrap_or_else(|| panic!("no row `{feature}` in:\n{table}"));
    let words: Vec<&str> = row[feature.len()..].trim_start().splitn(2, ' ').collect();
    assert_eq!(words[0], if is_there { "yes" } else { "no" }, "{row}");
    let said = words.get(1).copied().unwrap_or_default();
    assert_eq!(said.contains(without), !is_there, "{row}");
}

#[test]
fn version_and_verbose_say_what_this_kernel_has_and_what_misses_without_it() {
    let scratch = Scratch::new();
    // looptax finds an administrator's programs whatever PATH contains: an ordinary user has no sbin in it.
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(Path::new);
    let has_nft = folders.iter().any(|it| it.join("nft").exists());
    for order in [["--version", "--verbose"], ["--verbose", "-V"]] {
        let run = Looptax::new(exe(), &scratch).env("PATH", "/nonexistent").args(order).run();
        run.expect_code(0);
        let first = format!("looptax {}\nLinux ", env!("CARGO_PKG_VERSION"));
        assert!(run.stdout.starts_with(&first), "{}", run.stdout);
        check(&run.stdout, "the program nft", has_nft, "no arm `nat`");
        let has_ipv6 = TcpListener::bind("[::1]:0").is_ok();
        check(&run.stdout, "IPv6 loopback", has_ipv6, "no arm `tcp6`");
    }
    let short = Looptax::new(exe(), &scratch).args(["--version"]).run();
    assert_eq!(short.stdout.lines().count(), 1, "{}", short.stdout);
    scratch.check_nothing_left();
}
