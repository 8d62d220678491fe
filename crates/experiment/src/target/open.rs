//! Makes a private or running server ready, with the parts that its arms need.

use std::path::Path;

use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;

use super::host::Host;
use super::{Target, private, room, running};
use crate::arms::redirect::RedirectArm;
use crate::spec::Experiment;
use crate::spec::target::TargetSpec;

impl Target {
    /// Starts the server or inspects the running server, and makes the data of the workload.
    pub fn open(spec: &TargetSpec, arms: &[Arm], settings: &Experiment, host: &Host) -> Result<Self, Failure> {
        room::check_files(settings, matches!(spec, TargetSpec::Private(_)))?;
        let mut target = match spec {
            TargetSpec::Private(kind) => private::start(*kind, arms, settings, host),
            TargetSpec::Running(spec) => running::open(spec, settings, host),
        }?;
        if let Some(supervisor) = host.machine.supervisor().filter(|_| arms.contains(&Arm::Redirect)) {
            let arms = [Arm::Redirect, Arm::Unix].map(|arm| target.endpoints(arm));
            let [from, to] = arms;
            let pairs = from?.into_iter().zip(to?);
            let redirect = RedirectArm::start(supervisor, pairs.map(Into::into))?;
            target.arms.add_redirect(redirect);
        }
        if settings.is_from_namespace
            && let Some(folder) = target.sockets.first().and_then(|it| it.parent().map(Path::to_owned))
        {
            target.arms.add_sidecar(&folder)?;
        }
        Ok(target)
    }
}
