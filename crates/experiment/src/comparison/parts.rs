//! Plans the comparisons of one `compare` command line. The comparisons are measured one after the other.
//!
//! If there are several workloads, each workload is a part; each change that `--remedies` tries is a part as well.

use std::fmt::Write;

use looptax_model::dsn::{Arm, Kind};
use looptax_model::failure::Failure;

use crate::arms::Machine;
use crate::measure::plan;
use crate::servers::unfit;
use crate::spec::{Experiment, remedies};

/// The requested experiments, not planned yet.
pub struct Asked {
    /// The experiments with their titles; the list has at least one experiment.
    pub all: Vec<(String, Experiment)>,
    /// The arm that programs use today; `None` without `--remedies`.
    pub today: Option<String>,
    /// One sentence for each requested part that cannot be measured.
    left_out: Vec<String>,
}

/// An experiment with its plan.
pub struct Part<'a> {
    /// The title of the part; empty if there is only one part.
    title: &'a str,
    pub settings: &'a Experiment,
    pub plan: plan::Overview,
}

pub struct Parts<'a> {
    /// The parts, in the order of measuring.
    pub all: Vec<Part<'a>>,
    /// One sentence for each requested comparison that is not made.
    left_out: Vec<String>,
    /// One sentence for each arm that is not possible; a plan lists these sentences with its targets.
    missing: Vec<String>,
}

impl Asked {
    /// Requests these experiments, one after the other. The title of each experiment is its workload.
    pub fn workloads(all: Vec<Experiment>) -> Self {
        let title = |it: &Experiment| it.requests.workload.clone().unwrap_or_default();
        Self { all: all.into_iter().map(|it| (title(&it), it)).collect(), today: None, left_out: Vec::new() }
    }

    /// Adds a sentence for each kind of server that is not measured because its only installed program cannot be
    /// started. Memcached gets no sentence: it is measured only if the user names it.
    #[must_use]
    pub fn naming_unfit_servers(mut self) -> Self {
        let unfit = unfit().into_iter().filter(|(kind, _)| *kind != Kind::Memcached);
        let reasons = unfit.map(|(kind, why)| not_measured(kind.name(), &Failure::new(why)));
        self.left_out.extend(reasons);
        self
    }

    /// Requests the changes that could help programs that connect over `today`.
    pub fn remedies(today: Arm, parts: Vec<remedies::Part>) -> Self {
        let mut asked = Self { all: Vec::new(), today: Some(today.name().to_owned()), left_out: Vec::new() };
        for remedies::Part { title, experiment } in parts {
            match experiment {
                Ok(experiment) => asked.all.push((title.to_owned(), experiment)),
                Err(failure) => asked.left_out.push(not_measured(title, &failure)),
            }
        }
        asked
    }
}

/// Plans each experiment.
///
/// # Errors
/// The failure of a part that the user requested. A part that `--remedies` has added is left out if it fails.
pub fn planned<'a>(asked: &'a Asked, machine: &Machine) -> Result<Parts<'a>, Failure> {
    let mut parts = Parts { all: Vec::new(), left_out: asked.left_out.clone(), missing: Vec::new() };
    for (title, settings) in &asked.all {
        match plan::lay_out(settings, machine) {
            Ok(plan) => parts.all.push(Part { title: if asked.all.len() > 1 { title } else { "" }, settings, plan }),
            Err(failure) if asked.today.is_some() && !parts.all.is_empty() => {
                parts.left_out.push(not_measured(title, &failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    for missing in parts.all.iter().flat_map(|part| part.plan.missing()) {
        if !parts.missing.contains(&missing) {
            parts.missing.push(missing);
        }
    }
    Ok(parts)
}

fn not_measured(title: &str, failure: &Failure) -> String {
    format!("{title}: not measured: {failure:#}")
}

impl Parts<'_> {
    /// Returns the plans as text, each under its title if there are several.
    pub fn text(&self) -> String {
        let mut text: String = { self.all.iter() }
            .map(|part| match part.title {
                "" => part.plan.text.clone(),
                title => format!("{title}: {}", part.plan.text),
            })
            .collect();
        for why in &self.left_out {
            let _ = writeln!(text, "{why}");
        }
        if self.all.len() > 1 {
            let at_most = self.all.iter().map(|part| part.plan.at_most).sum();
            let _ = writeln!(text, "in all at most {}", plan::minutes(at_most));
        }
        text
    }

    /// Returns one sentence for each requested measurement that is not made.
    pub fn not_measured(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().chain(&self.missing).cloned()
    }
}
