//! Call chains in pprof's format.
//!
//! Source: `proto/profile.proto` of github.com/google/pprof.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Chain;
use super::message::Message;

/// The meaning of a sample's value, and its unit.
const VALUE: [&str; 2] = ["cpu_per_1000_requests", "nanoseconds"];

/// Fields of `Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
}

/// All texts, without duplicates; the first text is empty, as the format requires.
struct Strings<'a> {
    ids: HashMap<&'a str, u64>,
    all: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    fn id(&mut self, text: &'a str) -> u64 {
        *self.ids.entry(text).or_insert_with(|| {
            self.all.push(text);
            self.all.len() as u64 - 1
        })
    }
}

/// Returns a profile with a sample for each chain, labelled with its arm, server, workload and connections. The profile
/// is compressed with gzip, as pprof expects.
///
/// # Errors
/// None in practice: it writes only to memory.
pub fn pprof(chains: &[Chain]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&encoded(chains))?;
    encoder.finish()
}

fn encoded(chains: &[Chain]) -> Vec<u8> {
    let mut strings = Strings { ids: HashMap::from([("", 0)]), all: vec![""] };
    let [value, unit] = VALUE.map(|it| strings.id(it));
    let value_type = Message::default().number(1, value).number(2, unit);
    let mut whole = Message::default().message(profile::SAMPLE_TYPE, &value_type);
    // Each function has one location, which has the same number as the function.
    let mut functions: HashMap<&str, u64> = HashMap::new();
    for chain in chains {
        let frames = chain.folded.split(';').map(|name| {
            let next = functions.len() as u64 + 1;
            *functions.entry(name).or_insert(next)
        });
        let mut frames: Vec<u64> = frames.collect();
        frames.reverse();
        whole = whole.message(profile::SAMPLE, &sample(chain, &frames, &mut strings));
    }
    let mut functions: Vec<(&str, u64)> = functions.into_iter().collect();
    functions.sort_by_key(|(_, id)| *id);
    for (name, id) in functions {
        let line = Message::default().number(1, id);
        let location = Message::default().number(1, id).message(4, &line);
        let name = strings.id(name);
        let function = Message::default().number(1, id).number(2, name);
        whole = whole.message(profile::LOCATION, &location).message(profile::FUNCTION, &function.number(3, name));
    }
    for text in strings.all {
        whole = whole.text(profile::STRING_TABLE, text);
    }
    whole.into_bytes()
}

/// Makes a sample, whose innermost function is listed first.
fn sample<'a>(chain: &'a Chain, frames: &[u64], strings: &mut Strings<'a>) -> Message {
    let mut sample = Message::default().numbers(1, frames).numbers(2, &[chain.ns.round().max(0.0) as u64]);
    let words = [("arm", &chain.arm), ("target", &chain.target), ("workload", &chain.workload)];
    for (key, value) in words {
        let label = Message::default().number(1, strings.id(key));
        sample = sample.message(3, &label.number(2, strings.id(value)));
    }
    let connections = Message::default().number(1, strings.id("connections"));
    sample.message(3, &connections.number(3, u64::from(chain.connections)))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    /// Decodes the fields of a message: for each, its number and its value, which is a number or bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = varint(&mut bytes);
            let (inside, rest) = match key & 7 {
                2 => bytes.split_at(value as usize),
                _ => bytes.split_at(0),
            };
            found.push((key >> 3, value, inside.to_vec()));
            bytes = rest;
        }
        found
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn all_of(field: u64, of: &[(u64, u64, Vec<u8>)]) -> Vec<Vec<u8>> {
        let of_field = of.iter().filter(|it| it.0 == field);
        of_field.map(|it| it.2.clone()).collect()
    }

    fn packed(mut bytes: &[u8]) -> Vec<u64> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            found.push(varint(&mut bytes));
        }
        found
    }

    #[test]
    fn a_reader_finds_each_chain_with_its_time_and_its_arm() {
        let chain = |arm: &str, folded: &str, ns| Chain {
            target: "redis".to_owned(),
            workload: "get".to_owned(),
            connections: 16,
            arm: arm.to_owned(),
            folded: folded.to_owned(),
            ns,
        };
        let chains = [chain("unix", "server;main;read", 1_234.6), chain("tcp", "server;main;read;tcp_recvmsg", 300.0)];
        let mut bytes = Vec::new();
        let packed_profile = pprof(&chains).unwrap();
        GzDecoder::new(&packed_profile[..]).read_to_end(&mut bytes).unwrap();
        let whole = fields(&bytes);
        let strings: Vec<String> =
            { all_of(profile::STRING_TABLE, &whole).into_iter() }.map(|it| String::from_utf8(it).unwrap()).collect();
        assert_eq!(strings[0], "");
        let functions = all_of(profile::FUNCTION, &whole);
        let functions: HashMap<u64, &str> = { functions.iter() }
            .map(|it| {
                let of_function = fields(it);
                (of_function[0].1, strings[of_function[1].1 as usize].as_str())
            })
            .collect();
        assert_eq!(all_of(profile::LOCATION, &whole).len(), functions.len());
        let samples = all_of(profile::SAMPLE, &whole);
        for (sample, chain) in samples.iter().zip(&chains) {
            let of_sample = fields(sample);
            let mut frames: Vec<&str> = { packed(&of_sample[0].2).into_iter() }.map(|it| functions[&it]).collect();
            frames.reverse();
            assert_eq!(frames.join(";"), chain.folded);
            assert_eq!(packed(&of_sample[1].2), [chain.ns.round() as u64]);
            let labels: Vec<(String, u64)> = { all_of(3, &of_sample).into_iter() }
                .map(|it| {
                    let label = fields(&it);
                    (strings[label[0].1 as usize].clone(), label[1].1)
                })
                .collect();
            assert_eq!(strings[labels[0].1 as usize], chain.arm);
            assert_eq!(labels[3], ("connections".to_owned(), 16));
        }
        assert_eq!(samples.len(), 2);
    }
}
