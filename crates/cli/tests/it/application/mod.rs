//! An application with a private server: its files, its processes, and its answers to visitors.

pub(crate) mod php;
pub(crate) mod programs;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::fixture::Server;

/// Time limit for an application to start, or to apply its configuration; far longer than any application needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The text from the database on every page.
pub(crate) const ROW: &str = "A row of a table";

/// The statements that insert this text, for MariaDB and for PostgreSQL.
const GREETINGS: [&str; 2] = [
    "CREATE TABLE greetings (name VARCHAR(20) PRIMARY KEY, text VARCHAR(80) NOT NULL)",
    "INSERT INTO greetings VALUES ('first', 'A row of a table')",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The text from the database.
    Row,
    /// The client address that the server reports for the application's connection.
    Way,
}

/// The transport of the application's connection, according to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Socket,
    Tcp,
}

pub(crate) type Ask = Box<dyn Fn(Question) -> Result<String, String> + Send + Sync>;

/// A running application, and the arguments of `looptax switch` for it.
pub(crate) struct Application {
    // The fields are dropped in this order: first the application's processes have to end, then the server, and then
    // the application's folder is removed.
    _processes: Vec<Group>,
    pub(crate) server: Server,
    pub(crate) place: Place,
    /// The configuration file that has the server's address.
    pub(crate) file: PathBuf,
    /// The command that makes the application read its file; `None` if it reads the file for each visit.
    pub(crate) reload: Option<String>,
    /// A URL at which the application answers everybody; `None` if it does not use HTTP.
    pub(crate) url: Option<String>,
    pub(crate) ask: Ask,
}

impl Application {
    /// An application that answers over HTTP: the page `/` shows the row, and the page `way` shows the transport.
    pub(crate) fn on_http(place: Place, server: Server, file: &str, way: &str, processes: Vec<Group>) -> Self {
        let (http, way) = (place.http, way.to_owned());
        Self {
            _processes: processes,
            server,
            file: place.path(file),
            place,
            reload: None,
            url: Some(format!("http://{http}/")),
            ask: Box::new(move |question| match question {
                Question::Row => get(http, "/"),
                Question::Way => get(http, &way),
            }),
        }
    }

    /// An application that does not use HTTP; `ask` gets its answers.
    pub(crate) fn asked_by(place: Place, server: Server, file: &str, processes: Vec<Group>, ask: Ask) -> Self {
        Self { _processes: processes, server, file: place.path(file), place, reload: None, url: None, ask }
    }

    /// Sets the command that makes the application read its file.
    #[must_use]
    pub(crate) fn reloaded_by(mut self, command: impl Into<String>) -> Self {
        self.reload = Some(command.into());
        self
    }

    /// Waits until the application shows the row from the database.
    #[track_caller]
    pub(crate) fn expect_to_work(&self) {
        let mut last = Ok(String::new());
        let works = patience::wait(PATIENCE, || {
            last = (self.ask)(Question::Row);
            last.as_ref().is_ok_and(|it| it.contains(ROW)).then_some(())
        });
        assert!(works.is_some(), "no row, but {last:?}\n{}", self.told());
    }

    /// Waits until the application uses this transport, and checks that its next connections use it too.
    #[track_caller]
    pub(crate) fn expect_way(&self, way: Way) {
        let mut last = Ok(String::new());
        let comes = patience::wait(PATIENCE, || {
            last = (self.ask)(Question::Way);
            (last.as_deref().map(way_of) == Ok(way)).then_some(())
        });
        assert!(comes.is_some(), "not {way:?}: {last:?}\n{}", self.told());
        for _ in 0..4 {
            let next = (self.ask)(Question::Way);
            let found = next.as_deref().map(way_of);
            assert_eq!(found, Ok(way), "{next:?}\n{}", self.told());
        }
    }

    /// Returns the logs of the application and of its server.
    fn told(&self) -> String {
        let log = fs::read_to_string(self.place.path("log")).unwrap_or_default();
        format!("{log}\nthe server:\n{}", self.server.it.log_tail())
    }

    /// Returns the current contents of the configuration file.
    #[track_caller]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.file).expect("the application's file is there")
    }

    /// Runs `act` while visitors come one after the other; their answers are ignored.
    pub(crate) fn while_visited<T>(&self, act: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    (self.ask)(Question::Row).ok();
                    thread::sleep(Duration::from_millis(20));
                }
            });
            // A panic in `act` must end the visits too.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
            is_over.store(true, Ordering::Relaxed);
            done.unwrap_or_else(|why| std::panic::resume_unwind(why))
        })
    }
}

/// Converts the server's text about a connection into a transport: an address, `localhost`, or the path of a socket.
fn way_of(said: &str) -> Way {
    if said.starts_with("127.0.0.1") {
        Way::Tcp
    } else {
        assert!(said == "localhost" || said == "socket" || said.starts_with('/'), "the server said {said:?}");
        Way::Socket
    }
}

/// The folder of an application, and the values for the placeholders in its files.
pub(crate) struct Place {
    pub(crate) scratch: Scratch,
    /// The address at which the application listens.
    pub(crate) http: SocketAddr,
    /// The owner of the application's files, processes and switches; `None` for the user of the tests.
    pub(crate) uid: Option<u32>,
    words: Vec<(&'static str, String)>,
}

impl Place {
    /// Makes a folder with placeholders for the server's addresses and login.
    pub(crate) fn beside(server: &Server) -> Self {
        let login = &server.it.login;
        let mut place = Self::alone();
        place.words.extend([
            ("«user»", login.user.clone()),
            ("«password»", server.password().to_owned()),
            ("«database»", login.database.clone().unwrap_or_default()),
            ("«port»", server.it.tcp.port().to_string()),
            ("«socket»", server.socket()),
        ]);
        place
    }

    /// Makes a folder for an application that uses no server of the fixture.
    pub(crate) fn alone() -> Self {
        let scratch = Scratch::new();
        let http = free_address();
        let words = vec![
            ("«http»", http.to_string()),
            ("«http_port»", http.port().to_string()),
            ("«folder»", scratch.work().display().to_string()),
        ];
        Self { scratch, http, uid: None, words }
    }

    /// Adds a placeholder with its value.
    #[must_use]
    pub(crate) fn with(mut self, word: &'static str, value: String) -> Self {
        self.words.push((word, value));
        self
    }

    /// Gives the folder to another account, which then runs the application. Needs root.
    #[must_use]
    pub(crate) fn owned_by(mut self, uid: u32) -> Self {
        self.scratch.give_to(uid);
        self.uid = Some(uid);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.file(name)
    }

    /// Writes files with their placeholders replaced, and makes the folders of these files.
    pub(crate) fn write(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = self.path(name);
            let folder = path.parent().expect("a file is in a folder");
            fs::create_dir_all(folder).expect("the scratch folder can be written");
            fs::write(&path, self.fill(text)).expect("the scratch folder can be written");
            if self.uid.is_some() {
                let given = [folder, &path].map(|it| chown(it, self.uid, self.uid));
                assert!(given.iter().all(Result::is_ok), "{given:?}");
            }
        }
    }

    /// Returns a text with its placeholders replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        let fill = |text: String, (word, value): &(&str, String)| text.replace(word, value);
        self.words.iter().fold(text.to_owned(), fill)
    }

    /// Starts a program in the folder, with its output in a log.
    pub(crate) fn start(&self, program: impl AsRef<Path>, args: &[&str]) -> Group {
        self.start_logged(&mut self.command(program, args))
    }

    /// Starts a command, with its output in the log.
    pub(crate) fn start_logged(&self, command: &mut Command) -> Group {
        let mut options = fs::File::options();
        let log = options.create(true).append(true).open(self.path("log"));
        let log = log.expect("the scratch folder can be written");
        let log_too = log.try_clone().expect("a file can be had twice");
        Group::spawn(command.stdout(log_too).stderr(log))
    }

    /// Runs a program of the application to its end.
    #[track_caller]
    pub(crate) fn run(&self, program: impl AsRef<Path>, args: &[&str]) {
        let done = self.command(program, args).output().expect("it starts");
        assert!(done.status.success(), "{args:?}: {done:?}");
    }

    fn command(&self, program: impl AsRef<Path>, args: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        let args = args.iter().map(|arg| self.fill(arg));
        let folder = self.scratch.work();
        // Puma uses the folder in the variable PWD.
        command.args(args).current_dir(&folder).env("PWD", &folder).env("HOME", &folder).stdin(Stdio::null());
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }
}

/// A program and all processes that it started; they end when this value is dropped.
pub(crate) struct Group(Child);

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.process_group(0).spawn().expect("the program starts"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let leader = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(leader) = leader {
            kill_process_group(leader, Signal::KILL).ok();
        }
        self.0.wait().ok();
    }
}

/// Prints that a test is skipped, because a part of its application is not installed.
pub(crate) fn skip_without(what: &str) {
    skip(&format!("application: {what} is not installed"));
}

/// Inserts the row into the database.
pub(crate) fn fill_table(server: &Server) {
    let mut talk = server.talk();
    for sql in GREETINGS {
        talk.execute(sql).expect("a new table can be filled");
    }
}

/// Returns the text of a page; any answer other than a page is an error.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<String, String> {
    let fail = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(fail)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(fail)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(fail)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(fail)?;
    let answer = String::from_utf8_lossy(&bytes).into_owned();
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.trim().to_owned()),
        _ => Err(answer),
    }
}
