//! Servers that let anybody log in and then answer whatever they are told to: a peer that is not what it says.
//!
//! Each listens on a socket and on a port that the kernel chose, as a user of the test's choice, and keeps every byte that
//! it hears. One thread takes connections of each kind, one serves each; they end with the test program.

mod memcached;
mod mongodb;
mod mysql;
mod postgres;
mod redis;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// MySQL's protocol.
    Mysql,
    /// PostgreSQL's.
    Postgres,
    /// Redis'.
    Redis,
    /// memcached's.
    Memcached,
    /// `MongoDB`'s.
    Mongodb,
}

impl Speaks {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Mysql,
        Self::Postgres,
        Self::Redis,
        Self::Memcached,
        Self::Mongodb,
    ];

    /// The scheme of its addresses.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
            Self::Mongodb => "mongodb",
        }
    }
}

/// How every question is answered once somebody is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// As if it had been a statement without a result.
    Done,
    /// With a result without rows.
    Empty,
    /// With one row of NULLs.
    Nulls,
    /// With one row that has more columns than were asked for.
    Wide,
    /// With one row whose every cell is this text.
    Cells(&'static str),
    /// With an error.
    Error,
}

impl Answer {
    /// All of them, with values of other types than any that is asked for.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::Empty,
        Self::Nulls,
        Self::Wide,
        Self::Cells("abc"),
        Self::Cells("-1"),
        Self::Cells("18446744073709551616"),
        Self::Cells(""),
        Self::Error,
    ];

    /// The one row, of so many columns; `None` where there is none.
    fn row(self, n_columns: usize) -> Option<Vec<Option<&'static str>>> {
        match self {
            Self::Nulls => Some(vec![None; n_columns]),
            Self::Wide => Some(vec![Some("1"); n_columns + 1]),
            Self::Cells(text) => Some(vec![Some(text); n_columns]),
            Self::Done | Self::Empty | Self::Error => None,
        }
    }
}

/// What a fake does.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// What it speaks.
    pub speaks: Speaks,
    /// What it answers.
    pub answer: Answer,
    /// Whether it wants the password in clear before it lets anybody in.
    pub wants_password: bool,
    /// Whose it is; `None` for the test's own user. Takes root.
    pub uid: Option<u32>,
}

impl Script {
    /// One of our own that asks for no password.
    pub const fn new(speaks: Speaks, answer: Answer) -> Self {
        Self {
            speaks,
            answer,
            wants_password: false,
            uid: None,
        }
    }
}

/// A fake that listens.
#[derive(Debug)]
pub struct Fake {
    /// Its socket.
    pub socket: PathBuf,
    /// Its port.
    pub tcp: SocketAddr,
    script: Script,
    heard: Heard,
}

type Heard = Arc<Mutex<Vec<u8>>>;

impl Fake {
    /// Listens in `folder` and on a free port. A fake of another user needs a folder that he may write.
    ///
    /// # Panics
    /// When it cannot.
    pub fn start(folder: &Path, script: Script) -> Self {
        let heard = Heard::default();
        let (tell, hear) = channel();
        let (folder, keep) = (folder.to_owned(), Arc::clone(&heard));
        // The kernel keeps a user per thread, and notes whoever calls `listen`.
        thread::spawn(move || {
            if let Some(uid) = script.uid.map(Uid::from_raw) {
                set_thread_res_uid(uid, uid, uid).expect("the test is root's");
            }
            let inet = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
            let tcp = inet.local_addr().expect("it is bound");
            let socket = folder.join(match script.speaks {
                Speaks::Postgres => format!(".s.PGSQL.{}", tcp.port()),
                other => format!("{}.sock", other.scheme()),
            });
            let unix = UnixListener::bind(&socket).expect("the folder may be written");
            tell.send((tcp, socket)).expect("the test waits");
            let for_tcp = Arc::clone(&keep);
            thread::spawn(move || {
                inet.incoming()
                    .flatten()
                    .for_each(|stream| serve(stream, script, &for_tcp));
            });
            unix.incoming()
                .flatten()
                .for_each(|stream| serve(stream, script, &keep));
        });
        let (tcp, socket) = hear.recv().expect("it listens");
        Self {
            socket,
            tcp,
            script,
            heard,
        }
    }

    /// Its address, for somebody who logs in there.
    pub fn url(&self) -> String {
        let scheme = self.script.speaks.scheme();
        let (account, place) = match self.script.speaks {
            Speaks::Mysql | Speaks::Postgres => ("app:s3cr3t-w0rd@", "/shop"),
            Speaks::Redis => (":s3cr3t-w0rd@", "/0"),
            Speaks::Memcached | Speaks::Mongodb => ("", "/"),
        };
        format!("{scheme}://{account}{}{place}", self.tcp)
    }

    /// Every byte that it has heard so far.
    pub fn heard(&self) -> Vec<u8> {
        lock(&self.heard).clone()
    }
}

fn lock(heard: &Heard) -> MutexGuard<'_, Vec<u8>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that keeps what comes.
struct Kept<S> {
    stream: S,
    heard: Heard,
}

impl<S: Read> Read for Kept<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buffer)?;
        lock(&self.heard).extend_from_slice(&buffer[..n]);
        Ok(n)
    }
}

impl<S: Write> Write for Kept<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn serve(stream: impl Read + Write + Send + 'static, script: Script, heard: &Heard) {
    let mut stream = Kept {
        stream,
        heard: Arc::clone(heard),
    };
    thread::spawn(move || {
        // It ends with its client.
        let _ended = match script.speaks {
            Speaks::Mysql => mysql::serve(&mut stream, script),
            Speaks::Postgres => postgres::serve(&mut stream, script),
            Speaks::Redis => redis::serve(&mut stream, script),
            Speaks::Memcached => memcached::serve(&mut stream, script),
            Speaks::Mongodb => mongodb::serve(&mut stream, script),
        };
    });
}

/// How many columns a statement asks for, as far as its text shows.
fn n_columns(sql: &str) -> usize {
    let upper = sql.to_ascii_uppercase();
    let Some(at) = upper.find("SELECT ") else {
        let is_pair = ["VARIABLES", "STATUS"].iter().any(|it| upper.contains(it));
        return 1 + usize::from(is_pair);
    };
    let mut depth = 0_i32;
    let mut n = 1;
    let list = &upper[at..];
    for (place, sign) in list.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => n += 1,
            _ => {}
        }
        if depth < 0 || depth == 0 && list[place..].starts_with(" FROM ") {
            break;
        }
    }
    n
}

fn read_exact<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// So many bytes, of which nobody who is honest sends many.
fn read_some(stream: &mut impl Read, n: usize) -> io::Result<Vec<u8>> {
    const MOST: usize = 1 << 20;
    if n > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; n];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A line without its end.
fn line(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    while bytes.last() != Some(&b'\n') {
        let [byte] = read_exact(stream)?;
        bytes.push(byte);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_by_what_stands_before_the_table() {
        for (sql, n) in [
            ("SELECT 1", 1),
            ("SELECT a, b(c, d), e FROM t WHERE f IN (1,2)", 3),
            ("SHOW GLOBAL STATUS LIKE 'x'", 2),
            ("SHOW GRANTS", 1),
        ] {
            assert_eq!(n_columns(sql), n, "{sql}");
        }
    }
}
