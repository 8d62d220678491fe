//! The fake Redis: it accepts any account, answers requests for its version and for the number of the session, and
//! sends one fixed answer to all other commands.

use std::io::{self, Read, Write};

use super::script::{Answer, Script, line, read_some};

pub(super) fn serve(stream: &mut (impl Read + Write), script: Script) -> io::Result<()> {
    let (mut has_version, mut has_number) = (false, false);
    loop {
        let words = command(stream)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = match &*words {
            ["AUTH" | "SELECT", ..] => "+OK\r\n".to_owned(),
            ["INFO", "server"] if !has_version => {
                has_version = true;
                bulk("redis_version:7.0.0\r\n")
            }
            ["CLIENT", "ID"] if !has_number => {
                has_number = true;
                ":7\r\n".to_owned()
            }
            _ => answer(script.answer),
        };
        stream.write_all(said.as_bytes())?;
    }
}

fn answer(answer: Answer) -> String {
    match answer {
        Answer::Done => "+OK\r\n".to_owned(),
        Answer::Empty => bulk(""),
        Answer::Nulls => "$-1\r\n".to_owned(),
        Answer::Wide => format!("*2\r\n{}{}", bulk("1"), bulk("1")),
        Answer::Cells("-1") => ":-1\r\n".to_owned(),
        Answer::Cells(text) => bulk(text),
        Answer::Error => "-ERR no\r\n".to_owned(),
    }
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn command(stream: &mut impl Read) -> io::Result<Vec<String>> {
    let number = |line: &str, sign| -> io::Result<usize> {
        let digits = line.strip_prefix(sign).and_then(|it: &str| it.parse().ok());
        digits.ok_or_else(|| io::ErrorKind::InvalidData.into())
    };
    let n_words = number(&line(stream)?, '*')?;
    let mut words = Vec::new();
    for _ in 0..n_words {
        let n_bytes = number(&line(stream)?, '$')?;
        let bytes = read_some(stream, n_bytes + 2)?;
        words.push(String::from_utf8_lossy(&bytes[..n_bytes]).into_owned());
    }
    Ok(words)
}
