//! `attacks-part`: the parts of attacks that the lab's own program plays as the attacker.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Prefix of the name of a bait: a link beside the attacked file, with which the file is exchanged.
const BAIT: &str = "bait-";

/// Prefix of the files that the attacker puts in the place of others.
pub(super) const EVIL: &str = "evil-";

/// A part of an attack, which the lab's own program plays.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Part {
    /// Runs a program, and ends it when the process that started this one ends
    Under {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Listens on a port, and executes a program, which inherits the port, under a given name
    Holding {
        port: u16,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Answers each request of a listener that is its input
    Answer,
    /// Sends root's password to root's server, as root; with a port for pages, sends it for each request for a page
    Say {
        server: SocketAddr,
        #[arg(long)]
        pages: Option<u16>,
    },
    /// Stops every process that it may stop, for ever
    Stop,
    /// Shortens a file and restores it, for ever
    Shorten { file: PathBuf },
    /// Swaps two names for ever
    Exchange { one: PathBuf, other: PathBuf },
    /// Waits for new names in a folder, and replaces them by links to a file
    Snatch { folder: PathBuf, target: PathBuf },
    /// Waits until a file NAME in a folder is opened, and swaps it with `evil-NAME`
    Pounce { folder: PathBuf },
    /// Reads from a pipe for ever, and keeps the bytes
    Drain { pipe: PathBuf, into: PathBuf },
}

impl Part {
    pub(crate) fn run(&self) -> Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid().is_none_or(Pid::is_init) {
            bail!("the process that started this one has ended");
        }
        match self {
            Self::Under { words } => {
                let error = Command::new(&words[0]).args(&words[1..]).exec();
                Err(error).context("cannot become the program")
            }
            Self::Holding { port, words } => {
                let listener = TcpListener::bind(("127.0.0.1", *port))?;
                // Another process, which has the listener as its standard input, serves the pages.
                Command::new(std::env::current_exe()?)
                    .args(["attacks-part", "answer"])
                    .stdin(OwnedFd::from(listener.try_clone()?))
                    .spawn()?;
                rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty())?;
                let mut command = Command::new(&words[0]);
                let error = command.arg0(&words[1]).args(&words[2..]).exec();
                Err(error).context("cannot become the program")
            }
            Self::Answer => answer(),
            Self::Say { server, pages } => match pages {
                Some(port) => say_for_pages(*server, *port),
                None => say(*server),
            },
            Self::Stop => loop {
                // The process may have ended already; that is not an error.
                rustix::process::kill_process_group(Pid::INIT, Signal::STOP).ok();
            },
            Self::Shorten { file } => shorten(file),
            Self::Exchange { one, other } => exchange(one, other),
            Self::Snatch { folder, target } => snatch(folder, target),
            Self::Pounce { folder } => pounce(folder),
            Self::Drain { pipe, into } => drain(pipe, into),
        }
    }
}

fn answer() -> Result<()> {
    let listener = TcpListener::from(rustix::io::dup(std::io::stdin())?);
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut request = [0; 4096];
        let said = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok";
        // The client may have closed the connection already.
        stream.read(&mut request).and_then(|_| stream.write_all(said)).ok();
    }
    Ok(())
}

/// Sends the secret to a server. The secret belongs to root, and is only in root's environment.
fn say(server: SocketAddr) -> Result<()> {
    let secret = std::env::var("LOOPTAX_COLLECTOR_PASSWORD")?;
    let mut stream = TcpStream::connect(server)?;
    stream.write_all(format!("AUTH {secret}\r\n").as_bytes())?;
    let answer = stream.read(&mut [0; 64]);
    answer.map(drop).context("no answer")
}

fn say_for_pages(server: SocketAddr, port: u16) -> Result<()> {
    for stream in TcpListener::bind(("127.0.0.1", port))?.incoming() {
        let mut stream = stream?;
        // A client that sends nothing has closed the connection; looptax then records a failed page.
        let heard = stream.read(&mut [0; 4096]).is_ok() && say(server).is_ok();
        let status = if heard { "200 OK" } else { "500 No" };
        let said = format!("HTTP/1.0 {status}\r\nContent-Length: 2\r\n\r\nok");
        stream.write_all(said.as_bytes()).ok();
    }
    Ok(())
}

fn shorten(file: &Path) -> Result<()> {
    let whole = fs::read(file)?;
    let mut opened = File::options().write(true).open(file)?;
    loop {
        opened.set_len(0)?;
        std::io::Seek::rewind(&mut opened)?;
        opened.write_all(&whole)?;
    }
}

/// Exchanges two names. A name that is missing for a moment appears again.
fn exchange(one: &Path, other: &Path) -> Result<()> {
    let folders = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (one, other) = (folders(one)?, folders(other)?);
    loop {
        // An exchange may fail because root changes the folder at the same time.
        renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).ok();
    }
}

fn snatch(folder: &Path, target: &Path) -> Result<()> {
    let events = inotify::init(CreateFlags::CLOEXEC)?;
    let wanted = WatchFlags::CREATE | WatchFlags::MOVED_TO;
    inotify::add_watch(&events, folder, wanted)?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(&events, &mut buffer);
    let mut turn = 0_u32;
    loop {
        let event = reader.next()?;
        let Some(name) = event.file_name() else {
            continue;
        };
        let name = OsStr::from_bytes(name.to_bytes());
        // The attacker makes links and pipes; a regular file was made by root.
        let path = folder.join(name);
        let is_roots = fs::symlink_metadata(&path).is_ok_and(|it| it.is_file());
        if is_roots && !name.as_bytes().starts_with(BAIT.as_bytes()) {
            turn += 1;
            put_bait(&path, target, turn);
        }
    }
}

/// Puts a random bait in the place of a name: a link that is exchanged with the name, only a link, or a pipe.
fn put_bait(path: &Path, target: &Path, turn: u32) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bait = path.with_file_name(format!("{BAIT}{turn}-{name}"));
    // Each call may fail if root was faster: this is the race that is tested.
    match turn % 4 {
        0 | 1 => {
            symlink(target, &bait).ok();
            renameat_with(CWD, &bait, CWD, path, RenameFlags::EXCHANGE).ok();
        }
        2 => {
            fs::remove_file(path).ok();
            symlink(target, path).ok();
        }
        _ => {
            mkfifoat(CWD, &bait, Mode::RUSR | Mode::WUSR).ok();
            renameat_with(CWD, &bait, CWD, path, RenameFlags::EXCHANGE).ok();
        }
    }
}

fn pounce(folder: &Path) -> Result<()> {
    let events = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&events, folder, WatchFlags::OPEN | WatchFlags::ACCESS)?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(&events, &mut buffer);
    loop {
        let event = reader.next()?;
        let Some(name) = event.file_name() else {
            continue;
        };
        let name = OsStr::from_bytes(name.to_bytes());
        if name.as_bytes().starts_with(EVIL.as_bytes()) {
            continue;
        }
        let mut evil = OsString::from(EVIL);
        evil.push(name);
        let (one, other) = (folder.join(name), folder.join(evil));
        // The file may not exist; then there is nothing to exchange.
        renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).ok();
    }
}

fn drain(pipe: &Path, into: &Path) -> Result<()> {
    loop {
        // After a writer has closed the pipe, the pipe is opened again for the next writer.
        let bytes = fs::read(pipe)?;
        let mut kept = fs::File::options().append(true).create(true).open(into)?;
        std::io::Write::write_all(&mut kept, &bytes)?;
    }
}
