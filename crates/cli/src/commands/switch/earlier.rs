//! Switches of earlier: listed, undone, finished, and offered where one was interrupted.

use looptax_model::failure::Failure;
use looptax_model::record::{ListedSwitch, StepCode, SwitchStanding, SwitchStep};
use looptax_report::terminal as report;
use looptax_switch::{Kept, Step, Switch};

use super::doing::{Doing, kept};
use super::fixes;
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
    outputs::show(&listed, &args.json, || {
        report::switches(&listed, terminal.style())
    })?;
    Ok(Exit::Done)
}

/// Puts the old files back.
pub(super) fn undo(id: &str, args: &SwitchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let kept = kept()?;
    let switch = find(&kept, id)?;
    let listed = switch.listed();
    let others = others_that_stand(&kept, &switch)?;
    refuse_undone(&listed, &others)?;
    let doing = Doing { args, terminal };
    doing.show(&report::switches(
        std::slice::from_ref(&listed),
        terminal.style(),
    ))?;
    refuse_ground_of_others(&switch, &others, args)?;
    if args.dry_run {
        doing.show("nothing was changed\n")?;
        return Ok(Exit::Done);
    }
    doing.may_ask()?;
    if !args.yes && !terminal::agrees(&question(&switch)) {
        return Ok(Exit::No);
    }
    let mut work = looptax_switch::open(&kept, &switch.id)?;
    if switch.fix.is_some() {
        let admin = fixes::admin(args)?;
        let end = looptax_switch::End::Undone;
        looptax_switch::fix::undo(&mut work, admin.as_ref(), "somebody asked", end)?;
        let after = find(&kept, &switch.id)?.listed();
        return outputs::show(&after, &args.json, || "undone\n".to_owned()).map(|()| Exit::Done);
    }
    let stop = signals::stop_flag()?;
    let mut tell = |step: SwitchStep| doing.show_step(&step);
    let reload = { args.reload.clone() }.or_else(|| earlier_reload(&switch, args));
    looptax_switch::undo(work, reload.as_deref(), args.within, &stop, &mut tell)?;
    if reload.is_none() && switch.stack().is_none() {
        tell(still_over_the_socket(&switch));
    }
    for it in others.iter().filter(|it| it.fix.is_some()) {
        let (id, title) = (&it.id, &it.title);
        doing.show(&format!(
            "note: {title} stays; back with: looptax switch --undo {id}\n"
        ))?;
    }
    let after = find(&kept, &switch.id)?.listed();
    if args.json.is_printed() {
        terminal::json(&after)?;
    }
    Ok(Exit::Done)
}

fn question(switch: &Switch) -> String {
    match switch.stack() {
        _ if switch.fix.is_some() => "Take that back?".to_owned(),
        Some(stack) => format!("Put the old files back, and reload {}?", stack.titles()),
        None => "Put the old files back?".to_owned(),
    }
}

/// What the application has to be told, which goes on as it is.
fn still_over_the_socket(switch: &Switch) -> SwitchStep {
    let then = reload_of(switch).map_or_else(String::new, |it| format!("; then it was: {it}"));
    SwitchStep {
        code: StepCode::ReloadByHand,
        words: format!("reload the application, which is over the socket until then{then}"),
    }
}

/// Other switches that still stand, oldest first.
fn others_that_stand(kept: &Kept, than: &Switch) -> Result<Vec<Switch>, Failure> {
    let (all, _) = looptax_switch::list(kept)?;
    let stands = |it: &Switch| {
        matches!(
            it.standing,
            SwitchStanding::Moved | SwitchStanding::Unproved | SwitchStanding::Prepared
        )
    };
    Ok(all
        .into_iter()
        .filter(|it| it.id != than.id && stands(it))
        .collect())
}

fn refuse_undone(listed: &ListedSwitch, others: &[Switch]) -> Result<(), Failure> {
    if !matches!(
        listed.standing,
        SwitchStanding::Undone | SwitchStanding::PutBack
    ) {
        return Ok(());
    }
    let hint = match others.last() {
        Some(it) => format!(
            "the last that stands is {} ({}): looptax switch --undo {}",
            it.id, it.title, it.id
        ),
        None => "no other stands; looptax switch --list shows all".to_owned(),
    };
    Err(Failure::usage(
        format!("{} is undone already", listed.id),
        hint,
    ))
}

/// Whoever was moved after a server was prepared may stand on that.
fn refuse_ground_of_others(
    switch: &Switch,
    others: &[Switch],
    args: &SwitchArgs,
) -> Result<(), Failure> {
    let later = others
        .iter()
        .filter(|it| it.fix.is_none() && it.at >= switch.at);
    let later: Vec<&str> = later.map(|it| &*it.id).collect();
    if switch.fix.is_none() || later.is_empty() || args.force {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "{} was made before {}, whose application may need it to be let in",
            switch.id,
            later.join(", ")
        ),
        "undo those first, or take it back all the same with --force",
    ))
}

fn reload_of(switch: &Switch) -> Option<String> {
    switch.steps.iter().rev().find_map(|it| match it {
        Step::Running { command } => Some(command.clone()),
        _ => None,
    })
}

/// The command that had the application read its files then; it runs where somebody agrees to it.
fn earlier_reload(switch: &Switch, args: &SwitchArgs) -> Option<String> {
    let command = reload_of(switch)?;
    // The programs of a web server's switch have commands of their own.
    if args.yes || switch.stack().is_some() {
        return None;
    }
    terminal::agrees(&format!("Run `{command}` afterwards, as then?")).then_some(command)
}

/// Writes what is left to be written.
pub(super) fn finish(id: &str, args: &SwitchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let kept = kept()?;
    let switch = find(&kept, id)?;
    if switch.standing != SwitchStanding::Interrupted {
        return Err(Failure::usage(
            format!("{} was not interrupted", switch.id),
            "looptax switch --list shows how each stands",
        ));
    }
    let mut work = looptax_switch::open(&kept, &switch.id)?;
    work.finish()?;
    work.end(looptax_switch::End::Unproved)?;
    let listed = find(&kept, &switch.id)?.listed();
    outputs::show(&listed, &args.json, || {
        report::switches(std::slice::from_ref(&listed), terminal.style())
            + "reload the application, and look with `looptax find` whether it has moved\n"
    })?;
    Ok(Exit::Invalid)
}

fn find(kept: &Kept, id: &str) -> Result<Switch, Failure> {
    let (all, _) = looptax_switch::list(kept)?;
    let mut all = all.into_iter();
    let found = if id == "last" {
        all.rfind(|it| it.standing != SwitchStanding::Planned)
    } else {
        all.find(|it| it.id == id)
    };
    found.ok_or_else(|| looptax_switch::SwitchError::Unknown { id: id.to_owned() }.into())
}

/// Says which switches were interrupted, and offers to finish or undo each; without a terminal it only says so.
pub(super) fn offer(doing: Doing<'_>) -> Result<(), Failure> {
    let kept = kept()?;
    let (all, _) = looptax_switch::list(&kept)?;
    let open = all
        .into_iter()
        .filter(|it| it.standing == SwitchStanding::Interrupted);
    for switch in open {
        let id = switch.id.clone();
        if switch.fix.is_some() {
            let words = format!(
                "note: {id} ({}) was interrupted: `looptax switch --undo {id} --admin DSN` takes it back\n",
                switch.title
            );
            doing.terminal.words_for(true, &words);
            continue;
        }
        let words = format!(
            "note: {id} ({}) was interrupted: `looptax switch --undo {id}` puts the old files back, `--finish {id}` writes what is left\n",
            switch.title
        );
        doing.terminal.words_for(true, &words);
        // Two programs are reloaded with a web server's files: that is for --undo.
        let is_stack = switch.stack().is_some();
        if is_stack || doing.args.yes || doing.args.dry_run || !terminal::can_ask() {
            continue;
        }
        if terminal::agrees(&format!("Undo {id} now?")) {
            let mut work = looptax_switch::open(&kept, &id)?;
            work.put_back("it was interrupted", looptax_switch::End::Undone)?;
        } else if terminal::agrees(&format!("Finish {id} now?")) {
            let mut work = looptax_switch::open(&kept, &id)?;
            work.finish()?;
            work.end(looptax_switch::End::Unproved)?;
        }
    }
    Ok(())
}
