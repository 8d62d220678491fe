//! Random `pg_hba.conf` files. If looptax reports that a file treats both transports in the same way, this is true for
//! every login, and if it is true, looptax reports it. The same for whether the socket accepts a login that TCP
//! refuses.

use std::net::{Ipv4Addr, Ipv6Addr};

use looptax_advise::check::{Hba, Origin};
use looptax_testkit::hba::{Files, Language};

fn origin(is_v6: bool) -> Origin {
    let ip = if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    Origin::Known { ip, is_localhost: true }
}

/// Checks random files: compares what looptax reports about a file with the results of all logins.
fn check(language: Language, seed: u64, n_files: usize) {
    let mut files = Files::new(seed, language);
    let (mut n_same, mut n_plain) = (0, 0);
    for idx in 0..n_files {
        let file = files.draw();
        let families: &[bool] = match idx % 3 {
            0 => &[false, true],
            1 => &[true],
            _ => &[false],
        };
        let origins: Vec<_> = families.iter().map(|is_v6| origin(*is_v6)).collect();
        let hba = Hba::parse(&file.text);
        let is_read = hba.unread.is_empty() || file.text.contains("@names");
        assert!(is_read, "{:?}: {}", hba.unread, file.text);
        let called = hba.difference(&origins).map(|it| it.words("file"));
        n_same += usize::from(called.is_none());
        n_plain += usize::from(file.is_plain());
        let worlds = if file.is_plain() { 1 } else { 8 };
        let seen = (0..worlds).find_map(|world| file.differs(families, world));
        let more = hba.surplus(&origins).map(|it| it.words("file"));
        let gets_more = (0..worlds).find_map(|world| file.gets_more(families, world));
        for (called, seen) in [(called, seen), (more, gets_more)] {
            match (called, seen) {
                (None, Some(seen)) => panic!("called the same, but {seen:?}: {}", file.text),
                (Some(called), None) if file.is_plain() => panic!("{called}: {}", file.text),
                _ => {}
            }
        }
    }
    let enough = n_files / 10;
    assert!(n_same > enough && n_plain > enough, "{n_same} {n_plain}");
}

#[test]
fn what_the_file_decides_is_decided() {
    check(Language::Plain, 18, 4_000);
}

#[test]
fn what_the_file_does_not_decide_is_never_called_the_same_wrongly() {
    check(Language::Whole, 19, 4_000);
}
