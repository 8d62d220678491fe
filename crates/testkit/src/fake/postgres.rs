//! The fake PostgreSQL: it accepts any account, and sends one fixed answer to every statement.

use std::io::{self, Read, Write};

use super::script::{Answer, Script, n_columns, read_exact, read_some};

const TLS_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

pub(super) fn serve(stream: &mut (impl Read + Write), script: Script) -> io::Result<()> {
    while begin(stream)?.starts_with(&TLS_REQUEST) {
        stream.write_all(b"N")?;
    }
    if script.wants_password {
        stream.write_all(&message(b'R', &3_u32.to_be_bytes()))?;
        read(stream)?;
    }
    let ready = [
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0015.6\0"),
        message(b'K', &[0, 0, 0, 7, 0, 0, 0, 8]),
        message(b'Z', b"I"),
    ];
    stream.write_all(&ready.concat())?;
    loop {
        let (kind, body) = read(stream)?;
        let said = match kind {
            b'X' => return Ok(()),
            b'Q' => [answer(script.answer, &body), message(b'Z', b"I")].concat(),
            b'P' => message(b'1', &[]),
            b'B' => message(b'2', &[]),
            b'C' => message(b'3', &[]),
            b'D' => [message(b't', &[0, 0]), message(b'n', &[])].concat(),
            b'E' => message(b'C', b"SELECT 0\0"),
            b'S' => message(b'Z', b"I"),
            _ => Vec::new(),
        };
        stream.write_all(&said)?;
    }
}

fn begin(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let n = u32::from_be_bytes(read_exact(stream)?);
    read_some(stream, (n as usize).saturating_sub(4))
}

fn read(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let [kind] = read_exact(stream)?;
    Ok((kind, begin(stream)?))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

fn answer(answer: Answer, sql: &[u8]) -> Vec<u8> {
    let sql = String::from_utf8_lossy(sql);
    let is_set = sql.starts_with("SET ") && !sql.contains("; ");
    match answer {
        Answer::Done => return message(b'C', b"OK\0"),
        _ if is_set => return message(b'C', b"SET\0"),
        Answer::Error => return message(b'E', b"SERROR\0C42501\0Mno\0\0"),
        _ => {}
    }
    let row = answer.row(n_columns(&sql));
    let n = row.as_ref().map_or_else(|| n_columns(&sql), Vec::len);
    let mut described = (n as u16).to_be_bytes().to_vec();
    for _ in 0..n {
        described.extend(b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
    }
    let mut said = message(b'T', &described);
    if let Some(row) = row {
        let mut cells = (n as u16).to_be_bytes().to_vec();
        for cell in row {
            match cell {
                None => cells.extend((-1_i32).to_be_bytes()),
                Some(text) => {
                    cells.extend((text.len() as u32).to_be_bytes());
                    cells.extend(text.as_bytes());
                }
            }
        }
        said.extend(message(b'D', &cells));
    }
    said.extend(message(b'C', b"SELECT 1\0"));
    said
}
