//! Explains to the user why the kernel does not allow sampling.

use std::io;

use looptax_host::kernel;
use looptax_model::failure::Failure;
use rustix::io::Errno;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Whether the error means that the kernel does not permit the request. The kernel may still permit a request that asks
/// for less.
pub(super) fn is_forbidden(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::PERM | Errno::ACCESS))
}

/// Explains why samples cannot be taken, with the next step.
pub(super) fn explain(error: io::Error) -> Failure {
    let paranoid = kernel::text(PARANOID).ok();
    let paranoid = paranoid.and_then(|text| text.trim().parse().ok());
    explain_with(error, paranoid)
}

fn explain_with(error: io::Error, paranoid: Option<i32>) -> Failure {
    match (Errno::from_io_error(&error), paranoid) {
        (Some(Errno::NOSYS), _) => Failure::new("this kernel has no perf_event_open, so looptax can take no samples")
            .with_hint("use a Linux kernel with CONFIG_PERF_EVENTS, outside of sandboxes such as gVisor"),
        // Levels above 2 come from a patch in Debian and Ubuntu; they forbid ordinary users to sample anything.
        (Some(Errno::PERM | Errno::ACCESS), Some(level @ 3..)) => {
            Failure::new(format!("kernel.perf_event_paranoid is {level}, so only root may take samples")).with_hint(
                "run looptax as root, or allow sampling: `sysctl kernel.perf_event_paranoid=2` shows only this user's \
                 programs, `=1` also shows the kernel's work for these programs, and `=-1` shows the whole machine",
            )
        }
        (Some(Errno::PERM | Errno::ACCESS), _) => {
            Failure::new("perf_event_open is forbidden, as in containers, so looptax can take no samples").with_hint(
                "run looptax on the host, or start the container with `--cap-add PERFMON --security-opt \
                seccomp=unconfined`",
            )
        }
        (Some(Errno::MFILE), _) => Failure::from(error)
            .context("cannot open a perf event per thread and core")
            .with_hint("allow more open files: `ulimit -n 65536`"),
        _ => Failure::from(error).context("cannot take samples with perf_event_open"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_is_told_with_the_next_step() {
        for (errno, paranoid, words, step) in [
            (Errno::NOSYS, Some(2), "no perf_event_open", "CONFIG_PERF_EVENTS"),
            (Errno::ACCESS, Some(3), "perf_event_paranoid is 3", "run looptax as root"),
            (Errno::PERM, Some(4), "perf_event_paranoid is 4", "`=-1` shows the whole machine"),
            (Errno::PERM, Some(2), "as in containers", "--cap-add PERFMON"),
            (Errno::PERM, None, "as in containers", "--cap-add PERFMON"),
            (Errno::MFILE, Some(2), "per thread and core", "ulimit -n"),
        ] {
            let failure = explain_with(errno.into(), paranoid);
            assert!(failure.to_string().contains(words), "{failure}");
            assert!(failure.hint().is_some_and(|hint| hint.contains(step)), "{failure:?}");
        }
        let other = explain_with(Errno::NOSPC.into(), Some(2));
        assert!(format!("{other:#}").starts_with("cannot take samples with perf_event_open: "));
    }
}
