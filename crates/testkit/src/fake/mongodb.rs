//! The fake `MongoDB`: its answer to `hello` contains no accounts, and its answer to `buildInfo` is its version. It
//! answers every other command with one fixed answer.

use std::io::{self, Read, Write};

use super::script::{Answer, Script, read_exact, read_some};

const OP_MSG: u32 = 2013;
const TEXT: u8 = 2;
const NULL: u8 = 10;
const INT32: u8 = 16;

pub(super) fn serve(stream: &mut (impl Read + Write), script: Script) -> io::Result<()> {
    loop {
        let [length, number, _, _] = header(stream)?;
        let body = read_some(stream, (length as usize).saturating_sub(16))?;
        // Skips the flags, the kind of the section, the length of the document, and the type of the document's first
        // element.
        let name = body.get(10..).unwrap_or_default();
        let name: Vec<u8> = name.iter().copied().take_while(|it| *it != 0).collect();
        let elements = match &*name {
            b"hello" => int("maxWireVersion", 17),
            b"buildInfo" => text("version", "7.0.0"),
            _ => answer(script.answer),
        };
        let is_error = script.answer == Answer::Error && !matches!(&*name, b"hello" | b"buildInfo");
        let end = if is_error { [int("ok", 0), int("code", 13), text("errmsg", "no")].concat() } else { int("ok", 1) };
        let elements = [elements, end].concat();
        let document = [&(elements.len() as u32 + 5).to_le_bytes()[..], &elements, &[0]].concat();
        let stated = (document.len() as u32) + 21;
        let front = [stated, 1, number, OP_MSG].map(u32::to_le_bytes).concat();
        stream.write_all(&[&front, &[0; 5][..], &document].concat())?;
    }
}

fn header(stream: &mut impl Read) -> io::Result<[u32; 4]> {
    let bytes: [u8; 16] = read_exact(stream)?;
    let word = |at: usize| {
        let word = bytes[at..at + 4].try_into().expect("four were taken");
        u32::from_le_bytes(word)
    };
    Ok([0, 4, 8, 12].map(word))
}

fn answer(answer: Answer) -> Vec<u8> {
    match answer {
        Answer::Done | Answer::Error => Vec::new(),
        Answer::Empty => text("you", ""),
        Answer::Nulls => [element(NULL, "pid", &[]), element(NULL, "you", &[])].concat(),
        Answer::Wide => [int("pid", 1), int("pid", 2), int("more", 3)].concat(),
        Answer::Cells("-1") => [int("pid", u32::MAX), int("you", u32::MAX)].concat(),
        Answer::Cells(value) => [text("pid", value), text("you", value)].concat(),
    }
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind], name.as_bytes(), &[0], value].concat()
}

fn int(name: &str, value: u32) -> Vec<u8> {
    element(INT32, name, &value.to_le_bytes())
}

fn text(name: &str, value: &str) -> Vec<u8> {
    let length = (value.len() as u32 + 1).to_le_bytes();
    element(TEXT, name, &[&length[..], value.as_bytes(), &[0]].concat())
}
