//! Plans the switch of a file: which connections move, which bytes change, and which objections exist. Writes nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::diagnose::check::{Around, FileText, Sources, Switchable, sources};
use looptax_advise::app::{Beside, Rewrite, SET_ELSEWHERE, Section, Unit, Variable, Whole, rewritten};
use looptax_bench::path::first_question;
use looptax_model::dsn::Address;
use looptax_model::failure::Failure;
use looptax_model::record::{Edit, SwitchConnection, SwitchFate, SwitchFile, SwitchVerdict};

use crate::burst::Burst;
use crate::file::Original;
use crate::follow::{self, Followed, Reader};
use crate::line::Commands;
use crate::proof::Proof;
use crate::remark::remarks;
use crate::text::Text;
use crate::work::Edited;

#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The file's path, as the person passed it.
    pub path: &'a Path,
    /// The path of the second file, if a web server and its upstream are switched together; the order does not matter.
    pub other: Option<&'a Path>,
    pub pid: Option<u32>,
    /// The numbers of the connections to move, starting at one; empty means all connections that can move.
    pub only: &'a [usize],
    /// The application's name, if the file may belong to several applications.
    pub application: Option<&'a str>,
    /// Whether the file describes containers that should share the socket's folder.
    pub containers: bool,
    /// The user as which the application runs.
    pub user: Option<&'a str>,
    pub socket: Option<&'a Path>,
    /// How many connections to open at the same time, if the person passed that number.
    pub n_connections: Option<u32>,
    /// The command that reloads both programs, if their own signals or services are not to be used.
    pub reload: Option<&'a str>,
    pub restart: Restart<'a>,
}

/// Whether looptax may restart a server, and the command for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Restart<'a> {
    /// The person has not agreed to a restart.
    #[default]
    NotAgreed,
    ByItsService,
    By(&'a str),
}

impl<'a> Wish<'a> {
    /// Returns the options for moving all connections of a file.
    pub fn of(path: &'a Path) -> Self {
        Self {
            path,
            other: None,
            pid: None,
            only: &[],
            application: None,
            containers: false,
            user: None,
            socket: None,
            n_connections: Some(1),
            reload: None,
            restart: Restart::NotAgreed,
        }
    }
}

/// The work of a switch: the files, the commands that test and reload them, and the proof.
pub struct Subject {
    /// The application's file, or the first of the two files of a web server's switch.
    pub file: PathBuf,
    pub plan: Plan,
    /// The commands that test the files, and the commands that reload them. The list of reloads is empty if the caller
    /// has to pass the command.
    pub commands: Commands,
    pub proof: Box<dyn Proof>,
}

#[derive(Debug, Default)]
pub struct Plan {
    pub connections: Vec<Planned>,
    /// The parts of the file that looptax did not understand.
    pub unread: Vec<String>,
    /// The files with their new text: the file that was passed, or the files that set the variables in it. Empty if
    /// nothing is written.
    pub edited: Vec<Edited>,
    /// The same files as a person sees them: the lines that change, without passwords, and remarks on each file.
    pub files: Vec<SwitchFile>,
    /// The command that reloads files of this kind, if a restart of the application is not enough.
    pub reload: Option<String>,
    /// Whether looptax can follow the applications into the containers that a reload creates.
    pub can_follow: bool,
}

#[derive(Debug)]
pub struct Planned {
    pub found: Switchable,
    pub fate: SwitchFate,
    /// The index of the change that moves the connection.
    pub change_idx: Option<usize>,
    /// The applications to choose from, if the person has to pass one: those that fit, or all that looptax knows.
    pub may_be: Vec<String>,
}

impl Planned {
    fn saved(&self, number: usize) -> SwitchConnection {
        SwitchConnection {
            number,
            user: { self.found.address.as_ref() }.and_then(|it| it.user.clone()).filter(|_| !self.found.has_secrets),
            socket: self.found.socket.clone(),
            fate: self.fate,
            may_be: self.may_be.clone(),
            change_idx: self.change_idx,
            check: self.found.checked.clone(),
        }
    }

    /// Returns a burst over the socket with `n` connections, or else with as many connections as the application opens
    /// at once; `None` if that number is not known.
    fn burst(&self, n: Option<u32>) -> Option<Burst> {
        let (socket, address) = (self.found.socket.as_ref()?, self.found.address.as_ref()?);
        let n_connections = n.or(self.found.at_once.as_ref().map(|it| it.n))?;
        Some(Burst { socket: PathBuf::from(socket), protocol: address.protocol, n_connections })
    }

    pub(crate) fn new(found: Switchable, fate: SwitchFate) -> Self {
        Self { found, fate, change_idx: (fate == SwitchFate::Moves).then_some(0), may_be: Vec::new() }
    }

    pub(crate) fn moves(&self) -> bool {
        self.fate == SwitchFate::Moves
    }

    fn leave_to_people(&mut self) {
        (self.fate, self.change_idx) = (SwitchFate::ByHand, None);
    }
}

/// A file that looptax has read and holds open, and the values that other files set for its variables.
pub struct FileToSwitch<'a> {
    wish: Wish<'a>,
    text: Text,
    /// The unit of the server's container: the unit's name and text.
    server_unit: Option<(String, Text)>,
    followed: Followed,
}

impl<'a> FileToSwitch<'a> {
    /// Reads the file, and the values that other files set for its variables.
    ///
    /// # Errors
    /// If the file, or the environment of its process, cannot be read.
    pub fn read(wish: Wish<'a>) -> Result<Self, Failure> {
        let mut read = Self::read_only(wish)?;
        read.followed = followed(&read.text())?;
        Ok(read)
    }

    /// Reads the file together with the unit of its server's container.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_with(wish: Wish<'a>, server: &Path) -> Result<Self, Failure> {
        let unit = (sources::unit_name(server), Text::read(server)?);
        Ok(Self { server_unit: Some(unit), ..Self::read(wish)? })
    }

    /// Reads the file, but not the values that other files set for its variables.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn read_only(wish: Wish<'a>) -> Result<Self, Failure> {
        Ok(Self { wish, text: Text::read(wish.path)?, server_unit: None, followed: Followed::default() })
    }

    pub(crate) fn content(&self) -> &Text {
        &self.text
    }

    fn text(&self) -> FileText<'_> {
        FileText {
            path: self.wish.path,
            text: &self.text.content,
            pid: self.wish.pid,
            application: self.wish.application,
            environment: &self.followed.values,
            by_container: self.wish.containers,
            server_unit: self.server_unit.as_ref().map(|(name, text)| Unit { name, text: &text.content }),
        }
    }

    /// Returns the TCP destinations of the connections that may be moved: see [`Sources::targets`].
    pub(crate) fn targets(&self, around: Around<'_>) -> Result<Vec<(Address, SocketAddr)>, Failure> {
        let all = Sources::targets(&self.text(), around)?.into_iter();
        let wanted = all.filter(|(idx, ..)| self.is_wanted(*idx));
        Ok(wanted.map(|(_, address, tcp)| (address, tcp)).collect())
    }

    /// Returns the user of the PHP-FPM pool whose section contains the connection. The pool's own processes are
    /// connected only for an instant, so they do not show the user.
    pub(crate) fn user_of_pool(&self, label: &str) -> Option<String> {
        let pool = Section::find(&self.text.content, label)?;
        pool.value("pm").and(pool.value("user"))
    }

    /// Returns the owner of the file that was read.
    pub(crate) fn owner(&self) -> Option<u32> {
        self.text.original.stat().ok().flatten().map(|it| it.st_uid)
    }

    fn is_wanted(&self, idx: usize) -> bool {
        self.wish.only.is_empty() || self.wish.only.contains(&(idx + 1))
    }

    /// Plans the switch of the file.
    ///
    /// # Errors
    /// If the file contains no connection, or none of the wanted connections.
    pub fn plan(self, around: Around<'_>) -> Result<Plan, Failure> {
        self.plan_with(around, |_, found| found)
    }

    /// Returns the file's connections, each with its index, as they would be with a socket that does not exist yet: see
    /// [`Sources::for_socket`].
    pub(crate) fn for_socket(&self, socket: &Path) -> Result<Vec<(usize, Switchable)>, Failure> {
        let all = Sources::for_socket(&self.text(), socket)?.into_iter().enumerate();
        Ok(all.filter(|(idx, _)| self.is_wanted(*idx)).collect())
    }

    /// Plans the switch of the file; `answer` may replace the facts that looptax found about a connection.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub(crate) fn plan_with(
        self,
        around: Around<'_>,
        mut answer: impl FnMut(usize, Switchable) -> Switchable,
    ) -> Result<Plan, Failure> {
        let wish = self.wish;
        let (found, sources) = Sources::switchable(&self.text(), around)?;
        if sources.is_empty() {
            return Err(sources.nothing(Some(wish.path), around.near.servers.len()));
        }
        if let Some(number) = wish.only.iter().find(|it| !(1..=found.len()).contains(*it)) {
            return Err(Failure::usage(
                format!("there is no connection {number}: the file has {}", found.len()),
                "pass numbers of connections in the plan with --only; --dry-run prints the plan",
            ));
        }
        self.plan_of(found, &sources, |idx, found| planned(answer(idx, found), wish.application))
    }

    /// Plans the switch from the file's text only, and assumes that each server has the given socket, or else the usual
    /// socket. Reads nothing of this machine except files in the same folder.
    ///
    /// # Errors
    /// If no application has the given name.
    pub(crate) fn plan_by_text(self) -> Result<Plan, Failure> {
        let application = self.wish.application;
        let (found, sources) = Sources::by_text(&self.text(), self.wish.socket)?;
        self.plan_of(found, &sources, |_, found| match found.socket {
            Some(_) => moved(found, application),
            None => planned(found, application),
        })
    }

    fn plan_of(
        self,
        found: Vec<Switchable>,
        sources: &Sources,
        mut answer: impl FnMut(usize, Switchable) -> Planned,
    ) -> Result<Plan, Failure> {
        let alone = Whole::new(&self.text.content, &[]);
        let whole = sources.whole().unwrap_or(&alone);
        let mut edits = Edits::default();
        let mut connections = Vec::new();
        for (idx, found) in found.into_iter().enumerate() {
            let mut planned =
                if self.is_wanted(idx) { answer(idx, found) } else { Planned::new(found, SwitchFate::Unwanted) };
            edits.take(&mut planned, whole.text(), &self.followed);
            connections.push(planned);
        }
        let mut plan = Plan { unread: sources.unread(), connections, ..Plan::default() };
        edits.write(self, whole, &mut plan)?;
        plan.connections.iter_mut().for_each(|it| sources.locate(&mut it.found.checked));
        Ok(plan)
    }
}

/// Finds the files that set the variables on which the file's connections depend.
fn followed(file: &FileText<'_>) -> Result<Followed, Failure> {
    let names = sources::variables(file)?;
    if names.is_empty() {
        return Ok(Followed::default());
    }
    let process = file.pid.and_then(looptax_host::discover::process);
    let environment = file.pid.map(sources::environment).transpose()?;
    let reader = Reader { path: file.path, process: process.as_ref().zip(environment.as_ref()), root: Path::new("/") };
    Ok(follow::find(reader, &names))
}

fn planned(found: Switchable, application: Option<&str>) -> Planned {
    let fate = match found.checked.verdict {
        SwitchVerdict::AlreadyThere => SwitchFate::IsThere,
        SwitchVerdict::WouldNotWork | SwitchVerdict::NobodyThere => SwitchFate::Blocked,
        SwitchVerdict::Open => SwitchFate::Open,
        SwitchVerdict::WouldWork => return moved(found, application),
    };
    Planned::new(found, fate)
}

/// Plans the switch of a connection whose server has a usable socket.
fn moved(found: Switchable, application: Option<&str>) -> Planned {
    let mut planned = Planned::new(found, SwitchFate::WhichApplication);
    let found = &planned.found;
    let Some(idx) = which(found, application) else {
        planned.may_be = found.may_be(application).unwrap_or_default();
        return planned;
    };
    if let Some(Some(_)) = found.moves.get(idx) {
        (planned.fate, planned.change_idx) = (SwitchFate::Moves, Some(idx));
    } else {
        planned.fate = SwitchFate::ByHand;
    }
    planned
}

/// Returns the index of the change for the named application, or of the first change if all changes write the same
/// bytes.
fn which(found: &Switchable, application: Option<&str>) -> Option<usize> {
    let mut titles = found.checked.changes.iter().map(|it| &it.title);
    let named = application.and_then(|name| titles.position(|it| it.eq_ignore_ascii_case(name)));
    // If the connection is a call in a program's text, its application is not known, but its driver is.
    let is_known = !found.is_known_by_names && found.moves.windows(2).all(|pair| pair[0] == pair[1]);
    named.or_else(|| is_known.then_some(0))
}

/// The edits for all connections together.
#[derive(Default)]
pub(crate) struct Edits {
    pub(crate) here: Vec<Rewrite>,
    variables: Vec<Variable>,
    near: Vec<String>,
    /// The edit of the unit file of the server's container.
    beside: Option<Beside>,
}

impl Edits {
    /// Adds the edits that move a connection. If two connections need different edits of the same bytes or variable, a
    /// person has to decide.
    pub(crate) fn take(&mut self, planned: &mut Planned, text: &str, followed: &Followed) {
        let Some(idx) = planned.change_idx else {
            return;
        };
        let own = planned.found.moves[idx].clone().unwrap_or_default();
        let own_lines = own.own;
        // If several connections share a part of a file, that part is written once.
        let added = own.here.into_iter().filter(|it| !self.here.contains(it));
        let here: Vec<Rewrite> = self.here.iter().cloned().chain(added).collect();
        let added = { own.variables.into_iter() }.filter(|it| !self.variables.contains(it));
        let variables: Vec<Variable> = self.variables.iter().cloned().chain(added).collect();
        let own = planned.found.variables.iter().cloned();
        let near: Vec<String> = self.near.iter().cloned().chain(own).collect();
        let is_writable = variables.is_empty() || followed.edits(&variables, &near).is_some();
        // At this point each variable of a container's own environment has a place in this file.
        if rewritten(text, &here).is_some() && is_writable && own_lines.is_empty() {
            let beside = planned.found.beside.clone().or_else(|| self.beside.take());
            *self = Self { here, variables, near, beside };
        } else {
            planned.leave_to_people();
        }
    }

    /// Adds the edited files with all edits to the plan.
    fn write(self, file: FileToSwitch<'_>, whole: &Whole, plan: &mut Plan) -> Result<(), Failure> {
        let mut parts = whole.parted(&self.here).into_iter();
        let here = parts.next().map_or_else(Vec::new, |it| it.2);
        let (text, followed) = (file.text, file.followed);
        if let Some((beside, (_, server))) = self.beside.zip(file.server_unit) {
            plan.add_beside(beside, server)?;
        }
        let new = rewritten(&text.content, &here).filter(|new| *new != text.content);
        let path = text.original.path();
        let unit = path.file_name().unwrap_or_default().to_string_lossy();
        let all = lines(&plan.connections);
        let lines_of = |words: Option<&str>| {
            let own = all.iter().filter_map(|it| {
                let (in_file, line) = it.line.map(|it| whole.line(it)).unzip();
                (in_file.flatten() == words).then(|| Edit { line, ..it.clone() })
            });
            let mut own: Vec<Edit> = own.collect();
            own.sort_by_key(|it| it.line);
            own
        };
        let mut lines = lines_of(None);
        let folder = file.wish.path.parent().unwrap_or(Path::new(""));
        for (words, known, rewrites) in parts.filter(|it| !it.2.is_empty()) {
            let named = folder.join(words.unwrap_or_default());
            let other = Text::read(&named)?;
            let edited = Some(other).filter(|it| it.content == known).and_then(|it| it.edited(&rewrites));
            let edited = edited.ok_or_else(|| {
                let what = format!("`{}` changed while looptax read it, or is not UTF-8", named.display());
                Failure::usage(what, "run the same command again")
            })?;
            plan.add(edited, &named, lines_of(words));
        }
        match new {
            Some(new) if follow::is_unit(path) => {
                let Some(edited) = follow::drop_in_of(&text.original, &text.content, &new)? else {
                    plan.leave_to_people();
                    return Ok(());
                };
                plan.reload = Some(follow::restart_of(&unit));
                let path = edited.original.path().to_owned();
                plan.add(edited, &path, lines);
                plan.without_set_elsewhere();
            }
            Some(_) => {
                // A value that is set in another file is shown with that file.
                lines.retain(|it| it.line.is_some() || self.variables.is_empty());
                if let Some(edited) = text.edited(&here) {
                    plan.add(edited, file.wish.path, lines);
                }
            }
            None => {}
        }
        if self.variables.is_empty() {
            return Ok(());
        }
        let elsewhere = followed.edits(&self.variables, &self.near);
        for it in elsewhere.unwrap_or_default() {
            plan.add(it.edited, &it.named, it.lines);
            plan.without_set_elsewhere();
        }
        plan.reload = followed.reload;
        Ok(())
    }
}

impl Plan {
    /// Returns the connections in the form in which they are saved, with numbers and without passwords.
    pub fn connections(&self) -> Vec<SwitchConnection> {
        let numbered = self.connections.iter().zip(1..);
        numbered.map(|(it, number)| it.saved(number)).collect()
    }

    /// Returns a burst for each socket to which connections move. Each burst has `n` connections. If `n` is `None`,
    /// each burst has as many connections as the application was found to open at once.
    ///
    /// # Errors
    /// If that number is not known, or if there is no socket to connect to.
    pub fn bursts(&self, n: Option<u32>) -> Result<Vec<Burst>, Failure> {
        let mut all: Vec<Burst> = Vec::new();
        for planned in { self.connections.iter() }.filter(|it| it.moves()) {
            if planned.saved(0).is_in_container() {
                return Err(Failure::usage(
                    "--burst: the socket is in a container, so looptax cannot open a burst of connections to it",
                    "leave out --burst",
                ));
            }
            let burst = planned.burst(n).filter(|it| first_question(it.protocol).is_some());
            let burst = burst.ok_or_else(|| {
                let place = &planned.found.checked.place;
                Failure::usage(
                    format!(
                        "--burst: looptax does not know how many connections arrive together at {place}, or what to \
                         send there first"
                    ),
                    "pass the number with --connections N; to prove the move of a program behind a web server, pass \
                     --url",
                )
            })?;
            match all.iter_mut().find(|it| it.socket == burst.socket) {
                Some(own) => own.n_connections = own.n_connections.max(burst.n_connections),
                None => all.push(burst),
            }
        }
        Ok(all)
    }

    /// Adds a file to the files to write; `named` is its path as the person passed it.
    pub(crate) fn add(&mut self, edited: Edited, named: &Path, lines: Vec<Edit>) {
        self.files.push(SwitchFile {
            path: edited.original.path().display().to_string(),
            lines,
            remarks: remarks(named, &edited.original),
        });
        self.edited.push(edited);
    }

    /// Adds the unit of a server's container, and the unit of a volume if the volume does not exist yet.
    fn add_beside(&mut self, beside: Beside, server: Text) -> Result<(), Failure> {
        if let Some((name, text)) = beside.new {
            let path = server.original.path().with_file_name(name);
            let original = Original::absent(&path, &server.original)?;
            let lines = text.lines().map(|it| Edit { line: None, before: None, after: Some(it.to_owned()) });
            self.add(Edited { original, new: text.as_bytes().to_vec() }, &path, lines.collect());
        }
        let named = server.named.clone();
        if let Some(edited) = server.edited(&beside.rewrites).filter(|_| !beside.rewrites.is_empty()) {
            self.add(edited, &named, beside.edits);
        }
        Ok(())
    }

    /// Removes from the advice the sentence that a value is set elsewhere, because looptax knows the other file and
    /// writes it.
    fn without_set_elsewhere(&mut self) {
        let connections = self.connections.iter_mut();
        for change in connections.flat_map(|it| &mut it.found.checked.changes) {
            let advice = change.advice.replace(SET_ELSEWHERE, "");
            advice.trim_start_matches("; ").clone_into(&mut change.advice);
        }
    }

    pub(crate) fn leave_to_people(&mut self) {
        let moved = { self.connections.iter_mut() }.filter(|it| it.moves());
        moved.for_each(Planned::leave_to_people);
    }
}

/// Returns the changed lines of the connections that move, each line once.
pub(crate) fn lines(connections: &[Planned]) -> Vec<Edit> {
    let change = |it: &Planned| it.found.checked.changes.get(it.change_idx?).cloned();
    let mut lines: Vec<Edit> = Vec::new();
    for edit in connections.iter().filter_map(change).flat_map(|it| it.edits) {
        if !lines.contains(&edit) {
            lines.push(edit);
        }
    }
    lines
}
