//! Checks the results that are not records: their schemas, their words and their codes.

use std::fmt::Debug;

use looptax_model::record::{
    Checked, Doctor, Found, NoteCode, PointCode, Spelling, StreamEvent, StreamLine, Takes, Topic, WarningCode, Way,
    schema_of,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::samples_of_records::maximal;

#[test]
fn each_form_has_a_schema_of_draft_2020_12() {
    let schemas = [schema_of::<Found>(), schema_of::<Checked>(), schema_of::<Vec<Spelling>>(), schema_of::<Doctor>()];
    for schema in schemas {
        assert!(jsonschema::meta::is_valid(&schema));
    }
}

/// Checks that a word is saved as it is shown, and that reading it gives the same word.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(word: &T, shown: &str) {
    assert_eq!(serde_json::to_value(word).unwrap(), shown);
    assert_eq!(serde_json::from_value::<T>(json!(shown)).unwrap(), *word);
}

#[test]
fn lines_come_back_and_later_types_are_known_as_such() {
    let record = Box::new(maximal());
    let tax = Box::new(record.comparisons[0].tax[0].clone());
    let look = Box::new(record.looks[0].clone());
    let verdict = StreamEvent::Verdict { comparison: 0, title: "redis".to_owned(), tax };
    let schema = jsonschema::draft202012::new(&schema_of::<StreamLine>()).unwrap();
    for event in [verdict, StreamEvent::Look(look), StreamEvent::Result(record)] {
        let line = StreamLine::from(event);
        let text = serde_json::to_string(&line).unwrap();
        assert!(!text.contains('\n'));
        assert!(schema.is_valid(&serde_json::from_str(&text).unwrap()));
        assert_eq!(serde_json::from_str::<StreamLine>(&text).unwrap(), line);
    }
    let later: StreamLine = serde_json::from_value(json!({ "version": 1, "type": "later", "more": [] })).unwrap();
    assert_eq!(later.event, StreamEvent::Unknown);
    assert!(serde_json::to_string(&later).is_err(), "it is never printed");
}

#[test]
fn what_is_shown_is_what_is_saved() {
    use Takes::{Nothing, Probe, Tcp, TcpThenUnix, Unix as Socket};
    use Topic::{
        Account, Backlog, Configuration, Confinement, Hba, Login, Losses, Path, Plugin, SameServer, Server,
        Socket as Listens, Tls,
    };
    use Way::{Bridge, Loopback, Loopback6, OwnAddress, Unix};
    for way in [Unix, Loopback, Loopback6, OwnAddress, Bridge] {
        check(&way, &way.to_string());
    }
    for takes in [Socket, Tcp, Probe, TcpThenUnix, Nothing] {
        check(&takes, takes.words());
    }
    let topics = [
        Configuration,
        Server,
        Listens,
        Path,
        Confinement,
        SameServer,
        Account,
        Login,
        Tls,
        Plugin,
        Hba,
        Backlog,
        Losses,
    ];
    for topic in topics {
        check(&topic, topic.name());
    }
}

#[test]
fn codes_are_kebab_case_and_have_a_sentence() {
    fn check_codes<T: Serialize>(codes: &[(T, &str)]) {
        for (code, sentence) in codes {
            let code = serde_json::to_value(code).unwrap();
            let code = code.as_str().unwrap();
            let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(code.bytes().all(is_fine), "{code}");
            assert!(sentence.ends_with('.') && sentence.len() > 20, "{code}: {sentence}");
        }
    }
    check_codes(PointCode::ALL);
    check_codes(NoteCode::ALL);
    check_codes(WarningCode::ALL);
    assert_eq!(json!(PointCode::SocketNotVisible), "socket-not-visible");
    assert_eq!(json!(PointCode::AccountMissing), "account-missing");
}
