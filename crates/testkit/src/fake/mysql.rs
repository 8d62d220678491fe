//! The fake MySQL: it sends a greeting, accepts any account, and sends one fixed answer to every statement.

use std::io::{self, Read, Write};

use super::script::{Answer, Script, n_columns, read_exact, read_some};

const SALT: &[u8; 20] = b"abcdefghijklmnopqrst";
/// The capability flags `LONG_PASSWORD`, `LONG_FLAG`, `CONNECT_WITH_DB`, `PROTOCOL_41`, `TRANSACTIONS`,
/// `SECURE_CONNECTION`, `PLUGIN_AUTH`, `CONNECT_ATTRS`, `PLUGIN_AUTH_LENENC_CLIENT_DATA`.
const ABILITIES: u32 = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000 | 0x10_0000 | 0x20_0000;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const CLEAR: &[u8] = b"\xfemysql_clear_password\0";

const QUIT: u8 = 1;
const QUERY: u8 = 3;
const PREPARE: u8 = 0x16;

pub(super) fn serve(stream: &mut (impl Read + Write), script: Script) -> io::Result<()> {
    let mut packets = Packets { stream, next: 0 };
    packets.write(&greeting())?;
    packets.read()?;
    if script.wants_password {
        packets.write(CLEAR)?;
        packets.read()?;
    }
    packets.write(OK)?;
    loop {
        packets.next = 0;
        let command = packets.read()?;
        match command.split_first() {
            Some((&QUIT, _)) | None => return Ok(()),
            Some((&QUERY, sql)) => answer(&mut packets, script.answer, sql)?,
            // This is the answer for a statement without parameters and without a result.
            Some((&PREPARE, _)) => packets.write(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])?,
            Some(_) => packets.write(OK)?,
        }
    }
}

fn answer(packets: &mut Packets<'_, impl Read + Write>, answer: Answer, sql: &[u8]) -> io::Result<()> {
    let sql = String::from_utf8_lossy(sql);
    let is_set = sql.starts_with("SET ") && !sql.contains("SELECT");
    match answer {
        Answer::Done => return packets.write(OK),
        _ if is_set => return packets.write(OK),
        Answer::Error => return packets.write(b"\xff\x28\x04#42000no"),
        _ => {}
    }
    let row = answer.row(n_columns(&sql));
    let n = row.as_ref().map_or_else(|| n_columns(&sql), Vec::len);
    packets.write(&[n as u8])?;
    for _ in 0..n {
        packets.write(&definition())?;
    }
    packets.write(EOF)?;
    if let Some(row) = row {
        let mut bytes = Vec::new();
        for cell in row {
            match cell {
                None => bytes.push(0xfb),
                Some(text) => {
                    bytes.push(text.len() as u8);
                    bytes.extend(text.as_bytes());
                }
            }
        }
        packets.write(&bytes)?;
    }
    packets.write(EOF)
}

fn definition() -> Vec<u8> {
    let mut bytes = b"\x03def\0\0\0\x01c\0\x0c".to_vec();
    bytes.extend([45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
    bytes
}

fn greeting() -> Vec<u8> {
    let [low, high] = [ABILITIES as u16, (ABILITIES >> 16) as u16];
    let mut bytes = b"\x0a8.0.36\0\x07\0\0\0".to_vec();
    bytes.extend(&SALT[..8]);
    bytes.push(0);
    bytes.extend(low.to_le_bytes());
    bytes.extend([45, 2, 0]);
    bytes.extend(high.to_le_bytes());
    bytes.push(21);
    bytes.extend([0; 10]);
    bytes.extend(&SALT[8..]);
    bytes.extend(b"\0mysql_native_password\0");
    bytes
}

struct Packets<'a, S> {
    stream: &'a mut S,
    next: u8,
}

impl<S: Read + Write> Packets<'_, S> {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let [low, middle, high, number] = read_exact(self.stream)?;
        self.next = number.wrapping_add(1);
        let n = u32::from_le_bytes([low, middle, high, 0]);
        read_some(self.stream, n as usize)
    }

    fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(self.next);
        packet.extend(payload);
        self.next = self.next.wrapping_add(1);
        self.stream.write_all(&packet)
    }
}
