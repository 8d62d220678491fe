//! A real WordPress: checks that its pages use the requested transport, and that nothing is left behind.

use std::collections::BTreeSet;
use std::path::Path;

use libtest_mimic::Trial;
use looptax_experiment::servers::wordpress::{Page, Site, Transport, WordPress, find};
use looptax_experiment::servers::{Reaper, ServerError, find_binary};
use looptax_model::dsn::Kind;
use looptax_testkit::skips::skip_named;

use crate::live::{check_empty, check_nobody_works_in, reaper, root};
use crate::{live, test, victim};

/// Number of queries of a page for each site, once the entries that expire after a minute are cached.
const QUERIES: [(Site, u32); 2] = [(Site::Bare, 18), (Site::Full, 54)];

/// Returns the tests; they are ignored, with a message, if there is no WordPress.
pub(crate) fn trials() -> Vec<Trial> {
    let missing = find().err().map(|error| error.to_string());
    let missing = missing.or_else(|| {
        let is_absent = find_binary(Kind::Mariadb).is_none();
        is_absent.then(|| "mariadb is not installed".to_owned())
    });
    let named: [(&str, fn()); 4] = [
        ("wordpress_counts_queries_as_the_server_does", counted),
        ("wordpress_asks_for_what_its_pages_need", refused),
        ("wordpress_is_reaped_after_kill_9", || {
            live::killed_by_name(victim::WORDPRESS);
        }),
        ("wordpress_is_swept_after_kill_9_of_both", || {
            live::killed_with_its_reaper_by_name(victim::WORDPRESS);
        }),
    ];
    let trial = |(name, run): (&str, fn())| {
        if let Some(why) = &missing {
            skip_named(name, why);
        }
        Trial::test(name, test(run)).with_ignored_flag(missing.is_some())
    };
    named.into_iter().map(trial).collect()
}

#[track_caller]
fn start(root: &Path, reaper: &Reaper) -> WordPress {
    let exe = std::env::current_exe().unwrap();
    match WordPress::start(exe, root.to_owned(), reaper) {
        Ok(site) => site,
        Err(error) => panic!("{error}\n{:?}", std::error::Error::source(&error)),
    }
}

fn counted() {
    let (root, reaper) = (root(), reaper());
    let site = start(root.path(), &reaper);
    assert!(site.version.contains('.') && site.php_version.contains('.'));
    for (kind, n_queries) in QUERIES {
        let mut counts = BTreeSet::new();
        for transport in [Transport::Unix, Transport::Tcp] {
            let connecting = site.connect(kind, transport).unwrap();
            assert_eq!(connecting.queries, 0);
            for _ in 0..3 {
                let page = site.load(kind, transport).unwrap();
                check_page(&page, transport);
                assert_eq!(page.questions - connecting.questions, page.queries);
                counts.insert(page.queries);
            }
        }
        assert_eq!(counts.first(), Some(&n_queries), "{counts:?}");
    }
    site.stop().unwrap();
    check_empty(root.path());
    check_nobody_works_in(root.path());
}

#[track_caller]
fn check_page(page: &Page, transport: Transport) {
    assert_eq!(page.timed, page.queries);
    assert_eq!(page.came_over_socket(), transport == Transport::Unix, "{page:?}");
    assert_eq!(page.went_to_socket(), transport == Transport::Unix, "{page:?}");
    assert!(page.has_opcache && !page.has_object_cache, "{page:?}");
    assert!(0.0 < page.query_us && page.query_us < page.page_us, "{page:?}");
}

/// Checks the errors for a transport whose php-fpm was not started, and for a php-fpm that ends.
fn refused() {
    let (root, reaper) = (root(), reaper());
    let mut site = start(root.path(), &reaper);
    let error = site.load(Site::Bare, Transport::Redirect).unwrap_err();
    assert!(matches!(error, ServerError::PageRequest { .. }), "{error}");
    // `add_redirect` starts this test program, which has no subcommand `run`, in place of looptax.
    let error = site.add_redirect().unwrap_err();
    assert!(matches!(error, ServerError::Pool { .. }), "{error}");
    site.load(Site::Bare, Transport::Tcp).unwrap();
    assert_eq!(site.has_exited(), None);
    drop(site);
    check_empty(root.path());
    check_nobody_works_in(root.path());
}
