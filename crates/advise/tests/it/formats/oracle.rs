//! Files with unusual words. The programming language of each file reads it before and after the edit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use looptax_advise::Fields;
use looptax_advise::app::rewritten;
use looptax_model::dsn::Address;
use looptax_testkit::skips::skip;

use super::shapes::{Oracle, SHAPES, Shape, URL};
use super::words::Words;
use crate::apps::reading;
use looptax_testkit::dice::Dice;

const FILES: usize = 60;
type Settings = BTreeMap<String, String>;

/// The settings that the language's program finds in each file; `None` if the program is not installed.
fn asked(oracle: &Oracle, files: &[std::path::PathBuf]) -> Option<Vec<Settings>> {
    let output = Command::new(oracle.program).args(oracle.before).arg(oracle.script).args(files).output();
    let Ok(output) = output else {
        skip(&format!("{} is not installed", oracle.program));
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", oracle.program);
    let mut all = vec![Settings::new()];
    for line in text.lines() {
        if line == "--" {
            all.push(Settings::new());
        } else if let Some((name, value)) = line.split_once('\t') {
            let last = all.last_mut().unwrap();
            last.insert(name.to_owned(), value.to_owned());
        }
    }
    all.pop();
    assert_eq!(all.len(), files.len(), "{}: {words}", oracle.program);
    Some(all)
}

/// Compares the settings with the wanted settings, and returns the difference. A URL has to lead to the same server.
fn differs(found: &Settings, wanted: &[(&str, String)], words: &Words, is_moved: bool) -> Option<String> {
    for (name, value) in wanted {
        let Some(found) = found.get(*name) else {
            return Some(format!("{name} is not there"));
        };
        if value != URL {
            if found != value {
                return Some(format!("{name} is {found:?} and not {value:?}"));
            }
            continue;
        }
        let url = found.replace("%%", "%");
        let Ok(address) = Address::parse(&url) else {
            return Some(format!("{name} is not a URL: {found}"));
        };
        let password = address.password.as_ref().map(|it| it.reveal().to_owned());
        let whom = (address.user.as_deref(), password.as_deref(), address.database.as_deref());
        let meant = (Some(&*words.user), Some(&*words.password), Some(&*words.database));
        let socket = address.socket.as_deref();
        if whom != meant || socket != is_moved.then_some(Path::new(words.socket)) {
            return Some(format!("{name} leads elsewhere: {found}"));
        }
    }
    let others = found.keys().filter(|it| wanted.iter().all(|wanted| wanted.0 != **it));
    let others: Vec<&String> = others.collect();
    (!others.is_empty()).then(|| format!("there is also {others:?}"))
}

#[test]
fn what_is_written_is_what_the_language_itself_reads() {
    let mut wrong = Vec::new();
    for shape in SHAPES {
        check(shape, &mut wrong);
    }
    let shown: Vec<String> = wrong.iter().take(25).cloned().collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), shown.join("\n----\n"));
}

fn check(shape: &Shape, wrong: &mut Vec<String>) {
    let mut dice = Dice::new(2226);
    let folder = tempfile::tempdir().unwrap();
    let name = shape.path.rsplit('/').next().unwrap();
    let mut drawn = Vec::new();
    let mut files = Vec::new();
    for idx in 0..FILES {
        let words = Words::draw(&mut dice);
        let text = (shape.write)(&mut dice, &words);
        let own = folder.path().join(idx.to_string());
        fs::create_dir(&own).unwrap();
        fs::write(own.join(name), &text).unwrap();
        files.push(own.join(name));
        drawn.push((words, text));
    }
    let Some(before) = asked(shape.oracle, &files) else {
        return;
    };
    let mut moved = Vec::new();
    for ((words, text), found) in drawn.iter().zip(&before) {
        let differs = differs(found, &(shape.holds)(words, false), words, false);
        assert_eq!(differs, None, "{}: the test's own file\n{text}", shape.name);
        match edited(shape, words, text) {
            Ok(new) => moved.push(new),
            Err(why) => {
                wrong.push(format!("{}: {why}\n{text}", shape.name));
                moved.push(text.clone());
            }
        }
    }
    for (file, new) in files.iter().zip(&moved) {
        fs::write(file, new).unwrap();
    }
    let after = asked(shape.oracle, &files).unwrap_or_default();
    for (((words, text), new), found) in drawn.iter().zip(&moved).zip(&after) {
        if new == text {
            continue;
        }
        if let Some(why) = differs(found, &(shape.holds)(words, true), words, true) {
            wrong.push(format!("{}: {why}\n{text}becomes\n{new}", shape.name));
        }
    }
}

/// Checks that looptax read the file correctly, and returns the text that it would write.
fn edited(shape: &Shape, words: &Words, text: &str) -> Result<String, String> {
    let reading = reading(shape.path, text.as_bytes());
    let [found] = &reading.found[..] else {
        return Err(format!("{} connections: {:?}", reading.found.len(), reading.found));
    };
    let address = found.address.as_ref().ok_or("no address")?;
    let password = address.password.as_ref().map(|it| it.reveal().to_owned());
    let whom = (address.user.as_deref(), password.as_deref(), address.database.as_deref());
    let meant = (Some(&*words.user), Some(&*words.password), Some(&*words.database));
    let is_place_holder = |word: &String| word.contains("${") || word.contains("<%");
    if whom != meant && [&words.user, &words.password].into_iter().any(is_place_holder) {
        // The word looks like a placeholder, so something else may be in its place when the program reads the file.
        return Ok(text.to_owned());
    }
    if whom != meant {
        return Err(format!("read as {whom:?} and not {meant:?}"));
    }
    let folder = Path::new(words.socket).parent().unwrap();
    let fields = Fields {
        page: None,
        user: address.user.clone(),
        password,
        database: address.database.clone(),
        socket: words.socket.to_owned(),
        folder: folder.display().to_string(),
        port: address.port,
        options: None,
    };
    let rewrites = found.rewrites(&fields, text).into_iter().next().flatten();
    let rewrites = rewrites.ok_or("it is not to be written")?;
    rewritten(text, &rewrites).ok_or_else(|| "its parts are in each other's way".to_owned())
}
