//! A step of a switch in the form that is shown and saved, and a function that runs a command as a step.
//!
//! Called by `carry`, which carries out the steps, and by the modules that prove a switch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_model::record::{StepCode, SwitchStep};

use crate::line::Line;
use crate::reload;

/// Receives each step as soon as it is done.
pub type Tell<'a> = &'a mut dyn FnMut(SwitchStep);

pub(crate) fn step(code: StepCode, words: impl Into<String>) -> SwitchStep {
    let words = words.into();
    SwitchStep { code, words }
}

pub(crate) fn stopped() -> SwitchStep {
    step(StepCode::Stopped, "stopped before the change was proved")
}

/// Runs the command. Returns the step that reports how the command ended, as an error if the command failed.
pub(crate) fn run(line: &Line, within: Duration, stop: &AtomicBool) -> Result<SwitchStep, SwitchStep> {
    let failed = |words: String| Err(step(StepCode::ReloadFailed, words));
    let text = line.text();
    match reload::run(line, within, stop) {
        Ok(ran) if ran.code == Some(0) => Ok(step(StepCode::Reloaded, format!("ran: {text}"))),
        Ok(ran) if ran.code.is_none() && stop.load(Ordering::Relaxed) => {
            let words = format!("stopped while `{text}` ran");
            Err(step(StepCode::Stopped, words))
        }
        Ok(ran) => {
            let how = match ran.code {
                Some(code) => format!("ended with {code}"),
                None => "did not end by itself".to_owned(),
            };
            let said = if ran.said.is_empty() { String::new() } else { format!(": {}", ran.said) };
            failed(format!("`{text}` {how}{said}"))
        }
        Err(error) => failed(format!("`{text}` cannot be run: {error}")),
    }
}
