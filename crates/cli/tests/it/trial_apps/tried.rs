//! A finished trial, whose record is compared with a server's counts.

use std::ffi::OsString;

use looptax_testkit::runner::{Finished, Looptax};
use serde_json::Value;

use crate::application::Place;
use crate::fixture::{Server, exe, saved};

/// The number of pages that show that the application is ready.
pub(super) const READY: u64 = 1;
/// Rounds of the first look over each transport.
pub(super) const LOOKS: u64 = 4;

/// Returns `looptax trial` with few epochs and only these servers, as a user who has read the plan.
pub(super) fn trial<'a>(place: &'a Place, servers: &[&Server]) -> Looptax<'a> {
    let ports = servers.iter().map(|it| it.it.tcp.port().to_string());
    let only = ports.collect::<Vec<_>>().join(",");
    Looptax::new(exe(), &place.scratch).args(["trial", "--yes", "--fixed", "6", "--port", &only])
}

/// Returns the last arguments of a trial: the front page as URL, and the command that starts the application.
pub(super) fn of_front_page(place: &Place, command: &[&str]) -> Vec<OsString> {
    let url = format!("http://{}/", place.http);
    words(place, &["--url", &url, "--json=r.json", "--"]).into_iter().chain(words(place, command)).collect()
}

/// Returns these words with their placeholders replaced.
pub(super) fn words(place: &Place, words: &[&str]) -> Vec<OsString> {
    words.iter().map(|it| place.fill(it).into()).collect()
}

pub(super) struct Tried {
    pub(super) run: Finished,
    pub(super) record: Value,
}

impl Tried {
    /// Returns a trial that has succeeded, after checking that nothing of the application is left.
    #[track_caller]
    pub(super) fn expect_done(run: Finished, place: &Place) -> Self {
        run.expect_code(0);
        place.scratch.check_nothing_left();
        Self::read(run, place)
    }

    /// Returns a trial with the record that it has saved.
    pub(super) fn read(run: Finished, place: &Place) -> Self {
        let record = saved(&place.scratch);
        Self { run, record }
    }

    pub(super) fn comparisons(&self) -> Vec<Contrast<'_>> {
        let all = self.record["comparisons"].as_array().expect("a list");
        all.iter().map(Contrast).collect()
    }

    /// Returns the addresses of the servers, by their numbers.
    pub(super) fn contrast_servers(&self) -> Vec<String> {
        let servers = &self.record["comparisons"][0]["trial"]["servers"];
        let servers = servers.as_array().expect("a list");
        let address = |it: &Value| it["from"][0].as_str().expect("an address").to_owned();
        servers.iter().map(address).collect()
    }

    /// Returns the only contrast.
    #[track_caller]
    pub(super) fn contrast(&self) -> Contrast<'_> {
        let all = self.comparisons();
        assert_eq!(all.len(), 1, "{:#}", self.record);
        all[0]
    }

    /// Checks that the printed text contains all these words.
    #[track_caller]
    pub(super) fn expect_told(&self, words: &[&str]) {
        let said = [&self.run.stderr, &self.run.stdout].map(|it| one_line(it)).concat();
        for words in words {
            if !said.contains(words) {
                self.run.fail(&format!("`{words}` was expected"));
            }
        }
    }
}

/// Returns a text without its layout.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A comparison in the record of a trial.
#[derive(Clone, Copy)]
pub(super) struct Contrast<'a>(pub(super) &'a Value);

/// The two arms of a contrast.
pub(super) const ARMS: [&str; 2] = ["unix", "tcp"];

impl Contrast<'_> {
    #[track_caller]
    pub(super) fn number(self, pointer: &str) -> u64 {
        let found = self.0.pointer(pointer).and_then(Value::as_u64);
        found.unwrap_or_else(|| panic!("no number at {pointer}: {:#}", self.0["trial"]))
    }

    pub(super) fn design(self) -> String {
        self.0["trial"]["design"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the number of successful pages, `[unix, tcp]`.
    #[track_caller]
    pub(super) fn pages(self) -> [u64; 2] {
        [0, 1].map(|arm| self.number(&format!("/trial/arms/{arm}/n_pages")))
    }

    /// Checks that each arm had this number of slices with pages, and that no page failed.
    #[track_caller]
    pub(super) fn expect_pages(self, n_slices: u64) {
        let names = self.0["arms"].as_array().expect("a list");
        assert_eq!(names.len(), 2);
        for (idx, name) in ARMS.into_iter().enumerate() {
            assert_eq!(self.0["arms"][idx]["name"], name);
            assert_eq!(self.0["arms"][idx]["verified"], true, "{:#}", self.0["arms"]);
            let of = |what: &str| self.number(&format!("/trial/arms/{idx}/{what}"));
            assert_eq!(of("n_slices"), n_slices, "{:#}", self.0["trial"]);
            assert_eq!(of("n_failed"), 0);
            assert!(of("n_pages") >= n_slices);
        }
    }

    /// Returns the numbers of an arm's connections to a server, `[moved, left, not moved]`.
    #[track_caller]
    pub(super) fn connections(self, arm: usize, server: usize) -> [u64; 3] {
        ["n_moved", "n_left", "n_not_moved"]
            .map(|what| self.number(&format!("/trial/arms/{arm}/connections/{server}/{what}")))
    }

    pub(super) fn slices_per_epoch(self) -> u64 {
        8 * self.number("/schedule/octets_per_epoch")
    }

    /// Returns the number of slices of each arm, in the warm-up and in all counted epochs.
    pub(super) fn slices_with_warm_up(self) -> u64 {
        let n_epochs = 6 + self.number("/schedule/warmup_epochs");
        n_epochs * self.slices_per_epoch() / 2
    }

    #[track_caller]
    pub(super) fn epochs(self) -> u64 {
        let all = self.0["raw"]["epochs"].as_array().expect("a list");
        all.len() as u64
    }

    /// Checks a trial with restarts: it has `n_epochs` epochs, and each turn had one connection over its transport.
    /// Returns the number of epochs, including those of the warm-up.
    #[track_caller]
    pub(super) fn expect_restarted(self, n_epochs: u64) -> u64 {
        assert_eq!(self.epochs(), n_epochs);
        assert_eq!(self.design(), "restart");
        self.expect_pages(2 * n_epochs);
        assert_eq!(self.connections(0, 0), [2 * n_epochs, 0, 0]);
        assert_eq!(self.connections(1, 0), [0, 2 * n_epochs, 0]);
        n_epochs + self.number("/schedule/warmup_epochs")
    }

    /// Checks a trial without restarts: each page made `per_page` connections over the transport of its turn, and the
    /// server counted exactly these and the ones of the first look and of the warm-up, `[unix, tcp]`.
    #[track_caller]
    pub(super) fn expect_flipped(self, per_page: u64, n_urls: u64, heard: [u64; 2]) {
        assert_eq!(self.design(), "flip");
        self.expect_pages(6 * self.slices_per_epoch() / 2);
        let pages = self.pages();
        let n_moved = per_page * pages[0];
        assert_eq!(self.connections(0, 0), [n_moved, 0, 0]);
        let n_left = per_page * pages[1];
        assert_eq!(self.connections(1, 0), [0, n_left, 0]);
        let per_slice = pages[0] / (6 * self.slices_per_epoch() / 2);
        let all = per_page * (LOOKS * n_urls + per_slice * self.slices_with_warm_up());
        assert_eq!(heard, [all, all + READY * per_page], "{:#}", self.0["trial"]);
    }
}
