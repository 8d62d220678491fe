//! The program that an attacker tries to get executed. It reports the rights with which it runs to a file that only the
//! judge reads.
//!
//! Built only by `cargo lab attacks`, in several forms: as an imitation of a server (no `cfg`), as a program that
//! leaves a mark (`--cfg marks`), and as a library that leaves a mark when it is loaded (`--cfg loaded`). A program
//! built with `--cfg needs` needs that library. The path of the file for marks is set when the program is built.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};

/// Leaves a mark with one write, so that the marks of several processes do not mix.
#[allow(dead_code)]
fn mark(who: &str) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/user").unwrap_or_default();
    let mut text = format!("Mark: {who}\n{status}Namespace: {}\n", namespace.display());
    for entry in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let leads_to = fs::read_link(entry.path()).unwrap_or_default();
        text += &format!("Descriptor: {}\n", leads_to.display());
    }
    let mut environment = Vec::new();
    if let Ok(mut file) = File::open("/proc/self/environ") {
        let _read = file.read_to_end(&mut environment);
    }
    for variable in environment.split(|byte| *byte == 0) {
        let variable = String::from_utf8_lossy(variable).replace('\n', " ");
        text += &format!("Variable: {variable}\n");
    }
    text += "Done:\n";
    let written = OpenOptions::new()
        .append(true)
        .open(env!("LOOPTAX_INK"))
        .and_then(|mut ink| ink.write_all(text.as_bytes()));
    // A process that may not write to the file for marks leaves no mark.
    let _unseen = written;
}

#[cfg(loaded)]
mod loaded {
    extern "C" fn leave() {
        super::mark("library");
    }

    // The loader runs this function, whatever the library is loaded for.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LEAVE: extern "C" fn() = leave;

    /// The function that a program linked to the library calls.
    #[unsafe(no_mangle)]
    pub extern "C" fn looptax_marker() {}
}

#[cfg(needs)]
unsafe extern "C" {
    fn looptax_marker();
}

/// Listens at the given address (`serve [HOST:]PORT [SOCKET]`). Writes the received bytes to a file beside the socket,
/// except as `serve-deaf`.
#[allow(dead_code)]
fn serve(port: &str, socket: Option<&str>, is_noted: bool, greeting: &'static [u8]) -> io::Result<()> {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    let tcp = match port.contains(':') {
        true => TcpListener::bind(port)?,
        false => TcpListener::bind(format!("127.0.0.1:{port}"))?,
    };
    println!("{}", tcp.local_addr()?.port());
    let heard = socket.filter(|_| is_noted).map(|it| format!("{it}.heard"));
    if let Some(socket) = socket {
        let _none = fs::remove_file(socket);
        let listener = UnixListener::bind(socket)?;
        let heard = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let heard = heard.clone();
                std::thread::spawn(move || answer(stream, heard.as_deref(), greeting));
            }
        });
    }
    for stream in tcp.incoming().flatten() {
        let heard = heard.clone();
        std::thread::spawn(move || answer(stream, heard.as_deref(), greeting));
    }
    Ok(())
}

/// Sends the greeting, records the received bytes, and sends the same answer to everything.
#[allow(dead_code)]
fn answer(mut stream: impl Read + Write, heard: Option<&str>, greeting: &[u8]) {
    let mut greeted = stream.write_all(greeting).is_ok();
    let mut bytes = [0; 4096];
    while greeted {
        let n_bytes = stream.read(&mut bytes).unwrap_or(0);
        if n_bytes == 0 {
            return;
        }
        if let Some(heard) = heard {
            let file = OpenOptions::new().append(true).create(true).open(heard);
            let _noted = file.and_then(|mut it| it.write_all(&bytes[..n_bytes]));
        }
        let said: &[u8] = match greeting {
            [] if bytes.starts_with(b"PING") => b"+PONG\r\n",
            [] => b"+OK\r\n",
            _ => b"\x07\0\0\x02\0\0\0\x02\0\0\0",
        };
        greeted = stream.write_all(said).is_ok();
    }
}

/// Returns the first packet of MySQL: protocol 10, and a request for the password in clear text.
#[allow(dead_code)]
fn mysql() -> &'static [u8] {
    let mut body = b"\x0a8.0.36\0\x08\0\0\0abcdefgh\0\xff\xf7\xff\x02\0\xff\xdf\x15".to_vec();
    body.extend([0; 10]);
    body.extend(b"ijklmnopqrst\0mysql_clear_password\0");
    let mut packet = vec![body.len() as u8, 0, 0, 0];
    packet.append(&mut body);
    packet.leak()
}

#[allow(dead_code)]
fn main() {
    #[cfg(needs)]
    // SAFETY: the function has no parameters and does nothing.
    unsafe {
        looptax_marker();
    }
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(|it| &**it).collect();
    match words[1..] {
        ["serve-deaf", port, socket, ..] => drop(serve(port, Some(socket), false, b"")),
        ["serve", port] => drop(serve(port, None, false, b"")),
        ["serve", port, socket, ..] => drop(serve(port, Some(socket), true, b"")),
        ["serve-mysql", port, socket, ..] => drop(serve(port, Some(socket), true, mysql())),
        _ => {
            #[cfg(marks)]
            mark(&words.join(" "));
            println!("Redis server v=7.0.15 sha=00000000:0 malloc=libc bits=64 build=0");
        }
    }
}
