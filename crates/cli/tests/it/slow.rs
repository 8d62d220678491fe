//! A page that takes long: looptax keeps to the planned time, and reports changes of the plan.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{exe, saved};

/// The time that the page takes, like an application that queries its database a few times.
const ANSWER: Duration = Duration::from_millis(20);
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn serve(mut stream: impl Read + Write + Send + 'static) {
    thread::spawn(move || {
        while let Ok(1..) = stream.read(&mut [0; 4096]) {
            thread::sleep(ANSWER);
            if stream.write_all(PAGE).is_err() {
                return;
            }
        }
    });
}

#[test]
fn r44_a_quick_run_on_a_slow_page_keeps_to_its_time_with_fewer_epochs() {
    // looptax printed "at most 21 s" and was still running after two minutes.
    let scratch = Scratch::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", tcp.local_addr().unwrap());
    let socket = scratch.file("page.sock");
    let unix = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || tcp.incoming().flatten().for_each(serve));
    thread::spawn(move || unix.incoming().flatten().for_each(serve));
    let run = Looptax::new(exe(), &scratch)
        .args(["compare", &url, "--socket", socket.to_str().unwrap()])
        .args(["--yes", "--quick", "--no-history", "-o", "r.json"])
        .run();
    run.expect_code(0);
    let planned = "40 epochs at most, 20 s at most";
    let kept = "with fewer epochs if answers take long";
    if !run.stderr.contains(planned) || !run.stderr.contains(kept) {
        run.fail("the plan promises a time");
    }
    let said = run.stderr.split_once("answers take long, so looptax makes slices ");
    let Some((_, said)) = said else {
        run.fail("that it takes longer is not said");
    };
    let n_epochs = said.split_once(" ms: ").and_then(|(_, it)| it.split_once(" epoch"));
    let n_epochs: usize = n_epochs.unwrap().0.parse().unwrap();
    // An epoch has eight slices with ten or more answers each, so at most a dozen epochs fit into 20 s.
    assert!((1..=12).contains(&n_epochs), "{said}");
    let record = saved(&scratch);
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["raw"]["epochs"].as_array().unwrap().len(), n_epochs);
    assert_eq!(comparison["schedule"]["looks"][0]["epochs"], n_epochs);
}
