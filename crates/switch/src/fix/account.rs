//! Fixes an account of MySQL or MariaDB for clients on the socket: creates the account, changes it or gives it rights,
//! and can undo the change.
//!
//! The statements are those that a check prints. Before looptax runs a statement, it reads the state of the account and
//! determines how to undo the statement. A statement that cannot be undone is left to a person.

use std::thread;
use std::time::Duration;

use looptax_advise::check::{AccountState, AccountStatement, Undo, with_password};
use looptax_bench::path::Conversation;
use looptax_model::dsn::{Address, Protocol, Secret};
use looptax_model::failure::with_causes;
use looptax_model::record::{Outcome, Point, PointCode, StepPlace};
use serde::{Deserialize, Serialize};

use super::FixError;
use super::admin::{identity, log_in, refuse_another, shown};
use crate::diagnose::check::password_of;
use crate::digest::Digest;
use crate::journal::{Fix, Step};
use crate::work::{FixPlan, Named};
use crate::{End, Kept, Work};

/// How often looptax checks whether a connection has ended, before it gives up. The limit is needed because after a
/// restart another client's connection may have the same number.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Stands for an account's earlier state in texts that people see, because the real state contains a password hash.
const AS_IT_WAS: &str = "as it was";

/// Statements that give the client access over the socket, and the administrator's login that runs them.
pub struct AccountFix {
    admin: Conversation,
    server: String,
    identity: String,
    password: Secret,
    statements: Vec<Prepared>,
    by_hand: Vec<String>,
}

/// A statement, and the statements that undo it.
struct Prepared {
    statement: AccountStatement,
    /// Not masked: these statements may contain a password hash.
    undo: Vec<String>,
    before: Digest,
}

/// A fix's data, kept next to its journal and readable only for the user.
#[derive(Debug, Serialize, Deserialize)]
struct KeptFix {
    identity: String,
    /// The server's number of the connection that runs the statements.
    connection: u64,
    statements: Vec<KeptStatement>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptStatement {
    /// The statement; `…` stands for the password.
    text: String,
    undo: Vec<String>,
    /// The account's state before the first of the statements.
    before: Digest,
}

impl AccountFix {
    /// Logs in as the administrator, and reads the state of each account that the points' statements change. Changes
    /// nothing.
    ///
    /// `client` is the application's own address, with its password.
    ///
    /// # Errors
    /// [`FixError::Nothing`] if no point has such a statement; [`FixError::LogIn`], [`FixError::OtherServer`],
    /// [`FixError::Untold`] and [`FixError::Password`].
    pub fn prepare(points: &[Point], client: &Address, admin: &Address) -> Result<Self, FixError> {
        let steps = statements(points);
        if steps.is_empty() || client.protocol != Protocol::Mysql {
            return Err(FixError::Nothing);
        }
        let password = password_of(client);
        if let Some(why) = unsayable(password.reveal()) {
            return Err(FixError::Password { why });
        }
        let mut talk = log_in(admin)?;
        refuse_another(&mut talk, admin, client)?;
        read_statements_plainly(&mut talk)?;
        let mut fix = Self {
            identity: identity(&mut talk)?,
            admin: talk,
            server: shown(admin),
            password,
            statements: Vec::new(),
            by_hand: Vec::new(),
        };
        for (step, is_of_socket) in steps {
            if is_of_socket {
                fix.take(step)?;
            } else {
                fix.by_hand.push(step.to_owned());
            }
        }
        Ok(fix)
    }

    fn take(&mut self, step: &str) -> Result<(), FixError> {
        let Some(statement) = AccountStatement::parse(step) else {
            self.by_hand.push(step.to_owned());
            return Ok(());
        };
        let before = state(&mut self.admin, &statement)?;
        match statement.undo(&before) {
            Undo::Needless => {}
            Undo::Unknown => self.by_hand.push(step.to_owned()),
            Undo::Statements(undo) => self.statements.push(Prepared { statement, undo, before: digest(&before) }),
        }
        Ok(())
    }

    /// Returns the statements in their order; `…` stands for the client's password.
    pub fn statements(&self) -> Vec<String> {
        let text = |it: &Prepared| it.statement.text().to_owned();
        self.statements.iter().map(text).collect()
    }

    /// Returns the statements that undo the fix, without hashes, in the order in which looptax would run them.
    pub fn undo(&self) -> Vec<String> {
        let backwards = self.statements.iter().rev();
        backwards.flat_map(Prepared::shown_undo).collect()
    }

    /// Returns the statements that are left to a person: looptax could not undo them exactly, or they would let other
    /// clients omit TLS.
    pub fn by_hand(&self) -> &[String] {
        &self.by_hand
    }

    /// Records each statement in the journal, and then runs it. If the server refuses a statement, undoes the
    /// statements before it.
    ///
    /// # Errors
    /// [`FixError::Refused`]; [`FixError::NotAsBefore`] if a statement could not be undone; [`FixError::Switch`] for
    /// the journal.
    pub fn run(mut self, kept: &Kept, named: Named<'_>) -> Result<Work, FixError> {
        if self.statements.is_empty() {
            return Err(FixError::Nothing);
        }
        let plan = KeptFix {
            identity: self.identity.clone(),
            connection: self.admin.connection_id(),
            statements: self.statements.iter().map(Prepared::kept).collect(),
        };
        let plan_text = plan.text();
        let fix = FixPlan { fix: Fix::Account { server: self.server.clone() }, kept: &plan_text };
        let mut work = Work::plan_fix(kept, named, &[], Some(fix))?;
        for idx in 0..self.statements.len() {
            if let Err(error) = self.run_one(&mut work, idx) {
                take_back(&mut work, &mut self.admin, &plan, &error.to_string(), End::PutBack)?;
                return Err(error);
            }
        }
        work.end(End::Prepared)?;
        Ok(work)
    }

    fn run_one(&mut self, work: &mut Work, idx: usize) -> Result<(), FixError> {
        let Prepared { statement, .. } = &self.statements[idx];
        work.note(Step::Fixing {
            idx,
            statement: statement.text().to_owned(),
            undo: self.statements[idx].shown_undo(),
        })?;
        let clear = with_password(statement.text(), self.password.reveal());
        self.admin.execute(&clear).map_err(|error| FixError::Refused {
            statement: statement.text().to_owned(),
            why: masked(&with_causes(&error), &clear, statement.text(), &self.password),
        })?;
        let state = digest(&state(&mut self.admin, statement)?);
        Ok(work.note(Step::Fixed { idx, state })?)
    }
}

impl KeptFix {
    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it is plain data")
    }
}

impl Prepared {
    fn shown_undo(&self) -> Vec<String> {
        let shown = |text: &String| {
            if text.starts_with("ALTER USER ") {
                format!("ALTER USER {} {AS_IT_WAS}", self.statement.account())
            } else {
                text.clone()
            }
        };
        self.undo.iter().map(shown).collect()
    }

    fn kept(&self) -> KeptStatement {
        KeptStatement { text: self.statement.text().to_owned(), undo: self.undo.clone(), before: self.before.clone() }
    }
}

/// Returns statements about an account, its rights and its TLS, from the points that show that a login would fail. Each
/// statement comes with a flag: whether it affects only the socket.
fn statements(points: &[Point]) -> Vec<(&str, bool)> {
    let codes = [PointCode::AccountMissing, PointCode::RightsMissing, PointCode::AccountDemandsTls];
    let is_meant = |point: &&Point| point.outcome == Outcome::Fail && codes.contains(&point.code);
    let mut found = Vec::new();
    for point in points.iter().filter(is_meant) {
        for step in point.steps.iter().filter(|it| it.place == StepPlace::Sql) {
            // A demand for TLS that also applies to TCP or to other machines is deliberate, so a person has to remove
            // it.
            let is_of_socket = point.code != PointCode::AccountDemandsTls || step.text.contains("@'localhost' ");
            found.push((&*step.text, is_of_socket));
        }
    }
    found
}

/// Returns the reason why a statement cannot contain the password; `None` if it can.
fn unsayable(password: &str) -> Option<&'static str> {
    if password.contains('\0') {
        return Some("the password contains a zero byte");
    }
    password.contains('\u{fffd}').then_some("a part of the password is not UTF-8, and looptax did not read that part")
}

/// Sets the session's SQL mode to a known state: backslashes escape, and GRANT does not create an account.
fn read_statements_plainly(talk: &mut Conversation) -> Result<(), FixError> {
    // MySQL 8 always behaves this way, and does not know the mode `NO_AUTO_CREATE_USER`.
    let said = talk
        .execute("SET SESSION sql_mode = 'NO_AUTO_CREATE_USER'")
        .or_else(|_| talk.execute("SET SESSION sql_mode = ''"));
    said.map_err(|error| FixError::Untold { what: "how it reads statements", why: with_causes(&error) })?;
    // MySQL 8 has hashes that are not text; on other servers all hashes are text, and this statement may fail.
    let _others = talk.execute("SET SESSION print_identified_with_as_hex = ON");
    Ok(())
}

/// Returns the state of the account that a statement is about.
fn state(talk: &mut Conversation, statement: &AccountStatement) -> Result<AccountState, FixError> {
    let untold = |error| FixError::Untold { what: "the state of the account", why: with_causes(&error) };
    let is_there: u64 = talk.number(&statement.is_there()).map_err(untold)?;
    if is_there == 0 {
        return Ok(AccountState::default());
    }
    let account = statement.account();
    let made = talk.cell(&format!("SHOW CREATE USER {account}"));
    let made = made.and_then(|it| {
        let is_made = it.starts_with("CREATE USER ");
        is_made.then_some(it).ok_or_else(|| talk.unfit("CREATE USER", "something else"))
    });
    let made = made.map_err(untold)?;
    let grants = talk.column(&format!("SHOW GRANTS FOR {account}"));
    let grants = grants.and_then(|it| {
        let is_told = !it.is_empty();
        is_told.then_some(it).ok_or_else(|| talk.unfit("grants", "none"))
    });
    let grants = grants.map_err(untold)?;
    Ok(AccountState { made: Some(made), grants })
}

fn digest(state: &AccountState) -> Digest {
    let mut lines = state.grants.clone();
    lines.sort();
    let made = state.made.as_deref().unwrap_or("none");
    Digest::of_bytes(format!("{made}\n{}", lines.join("\n")).as_bytes())
}

/// Masks the password in a server's message, because servers quote the text near a mistake.
fn masked(text: &str, clear: &str, shown: &str, password: &Secret) -> String {
    if password.is_empty() || clear == shown {
        return text.to_owned();
    }
    let escaped = password.reveal().replace('\\', "\\\\").replace('\'', "''");
    text.replace(clear, shown).replace(&escaped, "…").replace(password.reveal(), "…")
}

/// Undoes a fix from an earlier run.
pub(super) fn undo(work: &mut Work, admin: &Address, why: &str, how: End) -> Result<(), FixError> {
    let plan: KeptFix = work.kept_of_fix()?;
    let mut talk = log_in(admin)?;
    if identity(&mut talk)? != plan.identity {
        return Err(FixError::OtherServer {
            server: shown(admin),
            why: "the accounts were changed on another server".to_owned(),
        });
    }
    read_statements_plainly(&mut talk)?;
    wait_for_the_end(&mut talk, plan.connection);
    take_back(work, &mut talk, &plan, why, how)
}

/// Waits until the connection of a killed looptax has ended: the server first finishes the statement that it is
/// running.
fn wait_for_the_end(talk: &mut Conversation, connection: u64) {
    let asked = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {connection}");
    for _ in 0..LOOKS {
        if talk.number(&asked).is_ok_and(|n: u64| n == 0) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Undoes the statements that were started, the last one first. Does nothing if an account is neither in its earlier
/// state nor in the state that the statements left.
fn take_back(work: &mut Work, talk: &mut Conversation, plan: &KeptFix, why: &str, how: End) -> Result<(), FixError> {
    let begun = begun(work, plan);
    let is_half_way = matches!(work.steps().last(), Some(Step::Unfixing { .. }));
    let mut is_done = true;
    for (statement, idx) in last_of_accounts(&begun) {
        let now = digest(&state(talk, &statement)?);
        if now == plan.statements[idx].before {
            continue;
        }
        // If a statement was running when looptax ended, it is not known in which state the statement left the account.
        if !is_half_way && fixed(work, idx).is_some_and(|left| *left != now) {
            return Err(FixError::AccountChanged { account: statement.account() });
        }
        is_done = false;
    }
    work.note(Step::Unfixing { why: why.to_owned() })?;
    let mut refusal = None;
    if !is_done {
        for (_, idx) in begun.iter().rev() {
            for text in &plan.statements[*idx].undo {
                // The server refuses an undo statement whose object no longer exists. Only the account's final state
                // counts.
                if let Err(error) = talk.execute(text) {
                    refusal.get_or_insert_with(|| with_causes(&error));
                }
            }
        }
    }
    for (statement, idx) in last_of_accounts(&begun) {
        if digest(&state(talk, &statement)?) != plan.statements[idx].before {
            return Err(FixError::NotAsBefore {
                account: statement.account(),
                why: refusal.unwrap_or_else(|| "the account has other rights or another password".to_owned()),
            });
        }
    }
    work.note(Step::Unfixed)?;
    Ok(work.end(how)?)
}

/// Returns the statements that may have run, each with its index.
fn begun(work: &Work, plan: &KeptFix) -> Vec<(AccountStatement, usize)> {
    let begun = work.steps().iter().filter_map(|step| match step {
        Step::Fixing { idx, .. } => Some(*idx),
        _ => None,
    });
    begun
        .filter_map(|idx| {
            let kept = plan.statements.get(idx)?;
            Some((AccountStatement::parse(&kept.text)?, idx))
        })
        .collect()
}

/// Returns the last statement for each account.
fn last_of_accounts(begun: &[(AccountStatement, usize)]) -> Vec<(AccountStatement, usize)> {
    let is_last = |it: &&(AccountStatement, usize)| {
        let later = begun.iter().filter(|other| other.1 > it.1);
        later.clone().all(|other| other.0.account() != it.0.account())
    };
    begun.iter().filter(is_last).cloned().collect()
}

/// Returns the account's state after a statement; `None` if it was not recorded.
fn fixed(work: &Work, of: usize) -> Option<&Digest> {
    work.steps().iter().find_map(|step| match step {
        Step::Fixed { idx, state } if *idx == of => Some(state),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use looptax_model::record::Topic;

    use super::*;

    #[test]
    fn tls_is_given_up_for_the_socket_alone() {
        let point = |code, outcome, step: &str| {
            Point::new(Topic::Account, code, outcome, "x", "y").with_steps(StepPlace::Sql, [step])
        };
        let demands = PointCode::AccountDemandsTls;
        let local = "ALTER USER 'a'@'localhost' REQUIRE NONE;";
        let any = "ALTER USER 'a'@'%' REQUIRE NONE;";
        let points = [
            point(demands, Outcome::Fail, local),
            point(demands, Outcome::Fail, any),
            point(demands, Outcome::Unknown, local),
            point(PointCode::HbaRejects, Outcome::Fail, "SELECT 1"),
        ];
        assert_eq!(statements(&points), [(local, true), (any, false)]);
    }

    #[test]
    fn a_servers_words_are_told_without_the_password() {
        let password = Secret::new("p'w");
        let clear = "CREATE USER x IDENTIFIED BY 'p''w'";
        let shown = "CREATE USER x IDENTIFIED BY '…'";
        for (text, expected) in [("near 'p''w''", "near '…''"), ("p'w is too short", "… is too short"), (clear, shown)]
        {
            assert_eq!(masked(text, clear, shown, &password), expected);
        }
    }
}
