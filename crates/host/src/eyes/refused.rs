//! The reasons why looptax cannot count requests on sockets; each reason names what is missing.

use std::io;

use aya::EbpfError;
use aya::maps::MapError;
use aya::programs::ProgramError;
use rustix::io::Errno;
use thiserror::Error;

/// The reason why looptax cannot count requests on this machine's sockets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("only root, or a process with CAP_BPF and CAP_PERFMON, may count requests on sockets")]
    Rights,
    #[error(
        "looptax runs in a separate process namespace, for example in a container; to count requests on sockets, \
         looptax needs the process numbers of the machine (docker run --pid=host, hostPID: true)"
    )]
    OwnProcesses,
    #[error(
        "to count requests on sockets, looptax needs the kernel's type information (/sys/kernel/btf/vmlinux), \
        which is missing"
    )]
    NoTypes,
    #[error("this kernel has no tracepoint `{0}`: to count requests on sockets, looptax needs Linux 6.3 or newer")]
    NoTracepoint(String),
    #[error("the kernel is in lockdown mode, in which programs cannot count requests on sockets")]
    Lockdown,
    #[error("the kernel's verifier rejected looptax's program: {0}")]
    Verifier(String),
    #[error("the kernel does not allow looptax to count requests on sockets: {0}")]
    Kernel(String),
    #[error("looptax can read the bytes of connections only on x86_64")]
    Processor,
    #[error("looptax cannot read the eBPF programs that it loads into the kernel")]
    Object,
}

/// The file in `/sys` with the kernel's lockdown, in the form `none [integrity] confidentiality`.
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

pub(super) fn of_object(error: &EbpfError) -> Refused {
    match error {
        EbpfError::ProgramError(error) => of_program(error),
        EbpfError::MapError(MapError::CreateError { io_error, .. }) => of_kernel(io_error, &error.to_string()),
        EbpfError::MapError(_) | EbpfError::BtfRelocationError(_) | EbpfError::RelocationError(_) => {
            Refused::Kernel(chain(error))
        }
        _ => of_cause(error).unwrap_or_else(|| Refused::Kernel(chain(error))),
    }
}

pub(super) fn of_program(error: &ProgramError) -> Refused {
    match error {
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            let last = log.lines().rfind(|it| !it.is_empty() && !it.starts_with("processed "));
            match last {
                Some(last) if !log.trim().is_empty() => Refused::Verifier(last.to_owned()),
                _ => of_kernel(io_error, &error.to_string()),
            }
        }
        ProgramError::Btf(aya::BtfError::UnknownBtfTypeName { type_name }) => {
            Refused::NoTracepoint(type_name.trim_start_matches("btf_trace_").to_owned())
        }
        _ => of_cause(error).unwrap_or_else(|| Refused::Kernel(chain(error))),
    }
}

/// Determines the reason from the system call's error, if the causes of `error` contain such an error.
fn of_cause(error: &(dyn std::error::Error + 'static)) -> Option<Refused> {
    let mut causes = std::iter::successors(Some(error), |it| it.source());
    let kernel = causes.find_map(|it| it.downcast_ref::<io::Error>())?;
    Some(of_kernel(kernel, &error.to_string()))
}

fn of_kernel(error: &io::Error, words: &str) -> Refused {
    if !matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::ACCESS)) {
        return Refused::Kernel(format!("{words}: {error}"));
    }
    let lockdown = std::fs::read_to_string(LOCKDOWN).unwrap_or_default();
    if has_rights() && lockdown.contains("[confidentiality]") { Refused::Lockdown } else { Refused::Rights }
}

/// Whether this process has the rights that counting requires.
pub(super) fn has_rights() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let has = capabilities(None).map_or(CapabilitySet::empty(), |it| it.effective);
    has.contains(CapabilitySet::SYS_ADMIN) || has.contains(CapabilitySet::BPF | CapabilitySet::PERFMON)
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |it| it.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
