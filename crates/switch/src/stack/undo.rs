//! Both old files back, and both programs told to read them: for a switch that failed, and for one that is undone.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use looptax_discover::{Process, is_listened_at};
use looptax_record::StepCode;

use super::{commands, nginx, program};
use crate::SwitchError;
use crate::apply::{Tell, back, run, step};
use crate::clock::Since;
use crate::journal::{End, StackOf};
use crate::work::Work;

/// So long a program is waited for after it was told to read its files.
pub(super) const TAKEN: Duration = Duration::from_secs(10);
/// Pause between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// Runs the commands one after the other; where the pool is the first, the next waits until it listens at its port.
pub(super) fn reload_both(
    (front, pool): (&Process, Option<&Process>),
    tcp: SocketAddr,
    reloads: &[String],
    within: Duration,
    tell: Tell<'_>,
) {
    // Who wanted to end has had the files put back; they are still to be read.
    let go_on = AtomicBool::new(false);
    let before = program::workers(front);
    for (idx, command) in reloads.iter().enumerate() {
        let said = run(command, within, &go_on);
        tell(said.unwrap_or_else(|failed| failed));
        let is_pool_back = || pool.is_none() || is_listened_at(tcp, front);
        if idx == 0 {
            wait_until(is_pool_back);
        }
    }
    wait_until(|| nginx::has_new_workers(front, &before));
}

/// Waits, within bounds.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Since::now();
    while !is_so() && start.elapsed() < TAKEN {
        thread::sleep(PAUSE);
    }
}

/// Puts both old files back as somebody asked, tests them, and has both programs read them, the pool first.
///
/// # Errors
/// [`SwitchError::Rewritten`] where somebody wrote the very lines since, and whatever cannot be written.
pub fn undo_stack(
    mut work: Work,
    told: &StackOf,
    reload: Option<&str>,
    within: Duration,
    tell: Tell<'_>,
) -> Result<(), SwitchError> {
    work.put_back("somebody asked", End::Undone)?;
    tell(back(&work));
    let front = program::again(&told.front);
    let pool = told.pool.as_ref().map(program::again);
    let (Some(front), false) = (front, matches!(pool, Some(None))) else {
        let words =
            "the programs that read them run no more as they did then: reload PHP-FPM and nginx"
                .to_owned();
        tell(step(StepCode::ReloadByHand, words));
        return Ok(());
    };
    let pool = pool.flatten();
    let (tests, reloads) = commands(&front, pool.as_ref(), reload);
    let go_on = AtomicBool::new(false);
    for command in &tests {
        match run(command, within, &go_on) {
            Ok(done) => tell(done),
            Err(failed) => {
                tell(failed);
                let words = "nothing was reloaded: mend the files, then reload PHP-FPM and nginx"
                    .to_owned();
                tell(step(StepCode::ReloadByHand, words));
                return Ok(());
            }
        }
    }
    reload_both((&front, pool.as_ref()), told.tcp, &reloads, within, tell);
    Ok(())
}
