//! Earlier switches: lists, undoes and finishes them, and asks the user about each interrupted switch.

use looptax_model::failure::Failure;
use looptax_model::record::{ListedSwitch, StepCode, SwitchStanding, SwitchStep};
use looptax_report::terminal as report;
use looptax_switch::{End, Kept, Restart, Step, Switch, Undo};

use super::doing::{Doing, kept};
use super::{fixes, planned};
use crate::args::SwitchArgs;
use crate::failure::Exit;
use crate::outputs;
use crate::signals;
use crate::terminal::{self, Terminal};

pub(super) fn list(args: &SwitchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (all, unread) = looptax_switch::list(&kept()?)?;
    for error in unread {
        terminal.words_for(true, &format!("note: {:#}\n", Failure::from(error)));
    }
    let listed: Vec<ListedSwitch> = all.iter().map(Switch::listed).collect();
    outputs::show(&listed, &args.json, || report::switches(&listed, terminal.style()))?;
    Ok(Exit::Done)
}

pub(super) fn undo(id: &str, args: &SwitchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let kept = kept()?;
    let switch = find(&kept, id)?;
    let listed = switch.listed();
    let others = others_that_stand(&kept, &switch)?;
    refuse_undone(&listed, &others)?;
    let doing = Doing { args, terminal };
    doing.show(&report::switches(std::slice::from_ref(&listed), terminal.style()))?;
    refuse_ground_of_others(&switch, &others, args)?;
    if args.dry_run {
        for back in looptax_switch::coming_back(&kept, &switch.id)? {
            doing.show(&report::lines_back(
                &back.path,
                &planned::lines_between(&back.now, &back.then),
                terminal.style(),
            ))?;
        }
        doing.show("nothing was changed\n")?;
        return Ok(Exit::Done);
    }
    refuse_half_undo(&switch, args)?;
    doing.may_ask()?;
    if !args.yes && !terminal::agrees(&question(&switch)) {
        return Ok(Exit::No);
    }
    let work = looptax_switch::open(&kept, &switch.id)?;
    let reload = { args.reload.clone() }.or_else(|| earlier_reload(&switch, args));
    let admin = fixes::admin(args)?;
    let _stop = signals::stop_flag()?;
    let order = Undo {
        reload: reload.as_deref(),
        restart: restart_again(&switch, args),
        admin: admin.as_ref(),
        within: args.within,
    };
    let mut is_unread = false;
    looptax_switch::undo(work, &order, &mut |step| {
        is_unread |= step.code == StepCode::ReloadFailed;
        doing.show_step(&step);
    })?;
    if is_of_application(&switch) && (reload.is_none() || is_unread) {
        doing.show_step(&still_over_the_socket(&switch));
    }
    let fixes = { others.iter() }.filter(|it| it.fix.is_some() && switch.fix.is_none());
    let stay = fixes.map(|it| {
        let (id, title) = (&it.id, &it.title);
        format!("note: this switch stays in effect: {title}; to undo it: looptax switch --undo {id}\n")
    });
    let is_said = switch.fix.is_some() || doing.is_silent();
    let done = is_said.then(|| "undone\n".to_owned());
    let text: String = done.into_iter().chain(stay).collect();
    let after = find(&kept, &switch.id)?.listed();
    outputs::show(&after, &args.json, || text)?;
    Ok(if is_unread { Exit::No } else { Exit::Done })
}

/// With `--yes`, refuses an undo that does not both restart the server and reload the application: the restarted server
/// gives up its socket, and an application that was not reloaded would still use the socket.
fn refuse_half_undo(switch: &Switch, args: &SwitchArgs) -> Result<(), Failure> {
    let Some(of) = switch.server().filter(|it| args.yes && !it.had_socket) else {
        return Ok(());
    };
    let reload = reload_of(switch).filter(|_| args.reload.is_none());
    if args.restart.is_some() && reload.is_none() {
        return Ok(());
    }
    let reload = reload.map_or_else(String::new, |it| format!(" --reload '{it}'"));
    Err(Failure::usage(
        format!(
            "{} gives up its socket when it restarts; before this restart, the application has to read its old file \
             again",
            of.name
        ),
        format!(
            "to undo the switch of the server and of the application: looptax switch --undo {} --yes --restart{reload}",
            switch.id
        ),
    ))
}

/// Returns whether and how the server of a switch may be restarted after its old file has been put back.
fn restart_again<'a>(switch: &Switch, args: &'a SwitchArgs) -> Restart<'a> {
    let Some(of) = switch.server().filter(|_| args.restart.is_none() && !args.yes) else {
        return args.may_restart();
    };
    let words =
        format!("Restart {} afterwards (`{}`), so that the server gives up {}?", of.name, of.restart, of.gain());
    if terminal::agrees(&words) { Restart::ByItsService } else { Restart::NotAgreed }
}

/// Whether the caller's command reloads the application. This is false for a switch of a web server, and for a fix.
fn is_of_application(switch: &Switch) -> bool {
    switch.fix.is_none() && switch.stack().is_none()
}

fn question(switch: &Switch) -> String {
    match switch.stack() {
        _ if switch.fix.is_some() => "Undo this switch?".to_owned(),
        Some(stack) => format!("Put the old files back, and reload {}?", stack.titles()),
        None => "Put the old files back?".to_owned(),
    }
}

/// Returns the step about an application that still uses the socket. The step says how to reload the application.
fn still_over_the_socket(switch: &Switch) -> SwitchStep {
    let asked = || {
        let mut asked = switch.steps.iter().filter_map(|it| match it {
            Step::ByHand { words } => Some(format!("; after the switch looptax asked you: {words}")),
            _ => None,
        });
        asked.next_back()
    };
    let ran = reload_of(switch).map(|it| format!("; after the switch looptax ran: {it}"));
    let then = ran.or_else(asked).unwrap_or_default();
    SwitchStep {
        code: StepCode::ReloadByHand,
        words: format!(
            "an application that reads its files only at a reload still uses the socket: reload it, so that it uses TCP \
             again{then}"
        ),
    }
}

/// Returns the other switches that are still in effect, the oldest first.
fn others_that_stand(kept: &Kept, than: &Switch) -> Result<Vec<Switch>, Failure> {
    let (all, _) = looptax_switch::list(kept)?;
    let stands = |it: &Switch| {
        matches!(it.standing, SwitchStanding::Moved | SwitchStanding::Unproved | SwitchStanding::Prepared)
    };
    Ok(all.into_iter().filter(|it| it.id != than.id && stands(it)).collect())
}

fn refuse_undone(listed: &ListedSwitch, others: &[Switch]) -> Result<(), Failure> {
    if !matches!(listed.standing, SwitchStanding::Undone | SwitchStanding::PutBack) {
        return Ok(());
    }
    let hint = match others.last() {
        Some(it) => format!("the last switch in effect is {} ({}): looptax switch --undo {}", it.id, it.title, it.id),
        None => "no other switch is in effect; looptax switch --list shows all switches".to_owned(),
    };
    Err(Failure::usage(format!("{} is undone already", listed.id), hint))
}

/// Refuses to undo this switch if a later switch may depend on it: if this switch prepared a server, the later switch
/// may have moved an application to that server.
fn refuse_ground_of_others(switch: &Switch, others: &[Switch], args: &SwitchArgs) -> Result<(), Failure> {
    let stands_on_it = |it: &Switch| match switch.server() {
        Some(of) => it.moved_from(of.tcp),
        None => switch.fix.is_some(),
    };
    let later = others.iter().filter(|it| it.fix.is_none() && it.at >= switch.at && stands_on_it(it));
    let later: Vec<&str> = later.map(|it| &*it.id).collect();
    if later.is_empty() || args.force {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "the switch {} was made before {}: the application of a later switch may need what this switch changed",
            switch.id,
            later.join(", ")
        ),
        "undo the later switches first, or use --force",
    ))
}

/// Returns the last command that ran after all files were written. This is never the restart of a server, because a
/// server is restarted earlier.
fn reload_of(switch: &Switch) -> Option<String> {
    let after = switch.steps.iter().rev().take_while(|it| !matches!(it, Step::Written));
    let mut commands = after.filter_map(|it| match it {
        Step::Running { command } => Some(command.clone()),
        _ => None,
    });
    commands.next()
}

/// Returns the command with which the switch made the application read its files, if the user agrees to run this
/// command again.
fn earlier_reload(switch: &Switch, args: &SwitchArgs) -> Option<String> {
    let command = reload_of(switch)?;
    if args.yes || !is_of_application(switch) {
        return None;
    }
    terminal::agrees(&format!("Run `{command}` afterwards, as looptax did after the switch?")).then_some(command)
}

/// Writes the files that have not been written yet.
pub(super) fn finish(id: &str, args: &SwitchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let kept = kept()?;
    let switch = find(&kept, id)?;
    if switch.standing != SwitchStanding::Interrupted {
        return Err(Failure::usage(
            format!("{} was not interrupted", switch.id),
            "looptax switch --list shows the state of each switch",
        ));
    }
    if args.dry_run {
        let doing = Doing { args, terminal };
        doing.show(&report::switches(std::slice::from_ref(&switch.listed()), terminal.style()))?;
        doing.show("nothing was changed\n")?;
        return Ok(Exit::Done);
    }
    write_the_rest(&kept, &switch.id)?;
    let listed = find(&kept, &switch.id)?.listed();
    outputs::show(&listed, &args.json, || {
        report::switches(std::slice::from_ref(&listed), terminal.style())
            + &restart_first(&switch)
            + "reload the application, and check with `looptax find` which transport it uses\n"
    })?;
    Ok(Exit::Invalid)
}

/// Returns a line that says that the server has to be restarted before its application can use the socket.
fn restart_first(switch: &Switch) -> String {
    switch.server().map_or_else(String::new, |of| format!("restart {} first: {}\n", of.name, of.restart))
}

fn write_the_rest(kept: &Kept, id: &str) -> Result<(), Failure> {
    let mut work = looptax_switch::open(kept, id)?;
    work.finish()?;
    Ok(work.end(End::Unproved)?)
}

fn find(kept: &Kept, id: &str) -> Result<Switch, Failure> {
    let (all, _) = looptax_switch::list(kept)?;
    let mut all = all.into_iter();
    let found =
        if id == "last" { all.rfind(|it| it.standing != SwitchStanding::Planned) } else { all.find(|it| it.id == id) };
    found.ok_or_else(|| looptax_switch::SwitchError::Unknown { id: id.to_owned() }.into())
}

/// Lists the interrupted switches, and offers to finish or undo each of them. Without a terminal it only lists them.
pub(super) fn offer(doing: Doing<'_>) -> Result<(), Failure> {
    let kept = kept()?;
    let (all, _) = looptax_switch::list(&kept)?;
    let is_open = |it: &Switch| it.standing == SwitchStanding::Interrupted;
    for switch in all.into_iter().filter(is_open) {
        let (id, is_fix) = (switch.id.clone(), switch.fix.is_some());
        let how = if is_fix {
            format!("`looptax switch --undo {id} --admin DSN` undoes the switch")
        } else {
            format!("`looptax switch --undo {id}` puts the old files back; `--finish {id}` writes the remaining files")
        };
        let words = format!("note: {id} ({}) was interrupted: {how}\n", switch.title);
        doing.terminal.words_for(true, &words);
        // Only `--undo` reloads the two programs of a web server's switch, logs in to the server of a fix, and asks
        // before it restarts a server.
        let is_by_undo = !is_of_application(&switch) || switch.server().is_some();
        if is_by_undo || doing.args.yes || doing.args.dry_run || !terminal::can_ask() {
            continue;
        }
        if terminal::agrees(&format!("Undo {id} now?")) {
            let mut work = looptax_switch::open(&kept, &id)?;
            work.put_back("it was interrupted", End::Undone)?;
        } else if terminal::agrees(&format!("Finish {id} now?")) {
            write_the_rest(&kept, &id)?;
        }
    }
    Ok(())
}
