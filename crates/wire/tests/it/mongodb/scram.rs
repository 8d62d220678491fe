//! Tests of a login with an account, against a server that computes its side over a socket pair. A recording cannot be
//! used, because the client's nonce is random.
//!
//! The server's side follows RFC 5802, section 3. Its keys come from `postgres-protocol`, which the client's side does
//! not use.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use looptax_model::dsn::Secret;
use looptax_wire::mongodb::Connection;
use looptax_wire::{Login, WireError};
use sha2::{Digest, Sha256};

use super::{answer, binary, double, element, int, nobody, ok, text};

/// Time limit that is reached only if a test is broken: one side waits for a message that the other side never sends.
const HANG_GUARD: Duration = Duration::from_secs(20);

/// The faults of this server, and its differences from most servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The server ends the login with its signature.
    Short,
    /// The server sends one more message after its signature, as `FerretDB` does.
    Long,
    /// The server makes its signature without knowing the password.
    WrongSignature,
    /// The server ends the login without a signature.
    NoSignature,
    /// The server's nonce does not begin with the client's nonce.
    ForeignNonce,
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.chain_update(text).finalize().into_bytes().to_vec()
}

/// Returns the number and the document of the client's next message.
fn read_message(stream: &mut UnixStream) -> Option<(i32, Vec<u8>)> {
    let mut front = [0; 21];
    stream.read_exact(&mut front).ok()?;
    let field = |at: usize| i32::from_le_bytes(front[at..at + 4].try_into().expect("four"));
    let mut rest = vec![0; field(0) as usize - front.len()];
    stream.read_exact(&mut rest).ok()?;
    Some((field(4), rest))
}

/// Returns the payload in a command of the client.
fn payload(command: &[u8]) -> String {
    let name = b"\x05payload\0";
    let at = command.windows(name.len()).position(|it| it == name);
    let at = at.expect("a payload") + name.len();
    let n = u32::from_le_bytes(command[at..at + 4].try_into().expect("four")) as usize;
    String::from_utf8(command[at + 5..at + 5 + n].to_vec()).expect("text")
}

fn go_on(number: i32, is_done: bool, payload: &str) -> Vec<u8> {
    answer(
        number,
        &[
            int("conversationId", 1),
            element(0x08, "done", &[u8::from(is_done)]),
            binary("payload", payload.as_bytes()),
            ok(),
        ],
    )
}

/// Serves one login; returns `None` if the client closed the connection in the middle.
fn serve(mut stream: UnixStream, password: &str, way: Way) -> Option<()> {
    let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
    let parts: Vec<&str> = verifier.split(['$', ':']).collect();
    let [_, rounds, salt, stored_key, server_key] = parts[..] else {
        panic!("another form of verifier: {verifier}");
    };
    let decode = |text: &str| STANDARD.decode(text).expect("base64");
    let (number, hello) = read_message(&mut stream)?;
    let asks = |name: &[u8]| hello.windows(name.len()).any(|it| it == name);
    assert!(asks(b"admin.a=b,c\0"), "which mechanisms the account has");
    let greeting = answer(number, &[int("maxWireVersion", 21), ok()]);
    stream.write_all(&greeting).ok()?;

    let (number, start) = read_message(&mut stream)?;
    let first = payload(&start);
    let bare = first.strip_prefix("n,,").expect("no channel binding");
    let nonce = bare.strip_prefix("n=a=3Db=2Cc,r=").expect("the name, then a nonce");
    let nonce = match way {
        Way::ForeignNonce => "another+nonce".to_owned(),
        _ => format!("{nonce}+server"),
    };
    let challenge = format!("r={nonce},s={salt},i={rounds}");
    stream.write_all(&go_on(number, false, &challenge)).ok()?;

    let (number, last) = read_message(&mut stream)?;
    let last = payload(&last);
    let (without_proof, proof) = last.split_once(",p=").expect("a proof");
    let exchange = format!("{bare},{challenge},{without_proof}");
    let signature = hmac(&decode(stored_key), exchange.as_bytes());
    let proof = decode(proof);
    let key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
    if Sha256::digest(&key).as_slice() != decode(stored_key) {
        let refused = [double("ok", 0.0), text("errmsg", "Authentication failed."), int("code", 18)];
        return stream.write_all(&answer(number, &refused)).ok();
    }
    let key = match way {
        Way::WrongSignature => b"a guess".to_vec(),
        _ => decode(server_key),
    };
    let signature = match way {
        Way::NoSignature => String::new(),
        _ => format!("v={}", STANDARD.encode(hmac(&key, exchange.as_bytes()))),
    };
    stream.write_all(&go_on(number, way != Way::Long, &signature)).ok()?;
    if way == Way::Long {
        let (number, last) = read_message(&mut stream)?;
        assert_eq!(payload(&last), "");
        stream.write_all(&go_on(number, true, "")).ok()?;
    }
    let (number, _) = read_message(&mut stream)?;
    stream.write_all(&answer(number, &[text("version", "7.0.14"), ok()])).ok()?;
    let (number, _) = read_message(&mut stream)?;
    // FerretDB sends this over a socket.
    let peer = text("you", "invalid AddrPort");
    stream.write_all(&answer(number, &[peer, ok()])).ok()
}

/// Logs in with the password `given` to a server that knows the password `known`; `wanted` is a part of the expected
/// error.
#[track_caller]
fn check(known: &str, given: &str, way: Way, wanted: Result<(), &str>) {
    let (client, server) = UnixStream::pair().expect("a socket pair");
    for end in [&client, &server] {
        end.set_read_timeout(Some(HANG_GUARD)).expect("a time limit");
    }
    let login = Login {
        user: "a=b,c".to_owned(),
        password: Secret::new(given),
        accounts: Some("admin".to_owned()),
        ..nobody()
    };
    let outcome = thread::scope(|scope| {
        let serving = scope.spawn(|| serve(server, known, way));
        let outcome = Connection::login(client, &login, HANG_GUARD);
        let outcome = outcome.map(|it| it.server_version().to_owned());
        serving.join().expect("the server's checks hold");
        outcome
    });
    match (outcome, wanted) {
        (Ok(version), Ok(())) => assert_eq!(version, "7.0.14"),
        (Err(fault), Err(wanted)) => {
            assert!(!matches!(fault, WireError::Timeout { .. }), "{fault}");
            assert!(fault.to_string().contains(wanted), "{fault}");
        }
        (outcome, wanted) => panic!("{way:?}: {outcome:?}, but wanted {wanted:?}"),
    }
}

#[test]
fn both_sides_prove_that_they_know_the_password() {
    check("pässword", "pässword", Way::Short, Ok(()));
    check("open sesame", "open sesame", Way::Long, Ok(()));
    check("open sesame", "open barley", Way::Short, Err("(code 18)"));
    check("open sesame", "", Way::Long, Err("(code 18)"));
}

#[test]
fn a_server_that_cannot_prove_it_is_left() {
    let proof = "a signature that proves that the server knows the password";
    check("pw", "pw", Way::WrongSignature, Err(proof));
    check("pw", "pw", Way::NoSignature, Err(proof));
    check("pw", "pw", Way::ForeignNonce, Err("a SCRAM challenge for looptax's nonce"));
}
