//! Fixes: changes on the server that let an account use the socket. looptax makes them only if the command line asks
//! for them.

use looptax_host::discover::Survey;
use looptax_model::dsn::{Address, Protocol, Secret};
use looptax_model::failure::Failure;
use looptax_model::record::{Point, StepPlace, SwitchFate};
use looptax_report::terminal::cleaned;
use looptax_switch::fix::{AccountFix, FixError, HbaFix, HbaWish};
use looptax_switch::{Kept, Named, Plan, Planned, Work};

use super::doing::{Doing, kept, named};
use crate::args::SwitchArgs;
use crate::terminal;

/// Returns the administrator's address that the user passed.
///
/// # Errors
/// If the text is not an address.
pub(super) fn admin(args: &SwitchArgs) -> Result<Option<Address>, Failure> {
    let Some(url) = &args.admin else {
        return Ok(None);
    };
    let mut address = Address::parse_login(url).map_err(|error| {
        let hint = "for example --admin mysql://root@localhost/?socket=/run/mysqld/mysqld.sock";
        Failure::usage(error, hint)
    })?;
    if address.password.is_none() {
        let given = std::env::var("LOOPTAX_ADMIN_PASSWORD").ok();
        address.password = given.map(Secret::new);
    }
    Ok(Some(address))
}

/// Makes the fixes that are possible, and returns the ids of their switches. With `--dry-run` it only prints the fixes.
///
/// # Errors
/// If a fix fails. In this case the part of the fix that was already done is undone.
pub(super) fn mend(doing: Doing<'_>, plan: &Plan, survey: &Survey) -> Result<Vec<String>, Failure> {
    let args = doing.args;
    let mut prepared = Vec::new();
    if !args.fix_account && !args.fix_hba {
        return Ok(prepared);
    }
    if !args.dry_run {
        doing.may_ask()?;
    }
    let admin = admin(args)?;
    let blocked = { plan.connections.iter() }.filter(|it| it.fate == SwitchFate::Blocked);
    for (planned, client) in blocked.filter_map(|it| Some((it, it.found.address.as_ref()?))) {
        refuse_unnamed(planned, args)?;
        let points = &planned.found.checked.points;
        if let (true, Some(admin)) = (args.fix_account, &admin) {
            prepared.extend(mend_account(doing, points, client, admin)?);
        }
        if args.fix_hba {
            let server = planned.found.tcp.and_then(|tcp| {
                let listens = |it: &&looptax_host::discover::Server| {
                    it.endpoints.iter().any(|endpoint| endpoint.place.takes(tcp))
                };
                survey.servers.iter().find(listens)
            });
            let wish = HbaWish { points, client, server, admin: admin.as_ref() };
            prepared.extend(mend_rules(doing, wish)?);
        }
    }
    Ok(prepared)
}

/// Fails if the application is not known: looptax would not write the application's file, so the fix would be useless.
fn refuse_unnamed(planned: &Planned, args: &SwitchArgs) -> Result<(), Failure> {
    let Some(titles) = planned.found.may_be(args.application.as_deref()) else {
        return Ok(());
    };
    let names: Vec<String> = titles.iter().map(|it| format!("--as '{it}'")).collect();
    let hint = if names.is_empty() {
        "pass the application with --as NAME; nothing was changed".to_owned()
    } else {
        format!("pass {}; nothing was changed", names.join(" or "))
    };
    Err(Failure::usage("looptax has to know the application before it fixes anything", hint))
}

fn mend_account(
    doing: Doing<'_>,
    points: &[Point],
    client: &Address,
    admin: &Address,
) -> Result<Option<String>, Failure> {
    let fix = match AccountFix::prepare(points, client, admin) {
        Err(FixError::Nothing) => return Ok(None),
        prepared => prepared?,
    };
    let mut text = "on the server, as the administrator (… is the client's password):\n".to_owned();
    text += &lines("run ", &fix.statements());
    text += &lines("undo", &fix.undo());
    text += &lines("by hand", fix.by_hand());
    doing.show(&cleaned(&text, doing.terminal.style()))?;
    if fix.statements().is_empty() || !agrees(doing, "Run these statements?") {
        return Ok(None);
    }
    let user = client.user.as_deref().unwrap_or_default();
    let title = format!("the account {user} on the server's socket");
    done(doing, &title, |kept, named| fix.run(kept, named))
}

fn mend_rules(doing: Doing<'_>, wish: HbaWish<'_>) -> Result<Option<String>, Failure> {
    let fix = match HbaFix::prepare(wish) {
        Err(FixError::Nothing) => return Ok(None),
        prepared => prepared?,
    };
    let path = fix.edited.original.path().display().to_string();
    let place = { fix.above }.map_or_else(|| "at the end".to_owned(), |it| format!("above line {it}"));
    let text =
        format!("{path}, {place}:\n  + {}\n  then     the server reloads the file, without a restart\n", fix.line);
    doing.show(&cleaned(&text, doing.terminal.style()))?;
    if !agrees(doing, "Write this line?") {
        return Ok(None);
    }
    let title = format!("{path}: {}", fix.line);
    done(doing, &title, |kept, named| fix.run(kept, named))
}

fn done(
    doing: Doing<'_>,
    title: &str,
    run: impl FnOnce(&Kept, Named<'_>) -> Result<Work, FixError>,
) -> Result<Option<String>, Failure> {
    let kept = kept()?;
    let work = named(title, |named| run(&kept, named))?;
    let id = work.id().to_owned();
    doing.show(&format!("  done     prepared; to undo it: looptax switch --undo {id}\n\n"))?;
    Ok(Some(id))
}

fn agrees(doing: Doing<'_>, question: &str) -> bool {
    if doing.args.dry_run {
        return false;
    }
    doing.args.yes || terminal::agrees(question)
}

fn lines(label: &str, texts: &[String]) -> String {
    let lines = texts.iter().map(|it| format!("  {label:<7}  {it}"));
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// Returns a line for each fix that is possible, if the user did not ask for the fix.
pub(super) fn offered(doing: Doing<'_>, plan: &Plan) -> String {
    let blocked = { plan.connections.iter() }.filter(|it| it.fate == SwitchFate::Blocked);
    let mut text = String::new();
    for planned in blocked {
        let is_for = |protocol| { planned.found.address.as_ref() }.is_some_and(|it| it.protocol == protocol);
        let has = |place| has_step(planned, place);
        if is_for(Protocol::Mysql) && has(StepPlace::Sql) && !doing.args.fix_account {
            text += "  or       --fix-account --admin DSN runs the statements; --undo reverts their changes\n";
        }
        if is_for(Protocol::Postgres) && has(StepPlace::HbaLine) && !doing.args.fix_hba {
            text += "  or       --fix-hba writes the line and reloads the server; --undo removes the line\n";
        }
    }
    text
}

fn has_step(planned: &Planned, place: StepPlace) -> bool {
    let steps = planned.found.checked.points.iter().flat_map(|it| &it.steps);
    { steps }.any(|it| it.place == place)
}
