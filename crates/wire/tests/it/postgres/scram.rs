//! Tests of SCRAM-SHA-256 against a server that computes its side, over a socket pair. A recording cannot be used,
//! because the client's nonce is random.
//!
//! The server's side follows RFC 5802, section 3. Its keys come from `postgres-protocol`'s function for `ALTER ROLE`,
//! which the client's side does not use.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use looptax_model::dsn::Secret;
use looptax_wire::postgres::Connection;
use looptax_wire::{Login, WireError};
use sha2::{Digest, Sha256};

use super::{authentication, error, session};

/// Time limit that is reached only if a test is broken: one side waits for a message that the other side never sends.
const HANG_GUARD: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// The server makes its signature without knowing the password.
    WrongSignature,
    /// The server accepts the login without a signature.
    NoSignature,
    /// The server's nonce does not begin with the client's nonce.
    ForeignNonce,
    /// The server asks for four thousand million rounds of hashing.
    EndlessHashing,
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// Returns the body of the next client message. For the start-up message, which has no tag, `tag` is `None`.
fn read_message(stream: &mut UnixStream, tag: Option<u8>) -> Option<Vec<u8>> {
    if let Some(tag) = tag {
        let mut found = [0];
        stream.read_exact(&mut found).ok()?;
        assert_eq!(found[0], tag);
    }
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Sends an authentication message; fails if the client has closed the connection because of the server's flaw.
fn send(stream: &mut UnixStream, kind: u32, text: &str) -> Option<()> {
    let message = authentication(kind, text.as_bytes());
    stream.write_all(&message).ok()
}

fn decode(text: &str) -> Vec<u8> {
    STANDARD.decode(text).expect("base64")
}

/// Checks whether `proof` was made with the key whose hash is `stored_key`.
fn is_proven(proof: &str, stored_key: &[u8], exchange: &str) -> bool {
    let signature = hmac(stored_key, exchange.as_bytes());
    let proof = decode(proof);
    let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
    Sha256::digest(&client_key).as_slice() == stored_key
}

/// Serves one login; returns `None` if the client closed the connection in the middle.
fn serve(mut stream: UnixStream, password: &str, flaw: Flaw) -> Option<()> {
    // `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`
    let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
    let parts: Vec<&str> = verifier.split(['$', ':']).collect();
    let [_, rounds, salt, stored_key, server_key] = parts[..] else {
        panic!("another form of verifier: {verifier}");
    };

    read_message(&mut stream, None)?;
    send(&mut stream, 10, "SCRAM-SHA-256\0\0")?;
    let initial = read_message(&mut stream, Some(b'p'))?;
    let initial = initial.strip_prefix(b"SCRAM-SHA-256\0").expect("the mechanism");
    let client_first = str::from_utf8(&initial[4..]).expect("text");
    let client_first = client_first.strip_prefix("n,,").expect("no channel binding");
    let client_nonce = client_first.strip_prefix("n=,r=").expect("a nonce");
    let nonce = match flaw {
        Flaw::ForeignNonce => "another+nonce".to_owned(),
        _ => format!("{client_nonce}+server"),
    };
    let rounds = match flaw {
        Flaw::EndlessHashing => "4294967295",
        _ => rounds,
    };
    let server_first = format!("r={nonce},s={salt},i={rounds}");
    send(&mut stream, 11, &server_first)?;

    let last = String::from_utf8(read_message(&mut stream, Some(b'p'))?).expect("text");
    let (without_proof, proof) = last.split_once(",p=").expect("a proof");
    assert_eq!(without_proof, format!("c=biws,r={nonce}"));
    let exchange = format!("{client_first},{server_first},{without_proof}");
    if !is_proven(proof, &decode(stored_key), &exchange) {
        let refusal = error("28P01", "password authentication failed");
        return stream.write_all(&refusal).ok();
    }
    let key = match flaw {
        Flaw::WrongSignature => b"a guess".to_vec(),
        _ => decode(server_key),
    };
    if flaw != Flaw::NoSignature {
        let signature = STANDARD.encode(hmac(&key, exchange.as_bytes()));
        send(&mut stream, 12, &format!("v={signature}"))?;
    }
    stream.write_all(&session()).ok()
}

/// Logs in with the password `given` to a server that knows the password `known`; `wanted` is a part of the expected
/// error.
#[track_caller]
fn check(known: &str, given: &str, flaw: Flaw, wanted: Result<(), &str>) {
    let (client, server) = UnixStream::pair().expect("a socket pair");
    for end in [&client, &server] {
        end.set_read_timeout(Some(HANG_GUARD)).expect("a time limit");
    }
    let login = Login { user: "ann".to_owned(), password: Secret::new(given), ..Login::default() };
    let outcome = thread::scope(|scope| {
        let serving = scope.spawn(|| serve(server, known, flaw));
        let outcome = Connection::login(client, &login, HANG_GUARD).map(|connection| connection.connection_id());
        serving.join().expect("the server's checks hold");
        outcome
    });
    match (outcome, wanted) {
        (Ok(pid), Ok(())) => assert_eq!(pid, 0x1234),
        (Err(fault), Err(wanted)) => {
            assert!(!matches!(fault, WireError::Timeout { .. }), "{fault}");
            assert!(fault.to_string().contains(wanted), "{fault}");
        }
        (outcome, wanted) => panic!("{flaw:?}: {outcome:?}, but wanted {wanted:?}"),
    }
}

#[test]
fn both_sides_prove_that_they_know_the_password() {
    check("open sesame", "open sesame", Flaw::None, Ok(()));
    check("pässword", "pässword", Flaw::None, Ok(()));
    check("open sesame", "open barley", Flaw::None, Err("(code 28P01)"));
    check("open sesame", "", Flaw::None, Err("(code 28P01)"));
}

#[test]
fn a_server_that_cannot_prove_it_is_left() {
    let proof = "a signature that proves that the server knows the password";
    check("pw", "pw", Flaw::WrongSignature, Err(proof));
    check("pw", "pw", Flaw::NoSignature, Err("the server's SCRAM signature"));
    check("pw", "pw", Flaw::ForeignNonce, Err("a SCRAM challenge for looptax's nonce"));
    check("pw", "pw", Flaw::EndlessHashing, Err("a SCRAM challenge for looptax's nonce"));
}
