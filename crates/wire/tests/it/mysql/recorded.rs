//! A real conversation, recorded between sysbench over libmariadb 3.3.20 and MariaDB 10.11.19: `oltp_point_select`,
//! password `secret`. looptax must send the same bytes as sysbench where they matter.

use looptax_wire::mysql::Connection;
use looptax_wire::{Channel, Codec};
use mysql_common::io::ParseBuf;
use mysql_common::packets::HandshakeResponse;

use super::scripted::{End, LIMIT, Scripted, somebody};

const GREETING: &str = "640000000a352e352e352d31302e31312e31392d4d6172696144422d302b64656231327531\
    0007000000415d352f2c2c397800fef7080200ff81150000000000001d000000745b4a434f43415b274e355e006d79\
    73716c5f6e61746976655f70617373776f726400";
const SCRAMBLE: &str = "71f6b21da5b641446ef205a452a111752b1b53aa";
const LET_IN: &str = "12000002000000024000000009010706736274657374";
const PREPARE: &str = "210000001653454c45435420632046524f4d20736274657374312057484552452069643d3f";
const PREPARED: &str = "0c0000010013000000010001000000001800000203646566000000013f00000c3f00000000\
    0006800000000005000003fe000002002d000004036465660673627465737407736274657374310773627465737431\
    01630163000c2d00e0010000fe010000000005000005fe00000200";
const FIRST_REQUEST: &str = "1600000017130000000001000000000108000200000000000000";
const FIRST_REPLY: &str = "02000001010005000002fe0000020005000003000002626205000004fe00000200";
const FOURTH_REQUEST: &str = "140000001713000000000100000000000100000000000000";
const FOURTH_REPLY: &str = "02000001010005000002fe0000020005000003000002616105000004fe00000200";

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = str::from_utf8(pair).expect("hexadecimal");
            u8::from_str_radix(pair, 16).expect("hexadecimal")
        })
        .collect()
}

#[test]
fn says_what_sysbench_says() {
    let stream = Scripted::new(&bytes(&[GREETING, LET_IN, PREPARED].concat()), End::Close);
    let heard = stream.heard();
    let login = somebody("secret");
    let mut connection = Connection::login(stream, &login, Channel::PlainTcp, LIMIT).unwrap();
    assert_eq!(connection.server_version(), "10.11.19-MariaDB-0+deb12u1");
    let response = heard.take().split_off(4);
    let response: HandshakeResponse<'_> = ParseBuf(&response).parse(()).unwrap();
    assert_eq!(response.scramble_buf(), bytes(SCRAMBLE));

    let mut query = connection.prepare("SELECT c FROM sbtest1 WHERE id=?").unwrap();
    assert_eq!(heard.take(), bytes(PREPARE));

    let mut request = Vec::new();
    query.request(&mut 2_u64, &mut request);
    assert_eq!(request, bytes(FIRST_REQUEST));
    let reply = bytes(FIRST_REPLY);
    let found = query.reply(&reply).unwrap().expect("a whole reply");
    assert_eq!((found.bytes, &reply[found.data]), (reply.len(), &b"bb"[..]));

    request.clear();
    query.request(&mut 1_u64, &mut request);
    assert_eq!(request, bytes(FOURTH_REQUEST));
    let reply = bytes(FOURTH_REPLY);
    let found = query.reply(&reply).unwrap().expect("a whole reply");
    assert_eq!((found.bytes, &reply[found.data]), (reply.len(), &b"aa"[..]));
}
