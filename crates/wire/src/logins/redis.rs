//! Redis' logins: `AUTH`, `HELLO … AUTH`, and the commands that set a password, also if a client sends them together
//! with other commands.
//!
//! # Source
//! Redis' "Serialization protocol specification", and `processInlineBuffer` and `processMultibulkBuffer` of its
//! `networking.c` (read 2026-11).

use super::follow::{Course, Follow, Sender, Unknown, hide};

/// First byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;
/// Length of the longest word that this file looks for; a longer word never matches.
const MOST_WORD: usize = 16;
/// Highest number of digits in a length or a number of words.
const MOST_DIGITS: usize = 12;

/// The part of a command to which the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Command,
    /// The number of words, after `*`.
    Count,
    /// The `$` before a word's length.
    Dollar,
    Length,
    Word,
    /// The carriage return after a word, and the line feed.
    Return,
    Newline,
    /// A command that is written in one line (inline command).
    Line,
}

pub(super) struct Redis {
    at: At,
    number: Number,
    /// Number of words of the command that are still to come, including the current one.
    n_words: u64,
    word_idx: u64,
    n_left: u64,
    name: Word,
    word: Word,
    /// The index of the first word to be hidden; all words after it are hidden, too.
    hides_from: Option<u64>,
    is_first_byte: bool,
    is_answered: bool,
    is_strict: bool,
    course: Course,
}

/// The first bytes of a word, in upper case.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bytes: [u8; MOST_WORD],
    n: usize,
}

impl Word {
    fn push(&mut self, byte: u8) {
        if self.n < MOST_WORD {
            self.bytes[self.n] = byte.to_ascii_uppercase();
        }
        self.n += 1;
    }

    fn is(&self, word: &[u8]) -> bool {
        self.n == word.len() && self.bytes.starts_with(word)
    }
}

/// A number while it is read, including its line end.
#[derive(Debug, Clone, Copy, Default)]
struct Number {
    value: u64,
    n_digits: usize,
    has_return: bool,
}

impl Number {
    /// Adds a byte to the number; returns the number if this byte ends it. A negative number is an error.
    fn push(&mut self, byte: u8) -> Result<Option<u64>, Unknown> {
        match byte {
            b'0'..=b'9' if !self.has_return && self.n_digits < MOST_DIGITS => {
                self.value = self.value * 10 + u64::from(byte - b'0');
                self.n_digits += 1;
                Ok(None)
            }
            b'\r' if !self.has_return && self.n_digits > 0 => {
                self.has_return = true;
                Ok(None)
            }
            b'\n' if self.has_return => Ok(Some(std::mem::take(self).value)),
            _ => Err(Unknown),
        }
    }
}

impl Redis {
    pub(super) fn new(is_from_its_start: bool) -> Self {
        Self {
            at: At::Command,
            number: Number::default(),
            n_words: 0,
            word_idx: 0,
            n_left: 0,
            name: Word::default(),
            word: Word::default(),
            hides_from: None,
            is_first_byte: is_from_its_start,
            is_answered: false,
            is_strict: !is_from_its_start,
            course: Course::Plain,
        }
    }

    fn client(&mut self, mut bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        while !bytes.is_empty() && self.course == Course::Plain {
            if self.at == At::Word {
                let n = bytes.len().min(usize::try_from(self.n_left).unwrap_or(usize::MAX));
                let (word, rest) = bytes.split_at_mut(n);
                self.word(word, n_hidden);
                bytes = rest;
                continue;
            }
            self.byte(&mut bytes[0], n_hidden)?;
            bytes = &mut bytes[1..];
        }
        Ok(())
    }

    fn byte(&mut self, byte: &mut u8, n_hidden: &mut u64) -> Result<(), Unknown> {
        match self.at {
            At::Command => {
                if self.is_first_byte && *byte == TLS_HANDSHAKE {
                    self.course = Course::Encrypted;
                    return Ok(());
                }
                self.is_first_byte = false;
                (self.name, self.word, self.word_idx, self.hides_from) = (Word::default(), Word::default(), 0, None);
                if *byte == b'*' {
                    self.at = At::Count;
                } else if self.is_strict {
                    return Err(Unknown);
                } else {
                    self.at = At::Line;
                    return self.line(byte, n_hidden);
                }
            }
            At::Count => {
                if let Some(n) = self.number.push(*byte)? {
                    self.n_words = n;
                    self.at = if n == 0 { At::Command } else { At::Dollar };
                }
            }
            At::Dollar if *byte == b'$' => self.at = At::Length,
            At::Length => {
                if let Some(n) = self.number.push(*byte)? {
                    (self.n_left, self.word) = (n, Word::default());
                    self.at = At::Word;
                    if n == 0 {
                        self.end_word();
                    }
                }
            }
            At::Word => {}
            At::Return if *byte == b'\r' => self.at = At::Newline,
            At::Newline if *byte == b'\n' => {
                self.n_words -= 1;
                self.word_idx += 1;
                self.at = if self.n_words == 0 { At::Command } else { At::Dollar };
            }
            At::Dollar | At::Return | At::Newline => return Err(Unknown),
            At::Line => return self.line(byte, n_hidden),
        }
        Ok(())
    }

    fn word(&mut self, word: &mut [u8], n_hidden: &mut u64) {
        for byte in word.iter().take((MOST_WORD + 1).saturating_sub(self.word.n)) {
            self.word.push(*byte);
        }
        self.n_left -= word.len() as u64;
        if self.hides_from.is_some_and(|it| self.word_idx >= it) {
            hide(word, n_hidden);
        }
        if self.n_left == 0 {
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        self.at = At::Return;
        let is = |it: &[u8]| self.name.is(it);
        match self.word_idx {
            0 => {
                self.name = self.word;
                if self.word.is(b"AUTH") {
                    self.hides_from = Some(1);
                }
            }
            1 if is(b"ACL") && self.word.is(b"SETUSER") || is(b"CONFIG") && self.word.is(b"SET") || is(b"SENTINEL") => {
                self.hides_from = Some(3);
            }
            idx if (is(b"HELLO") && self.word.is(b"AUTH"))
                || (is(b"MIGRATE") && (self.word.is(b"AUTH") || self.word.is(b"AUTH2"))) =>
            {
                self.hides_from = self.hides_from.or(Some(idx + 1));
            }
            _ => {}
        }
    }

    /// Processes a byte of an inline command: a word, and its arguments up to the end of the line.
    fn line(&mut self, byte: &mut u8, n_hidden: &mut u64) -> Result<(), Unknown> {
        match *byte {
            b'\n' => self.at = At::Command,
            // A carriage return within the line also separates words.
            b' ' | b'\t' | b'\r' if self.word_idx == 0 && self.word.n == 0 => {}
            b' ' | b'\t' | b'\r' if self.word_idx == 0 => {
                self.word_idx = 1;
                let names: [&[u8]; 6] = [b"AUTH", b"HELLO", b"ACL", b"CONFIG", b"SENTINEL", b"MIGRATE"];
                self.hides_from = names.iter().any(|it| self.word.is(it)).then_some(1);
            }
            b'\r' => {}
            _ if self.hides_from.is_some() => hide(std::slice::from_mut(byte), n_hidden),
            // A quoted name could be written in many ways, so a quoted name is not accepted.
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' if self.word_idx == 0 => self.word.push(*byte),
            _ if self.word_idx == 0 => return Err(Unknown),
            _ => {}
        }
        Ok(())
    }
}

impl Follow for Redis {
    fn feed(&mut self, sender: Sender, bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        match sender {
            Sender::Client => self.client(bytes, n_hidden),
            Sender::Server => {
                self.is_answered = true;
                self.is_strict = false;
                Ok(())
            }
        }
    }

    fn skip(&mut self, sender: Sender, n: u64) -> bool {
        if sender == Sender::Server {
            return true;
        }
        // The words that decide which bytes are hidden are short, so a longer word cannot be one of them.
        let is_within = self.at == At::Word && self.word.n > MOST_WORD && self.n_left > n && self.hides_from.is_none();
        if is_within {
            self.n_left -= n;
        }
        is_within
    }

    fn is_between(&self, sender: Sender) -> bool {
        match sender {
            Sender::Client => self.at == At::Command,
            Sender::Server => self.is_answered,
        }
    }

    fn course(&self) -> Course {
        self.course
    }
}
