//! Tests of sending rows into a table, also to servers that do not follow the protocol.

use looptax_testkit::replay::{End, Replay};
use looptax_wire::WireError;
use looptax_wire::postgres::{Clear, Connection};

use super::{LIMIT, authentication, complete, connect, error, login, message, notices, ready, row, session};

const SQL: &str = "COPY t FROM STDIN";

/// Makes a `CopyInResponse` for one column in text.
fn takes_rows() -> Vec<u8> {
    message(b'G', b"\0\0\x01\0\0")
}

fn copied(answers: &[Vec<u8>]) -> Result<u64, WireError> {
    connect(&answers.concat()).copy_in(SQL, b"1\tx\n2\ty\n")
}

#[test]
fn rows_go_in_pieces_and_are_counted_by_the_command_s_tag() {
    let answers = [notices(), takes_rows(), notices(), complete("COPY 2"), ready()];
    let rows = "x".repeat(150_000).into_bytes();
    let mut connection = connect(&answers.concat());
    assert_eq!(connection.copy_in(SQL, &rows).unwrap(), 2);
    let stream = connection.into_stream();
    let sent = stream.sent();
    let at = sent.windows(SQL.len()).position(|it| it == SQL.as_bytes()).unwrap();
    let mut rest = &sent[at + SQL.len() + 1..];
    let mut pieces = Vec::new();
    while let [tag, a, b, c, d, more @ ..] = rest {
        let n_bytes = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        pieces.push((*tag, n_bytes));
        rest = &more[n_bytes..];
    }
    assert_eq!(pieces, [(b'd', 65_536), (b'd', 65_536), (b'd', 18_928), (b'c', 0)]);
    assert!(stream.unread().is_empty());
}

#[test]
fn a_refusal_leaves_the_session_usable() {
    let refused = error("42P01", "relation \"t\" does not exist");
    let row_refused = error("22P02", "invalid input syntax");
    let then = [complete("SELECT 1"), ready()].concat();
    for answers in [[refused, ready()].concat(), [takes_rows(), row_refused, ready()].concat()] {
        let mut connection = connect(&[answers, then.clone()].concat());
        let found = connection.copy_in(SQL, b"1\n");
        assert!(matches!(found, Err(WireError::Server { .. })), "{found:?}");
        assert_eq!(connection.execute("SELECT 1").unwrap(), 1);
    }
    // The server's fatal error is reported, not the end of the stream that follows it.
    let found = copied(&[error("57P01", "terminating connection")]);
    assert!(matches!(found, Err(WireError::Server { .. })), "{found:?}");
}

#[test]
fn other_answers_are_refused() {
    for answers in [
        vec![ready()],
        vec![complete("COPY 2"), ready()],
        vec![message(b'H', b"\0\0\x01\0\0")],
        vec![row(&[Some("1")])],
        vec![takes_rows(), ready()],
        vec![takes_rows(), complete("COPY"), ready()],
        vec![takes_rows(), complete("INSERT 0 2"), ready()],
        vec![takes_rows(), row(&[Some("1")]), ready()],
        vec![takes_rows(), takes_rows(), ready()],
        vec![takes_rows(), vec![b'C', 0xff, 0xff, 0xff, 0xff]],
        vec![vec![b'G', 0, 0, 0, 3]],
        vec![b"HTTP/1.1 400 Bad Request".to_vec()],
    ] {
        let found = copied(&answers);
        let is_refused = matches!(found, Err(WireError::Malformed { .. } | WireError::TooLong { .. }));
        assert!(is_refused, "{answers:?} gave {found:?}");
    }
    let long = [&b"SNOTICE\0M"[..], &vec![b'x'; 1 << 20], b"\0\0"].concat();
    let endless = [takes_rows(), message(b'N', &long).repeat(70)];
    assert!(matches!(copied(&endless), Err(WireError::TooLong { .. })));
}

#[test]
fn a_recording_cut_at_any_byte_is_closed() {
    let answers = [takes_rows(), complete("COPY 2"), ready()].concat();
    for end in 0..answers.len() {
        let found = copied(&[answers[..end].to_vec()]);
        assert!(matches!(found, Err(WireError::Closed { .. })), "{end}: {found:?}");
    }
}

#[test]
fn a_password_that_others_could_read_is_not_given() {
    for request in [authentication(3, b""), authentication(5, b"salt")] {
        let answers = [request, session()].concat();
        let peer = |clear| {
            let stream = Replay::new(answers.clone(), End::Closed);
            Connection::login_over(stream, &login("ann", "secret"), clear, LIMIT)
        };
        assert!(peer(Clear::MayGo).is_ok());
        let refused = peer(Clear::NeverGoes);
        assert!(matches!(refused, Err(WireError::Unsupported { .. })));
    }
    let trusted = Replay::new(session(), End::Closed);
    assert!(Connection::login_over(trusted, &login("ann", ""), Clear::NeverGoes, LIMIT).is_ok());
}
