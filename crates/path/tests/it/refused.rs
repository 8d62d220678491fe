//! Where it cannot be had: the words for it.

use std::error::Error as _;

use libtest_mimic::Trial;
use looptax_failure::Explain;
use looptax_path::{OwnCgroup, Sockmap};

use crate::moved::{Deed, Moved, say};
use crate::trial;

pub(crate) const DEEDS: &[Deed] = &[("obstacle", obstacle), ("create", create)];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("nothing_is_in_the_way_of_root", || {
            check(&[], "obstacle", "none");
        }),
        trial("a_capability_that_is_missing_is_named", capabilities),
        trial("root_of_a_user_namespace_is_told_so", || {
            let words =
                "cannot make a map for sockets: looptax lacks CAP_BPF outside its user namespace";
            check(&["unshare", "-Ur"], "obstacle", words);
        }),
        trial("who_may_not_make_a_cgroup_is_told_which", || {
            let nobody = [
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
            ];
            let said = Moved::start(&nobody, &["create"]).finish();
            assert!(said.starts_with("cannot make the cgroup `/"), "{said}");
            assert!(
                said.contains("(os error 13); run looptax as root"),
                "{said}"
            );
        }),
    ]
}

fn capabilities() {
    let all = "cannot make a map for sockets: looptax lacks CAP_BPF and CAP_NET_ADMIN";
    for (kept, expected) in [
        ("-all", all),
        (
            "-all,+net_admin",
            "cannot make a map for sockets: looptax lacks CAP_BPF",
        ),
        (
            "-all,+bpf",
            "cannot make a map for sockets: looptax lacks CAP_NET_ADMIN",
        ),
        // A folder of root is written to by its rights, too.
        ("-all,+bpf,+net_admin,+dac_override", "none"),
    ] {
        let inheritable = format!("--inh-caps={kept}");
        let bounding = format!("--bounding-set={kept}");
        check(&["setpriv", &inheritable, &bounding], "obstacle", expected);
    }
}

#[track_caller]
fn check(before: &[&str], deed: &str, expected: &str) {
    let said = Moved::start(before, &[deed]).finish();
    assert_eq!(said.trim_end(), expected);
}

fn obstacle(_: &[String]) {
    say(&Sockmap::obstacle().map_or_else(|| "none".to_owned(), |it| it.to_string()));
}

fn create(_: &[String]) {
    let error = OwnCgroup::create().unwrap_err();
    let source = error.source().unwrap();
    say(&format!("{error}: {source}; {}", error.hint().unwrap()));
}
