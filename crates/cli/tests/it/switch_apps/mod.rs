//! `looptax switch` with real applications on real servers: each is moved, proved and undone, and works after each
//! step.
//!
//! Every application first runs on TCP, in a common configuration. Its own page, which shows a row of a table, shows
//! whether it works; its server reports which transport it uses.

mod between;
mod hurt;
mod pairs;
mod php;
mod programs;
mod shop;
mod together;

use std::os::unix::fs::MetadataExt;

use crate::application::{Application, Way};
use looptax_testkit::runner::{Finished, Looptax};

use crate::fixture::exe;

/// Moves the application and checks that it uses the socket; then undoes this and checks that everything is as before.
#[track_caller]
fn moved_and_back(app: &Application) {
    expect_on(app, Way::Tcp);
    let before = app.bytes();
    let rights = rights(app);

    let moved = app.while_visited(|| switch(app, &[]).run());
    moved.expect_code(0);
    expect_on(app, Way::Socket);
    expect_only_the_place_changed(&moved, &before, &app.bytes());
    assert_eq!(self::rights(app), rights);

    let undo = undo(app).run();
    undo.expect_code(0);
    assert!(app.bytes() == before, "not the same bytes as before");
    assert_eq!(self::rights(app), rights);
    expect_on(app, Way::Tcp);
}

/// Runs `looptax switch` on the application's file, as a user who has read the plan.
fn switch<'a>(app: &'a Application, args: &[&str]) -> Looptax<'a> {
    let mut words = vec!["switch", "--yes"];
    if !args.contains(&"--times-over") {
        words.push("--no-times");
    }
    if !args.contains(&"--within") {
        words.extend(["--within", "30s"]);
    }
    words.extend(app.url.iter().flat_map(|url| ["--url", url]));
    words.extend(args);
    let looptax = looptax(app).args(words).args([&app.file]).args(reload(app));
    // Next to the servers of other tests, only root can find out which of them the socket belongs to.
    match app.place.uid {
        Some(_) => looptax.args(["--socket", &app.server.socket()]),
        None => looptax,
    }
}

fn undo(app: &Application) -> Looptax<'_> {
    let words = ["switch", "--undo", "last", "--yes"];
    looptax(app).args(words).args(reload(app))
}

fn looptax(app: &Application) -> Looptax<'_> {
    let scratch = &app.place.scratch;
    let looptax = Looptax::new(exe(), scratch).env("XDG_DATA_HOME", scratch.file("data"));
    match app.place.uid {
        Some(uid) => looptax.uid(uid),
        None => looptax,
    }
}

fn reload(app: &Application) -> impl Iterator<Item = &str> {
    let reload = app.reload.iter();
    reload.flat_map(|command| ["--reload", command.as_str()])
}

#[track_caller]
fn expect_on(app: &Application, way: Way) {
    app.expect_to_work();
    app.expect_way(way);
}

/// Returns mode, owner and group of the file.
fn rights(app: &Application) -> (u32, u32, u32) {
    let rights = app.file.metadata().expect("the application's file is there");
    (rights.mode(), rights.uid(), rights.gid())
}

/// Checks that the remaining lines are unchanged, and that the new lines contain the socket or a setting that a socket
/// needs.
#[track_caller]
fn expect_only_the_place_changed(run: &Finished, before: &[u8], after: &[u8]) {
    let [before, after] = [before, after].map(String::from_utf8_lossy);
    let only_in = |these: &str, those: &str| {
        let those: Vec<&str> = those.lines().collect();
        let own = these.lines().filter(|line| !those.contains(line));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    let (gone, came) = (only_in(&before, &after), only_in(&after, &before));
    let is_about_socket = came.iter().any(|line| line.contains("srv"));
    let is_about_host = |line: &String| line.contains("127.0.0.1") || line.contains("port");
    if !is_about_socket || came.len() > 2 || !gone.iter().all(is_about_host) {
        run.fail(&format!("took {gone:#?}, wrote {came:#?}"));
    }
}
