//! Tests of logins in a capture: whole, in pieces of any size, from the middle of a connection, and after a gap.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use looptax_model::dsn::Protocol;
use looptax_testkit::dice::Dice;
use looptax_wire::logins::{Fate, Logins, Sender, are_followed};

/// In the sent data, a secret is between `BEGIN` and `END`; these two bytes are not sent.
const BEGIN: u8 = 0xfa;
const END: u8 = 0xfb;

const CLIENT: Sender = Sender::Client;
const SERVER: Sender = Sender::Server;

type Said = (Sender, Vec<u8>);

/// Makes a MySQL packet.
fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let n = payload.iter().filter(|it| !matches!(**it, BEGIN | END)).count();
    [&[n as u8, (n >> 8) as u8, 0, sequence], payload].concat()
}

/// Makes a PostgreSQL message.
fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let n = payload.iter().filter(|it| !matches!(**it, BEGIN | END)).count() as u32 + 4;
    [&[kind], &n.to_be_bytes()[..], payload].concat()
}

fn secret(bytes: &[u8]) -> Vec<u8> {
    [&[BEGIN], bytes, &[END]].concat()
}

fn without_marks(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|it| !matches!(*it, BEGIN | END)).collect()
}

fn hidden(bytes: &[u8]) -> Vec<u8> {
    let mut is_secret = false;
    let mut shown = Vec::new();
    for byte in bytes {
        match *byte {
            BEGIN => is_secret = true,
            END => is_secret = false,
            _ if is_secret => shown.push(b'*'),
            byte => shown.push(byte),
        }
    }
    shown
}

/// Feeds the messages in pieces of at most `most` bytes; for each message, returns the bytes that may be written.
fn feed(logins: &mut Logins, said: &[Said], most: impl Fn() -> usize) -> Vec<Option<Vec<u8>>> {
    let mut written = Vec::new();
    for (sender, bytes) in said {
        let bytes = without_marks(bytes);
        let mut of_one = Some(Vec::new());
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (some, later) = rest.split_at(rest.len().min(most()));
            let mut some = some.to_vec();
            match (logins.feed(*sender, &mut some), &mut of_one) {
                (Fate::Write, Some(bytes)) => bytes.extend(some),
                _ => of_one = None,
            }
            rest = later;
        }
        written.push(of_one);
    }
    written
}

#[track_caller]
fn check(protocol: Protocol, said: &[Said]) {
    let dice = std::cell::RefCell::new(Dice::new(7));
    let mut ways: Vec<Box<dyn Fn() -> usize>> = vec![Box::new(|| usize::MAX), Box::new(|| 1)];
    for _ in 0..50 {
        ways.push(Box::new(|| dice.borrow_mut().below(9) + 1));
    }
    for most in ways {
        let mut logins = Logins::new(protocol, true).unwrap();
        let written = feed(&mut logins, said, most);
        for ((sender, bytes), written) in said.iter().zip(written) {
            let shown = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
            let written = written.expect("nothing is left out");
            assert_eq!(shown(&written), shown(&hidden(bytes)), "{sender:?}");
        }
    }
}

fn mysql_response(capabilities: u32, answer: &[u8]) -> Vec<u8> {
    let fixed = [&capabilities.to_le_bytes()[..], &[0; 28]].concat();
    packet(1, &[&fixed[..], b"user\0", answer, b"database\0a_plugin\0"].concat())
}

const MYSQL_41: u32 = 0x8200;
const MYSQL_LENENC: u32 = 0x20_0000;

fn mysql(response: Vec<u8>) -> Vec<Said> {
    vec![
        (SERVER, packet(0, b"\x0a8.0 a greeting")),
        (CLIENT, response),
        (SERVER, packet(2, b"\xfecaching_sha2_password\0salt")),
        (CLIENT, packet(3, &secret(b"thirty-two bytes of a hash"))),
        (SERVER, packet(4, b"\x01\x04")),
        (CLIENT, packet(5, &secret(b"password in clear\0"))),
        (SERVER, packet(6, b"\x00\x00\x00\x02\x00\x00\x00")),
        (CLIENT, packet(0, b"\x03select 'password'")),
        (SERVER, [packet(1, b"\x01"), packet(2, b"column"), packet(3, b"\xfe")].concat()),
        (CLIENT, packet(0, &[b"\x11user2\0\x08", &secret(b"12345678")[..], b"db\0"].concat())),
        (SERVER, packet(1, b"\xfemysql_native_password\0salt")),
        (CLIENT, packet(2, &secret(b"again a hash"))),
        (SERVER, packet(3, b"\x00ok")),
        (CLIENT, [packet(0, b"\x03load data local infile"), packet(3, b"a file"), packet(4, b"")].concat()),
        (SERVER, packet(5, b"\x00ok")),
    ]
}

#[test]
fn mysql_answers_to_a_greeting_and_to_methods_are_hidden_whatever_their_form() {
    let short = [&[20], &secret(b"twenty bytes of hash")[..]].concat();
    check(Protocol::Mysql, &mysql(mysql_response(MYSQL_41, &short)));
    check(Protocol::Mysql, &mysql(mysql_response(MYSQL_41 | MYSQL_LENENC, &short)));
    let long = [&[252, 44, 1], &secret(&[b'x'; 300])[..]].concat();
    check(Protocol::Mysql, &mysql(mysql_response(MYSQL_41 | MYSQL_LENENC, &long)));
    // The form before MySQL 4.1; its message that changes the user has no length, either.
    check(Protocol::Mysql, &mysql(mysql_response(0x200, &[&secret(b"to the nul")[..], b"\0"].concat()))[..8]);
    check(Protocol::Mysql, &mysql(mysql_response(MYSQL_41, &[0])));
}

#[test]
fn a_compressed_connection_of_mysql_is_left_out_behind_its_login() {
    let mut logins = Logins::new(Protocol::Mysql, true).unwrap();
    let response = mysql_response(MYSQL_41 | 0x20, &[0]);
    let said = [
        (SERVER, packet(0, b"\x0a8.0 a greeting")),
        (CLIENT, response),
        (SERVER, packet(2, b"\x00ok")),
        (CLIENT, b"anything".to_vec()),
    ];
    let written = feed(&mut logins, &said, || usize::MAX);
    assert!(written[2].is_some() && written[3].is_none(), "{written:?}");
}

#[test]
fn a_client_that_speaks_first_is_not_one_of_mysql() {
    // MySQL's X Protocol: its messages have the form of MySQL's packets, except for the greeting and the numbers of the
    // answers.
    let x = |kind: u8, payload: &[u8]| [&(payload.len() as u32 + 1).to_le_bytes()[..], &[kind], payload].concat();
    let said = [(CLIENT, x(1, b"")), (SERVER, x(2, b"capabilities")), (CLIENT, x(4, b"PLAIN password"))];
    for is_from_its_start in [true, false] {
        let mut logins = Logins::new(Protocol::Mysql, is_from_its_start).unwrap();
        let again = [&said[1..2], &said, &said, &said].concat();
        assert!(feed(&mut logins, &again, || usize::MAX).iter().all(Option::is_none));
    }
}

#[test]
fn postgresql_s_passwords_methods_and_keys_are_hidden() {
    let startup = |payload: &[u8]| [&(payload.len() as u32 + 8).to_be_bytes()[..], &[0, 3, 0, 0], payload].concat();
    let sasl = [
        (CLIENT, vec![0, 0, 0, 8, 4, 210, 22, 47]),
        (SERVER, b"N".to_vec()),
        (CLIENT, startup(b"user\0postgres\0\0")),
        (SERVER, message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0")),
        (CLIENT, message(b'p', &[b"SCRAM-SHA-256\0\0\0\0\x20", &secret(b"n,,n=,r=nonce")[..]].concat())),
        (SERVER, message(b'R', &[b"\0\0\0\x0b", &secret(b"r=nonce,s=salt,i=4096")[..]].concat())),
        (CLIENT, message(b'p', &secret(b"c=biws,r=nonce,p=proof"))),
        (
            SERVER,
            [
                message(b'R', &[b"\0\0\0\x0c", &secret(b"v=signature")[..]].concat()),
                message(b'R', b"\0\0\0\0"),
                message(b'S', b"a\0b\0"),
                message(b'K', &[b"\0\0\x10\x01", &secret(b"key!")[..]].concat()),
                message(b'Z', b"I"),
            ]
            .concat(),
        ),
        (CLIENT, message(b'Q', b"select 'password'\0")),
        (SERVER, [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat()),
    ];
    check(Protocol::Postgres, &sasl);
    let md5 = [
        (CLIENT, startup(b"user\0postgres\0\0")),
        (SERVER, message(b'R', b"\0\0\0\x05salt")),
        (CLIENT, message(b'p', &[&secret(b"md5 and a hash")[..], b"\0"].concat())),
        (SERVER, message(b'R', b"\0\0\0\0")),
    ];
    check(Protocol::Postgres, &md5);
    let cancel = [&[0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 16, 1], &secret(b"key!")[..]].concat();
    check(Protocol::Postgres, &[(CLIENT, cancel)]);
}

#[test]
fn redis_passwords_are_hidden_in_pipelines_and_in_lines() {
    let command = |words: &[&[u8]]| {
        let words: Vec<Vec<u8>> = words
            .iter()
            .map(|it| [format!("${}\r\n", without_marks(it).len()).as_bytes(), it, b"\r\n"].concat())
            .collect();
        [format!("*{}\r\n", words.len()).into_bytes(), words.concat()].concat()
    };
    let pipeline = [
        command(&[b"SET", b"AUTH", b"value"]),
        command(&[b"auth", &secret(b"user"), &secret(b"pass\r\nword")]),
        command(&[b"HELLO", b"3", b"AUTH", &secret(b"default"), &secret(b"pw"), &secret(b"SETNAME"), &secret(b"x")]),
        command(&[b"GET", b"", b"pw"]),
        command(&[b"ACL", b"SETUSER", b"joe", &secret(b"on"), &secret(b">pw")]),
        command(&[b"config", b"set", b"requirepass", &secret(b"pw")]),
        command(&[b"MIGRATE", b"h", b"1", b"", b"0", b"9", b"AUTH2", &secret(b"u"), &secret(b"p")]),
        b"*0\r\n".to_vec(),
        b"PING\r\n".to_vec(),
        [b"Auth ", &secret(b"user pw")[..], b"\r\n"].concat(),
        b"get auth\n".to_vec(),
        [b"  hello ", &secret(b"3 auth default pw")[..], b"\r\n"].concat(),
        [b"AUTH\r", &secret(b"pw")[..], b"\n"].concat(),
    ];
    check(Protocol::Redis, &[(CLIENT, pipeline.concat()), (SERVER, b"+OK\r\n".to_vec()), (CLIENT, pipeline.concat())]);
}

#[test]
fn a_line_of_redis_whose_command_has_quotes_is_left_out_with_all_behind_it() {
    let mut logins = Logins::new(Protocol::Redis, true).unwrap();
    let said =
        [(CLIENT, b"\"\\x41UTH\" pw\r\n".to_vec()), (SERVER, b"+OK\r\n".to_vec()), (CLIENT, b"PING\r\n".to_vec())];
    let written = feed(&mut logins, &said, || usize::MAX);
    assert_eq!(written, [None, None, None]);
}

#[test]
fn memcached_s_accounts_are_hidden_until_the_server_lets_in() {
    let said = [
        (CLIENT, [b"set x 0 0 9\r\n", &secret(b"user pass")[..], b"\r\n"].concat()),
        (SERVER, b"CLIENT_ERROR authentication failure\r\n".to_vec()),
        (CLIENT, [b"set x 0 0 9\r\n", &secret(b"user word")[..], b"\r\n"].concat()),
        (SERVER, b"STORED\r\n".to_vec()),
        (CLIENT, b"set k 0 0 5\r\nvalue\r\nms m 2\r\nab\r\nget k\r\n".to_vec()),
    ];
    check(Protocol::Memcached, &said);
    let sasl = |opcode: u8, value: &[u8]| {
        let n = without_marks(value).len() as u8;
        [&[0x80, opcode, 0, 5, 0, 0, 0, 0, 0, 0, 0, n + 5], &[0; 12][..], b"PLAIN", value].concat()
    };
    check(Protocol::Memcached, &[(CLIENT, [sasl(0x21, &secret(b"\0user\0pw")), sasl(1, b"a value")].concat())]);
}

#[test]
fn tls_passes_as_it_is() {
    let hello = b"\x16\x03\x01 a hello, then AUTH anything".to_vec();
    for protocol in [Protocol::Redis, Protocol::Memcached, Protocol::Postgres] {
        let mut logins = Logins::new(protocol, true).unwrap();
        assert_eq!(feed(&mut logins, &[(CLIENT, hello.clone())], || usize::MAX), [Some(hello.clone())]);
        assert!(logins.is_encrypted());
    }
    let mut logins = Logins::new(Protocol::Mysql, true).unwrap();
    let asks = packet(1, &[&(MYSQL_41 | 0x800).to_le_bytes()[..], &[0; 28]].concat());
    let said = [(SERVER, packet(0, b"\x0a8.0")), (CLIENT, [&asks[..], &hello].concat()), (SERVER, hello.clone())];
    let written = feed(&mut logins, &said, || usize::MAX);
    assert!(written.iter().all(Option::is_some) && logins.is_encrypted());
}

/// Returns a request, an answer, and a login of each protocol, from the middle of a connection.
fn middles() -> Vec<(Protocol, Said, Said, Said)> {
    vec![
        (
            Protocol::Mysql,
            (CLIENT, packet(0, b"\x03select 1")),
            (SERVER, packet(1, b"\x00ok")),
            (CLIENT, packet(0, &[b"\x11user\0", &secret(b"\x08password")[..], &secret(b"db\0")].concat())),
        ),
        (
            Protocol::Postgres,
            (CLIENT, message(b'Q', b"select 1\0")),
            (SERVER, [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat()),
            (CLIENT, message(b'p', &secret(b"password"))),
        ),
        (
            Protocol::Redis,
            (CLIENT, b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".to_vec()),
            (SERVER, b"$-1\r\n".to_vec()),
            (CLIENT, [b"*2\r\n$4\r\nAUTH\r\n$2\r\n", &secret(b"pw")[..], b"\r\n"].concat()),
        ),
    ]
}

#[test]
fn a_connection_that_began_before_is_written_from_the_request_on_whose_place_is_proved() {
    for (protocol, request, answer, login) in middles() {
        let mut logins = Logins::new(protocol, false).unwrap();
        // The end of a request whose start was not seen, then a request that proves where a request begins, then a
        // request that is written.
        let mut said = vec![(CLIENT, b"d of a request".to_vec()), answer.clone()];
        said.extend([request.clone(), answer.clone(), request.clone(), answer.clone(), login.clone()]);
        let written = feed(&mut logins, &said, || 5);
        assert!(written[..4].iter().all(Option::is_none), "{protocol}: {written:?}");
        assert_eq!(written[4..6], [Some(request.1.clone()), Some(answer.1.clone())], "{protocol}");
        assert_eq!(written[6].as_ref(), Some(&hidden(&login.1)), "{protocol}");
    }
}

#[test]
fn behind_a_gap_nothing_is_written_until_a_place_is_proved_again() {
    for (protocol, request, answer, _) in middles() {
        let mut logins = Logins::new(protocol, false).unwrap();
        let turns = |n: usize| -> Vec<Said> { (0..n).flat_map(|_| [answer.clone(), request.clone()]).collect() };
        assert!(feed(&mut logins, &turns(3), || usize::MAX)[5].is_some(), "{protocol}");
        logins.skip(CLIENT, 7);
        let written = feed(&mut logins, &turns(3), || usize::MAX);
        assert!(written[..3].iter().all(Option::is_none) && written[5].is_some(), "{protocol}: {written:?}");
    }
}

#[test]
fn a_login_that_never_was_one_request_is_never_written_in_clear() {
    // The bytes that may be written must not contain a secret, whatever is sent, from any position on and with any gap.
    let mut dice = Dice::new(11);
    for (protocol, request, answer, login) in middles() {
        for _ in 0..2_000 {
            let mut logins = Logins::new(protocol, false).unwrap();
            for _ in 0..dice.below(12) {
                let (sender, bytes) = [&request, &answer, &login][dice.below(3)];
                let bytes = without_marks(bytes);
                let from = dice.below(4) * dice.below(bytes.len()) / 3;
                if from > 0 {
                    logins.skip(*sender, from as u64);
                }
                let mut some = bytes[from.min(bytes.len() - 1)..].to_vec();
                if logins.feed(*sender, &mut some) == Fate::Write {
                    let text = String::from_utf8_lossy(&some).into_owned();
                    assert!(!text.contains("password") && !text.contains("\r\npw\r"), "{protocol}: {text}");
                }
            }
        }
    }
}

#[test]
fn protocols_that_are_not_followed_are_named() {
    assert!(!are_followed(Protocol::Mongodb) && !are_followed(Protocol::Http));
}

/// Returns the written parts of a conversation: `None` for a piece that is left out.
fn written(protocol: Protocol, pieces: &[(Sender, &[u8])]) -> Vec<Option<Vec<u8>>> {
    let mut logins = Logins::new(protocol, true).unwrap();
    let mut written = Vec::new();
    for (sender, piece) in pieces {
        let mut bytes = piece.to_vec();
        let fate = logins.feed(*sender, &mut bytes);
        written.push((fate == Fate::Write).then_some(bytes));
    }
    written
}

#[test]
fn a_byte_that_claims_encryption_hides_no_login_from_us() {
    use Sender::{Client, Server};
    let no = |protocol, pieces: &[(Sender, &[u8])]| {
        for it in written(protocol, pieces).into_iter().flatten() {
            assert!(!it.windows(6).any(|it| it == b"SECRET"), "{}", String::from_utf8_lossy(&it));
        }
    };
    let redis = b"\x16\r\n";
    no(Protocol::Redis, &[(Client, redis), (Server, b"-ERR unknown command\r\n"), (Client, b"AUTH SECRET\r\n")]);
    no(Protocol::Redis, &[(Client, b"\x16\r\nAUTH SECRET\r\n")]);
    // First TLS records, and then clear bytes: the kernel does TLS.
    no(
        Protocol::Redis,
        &[(Client, &[22, 3, 1, 0, 1, 1]), (Server, &[22, 3, 3, 0, 1, 2]), (Client, b"AUTH SECRET\r\n")],
    );
    no(Protocol::Memcached, &[(Client, redis), (Server, b"ERROR\r\n"), (Client, b"set u 0 0 8\r\na SECRET\r\n")]);
    no(Protocol::Memcached, &[(Client, b"au"), (Client, b"th SECRET\r\n")]);
    no(Protocol::Memcached, &[(Client, b"pass SECRET\r\n")]);
    no(Protocol::Memcached, &[(Client, b"set a 0 0 18446744073709551615\r\n"), (Client, b"user SECRET\r\n")]);
    let ssl_request = [0, 0, 0, 8, 4, 210, 22, 47];
    no(Protocol::Postgres, &[(Client, &ssl_request), (Server, b"S"), (Client, b"password SECRET")]);
    // Real TLS records are written.
    let tls: [(Sender, &[u8]); 3] = [(Client, &ssl_request), (Server, b"S"), (Client, &[22, 3, 1, 0, 2, 1, 2])];
    assert!(written(Protocol::Postgres, &tls).iter().all(Option::is_some));
}
