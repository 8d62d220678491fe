//! The fake memcached: it answers `version` with its version, and every other command with one fixed answer.

use std::io::{self, Read, Write};

use super::script::{Answer, Script, line, read_some};

pub(super) fn serve(stream: &mut (impl Read + Write), script: Script) -> io::Result<()> {
    loop {
        let command = line(stream)?;
        let mut words = command.split(' ');
        let said = match words.next() {
            Some("version") => "VERSION 1.6.18\r\n".to_owned(),
            Some("set") => {
                let n: usize = words.nth(3).and_then(|it| it.parse().ok()).unwrap_or(0);
                read_some(stream, n + 2)?;
                answer(script.answer)
            }
            _ => answer(script.answer),
        };
        stream.write_all(said.as_bytes())?;
    }
}

fn answer(answer: Answer) -> String {
    match answer {
        Answer::Done => "OK\r\n".to_owned(),
        Answer::Empty => "END\r\n".to_owned(),
        Answer::Nulls => "STAT pid \r\nEND\r\n".to_owned(),
        Answer::Wide => "STAT pid 1 1 1\r\nEND\r\n".to_owned(),
        Answer::Cells(text) => format!("STAT pid {text}\r\nEND\r\n"),
        Answer::Error => "SERVER_ERROR no\r\n".to_owned(),
    }
}
