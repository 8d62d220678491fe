//! Call chains in the form in which a record contains them: folded, sorted by CPU time (the largest first), and packed.

use std::cmp::Reverse;
use std::io::Read;

use base64::Engine;
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use looptax_model::record::Stacks;

use crate::StoreError;
use crate::samples::{BASE64, deflate};

/// Maximum number of bytes that the chains of a pair of arms may take before they are packed: enough for some twenty
/// thousand chains.
const CAP_BYTES: usize = 4 << 20;

/// A call chain with its CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The process and its frames, outermost first, separated by `;`.
    pub folded: String,
    /// The CPU time in nanoseconds: `[baseline, other]`.
    pub ns: [u64; 2],
}

/// Packs chains in the order of their CPU time, the largest first, until they reach the limit of bytes.
pub fn pack_stacks(mut stacks: Vec<Stack>, requests: [u64; 2]) -> Stacks {
    stacks.sort_by(|a, b| {
        let total = |it: &Stack| Reverse(it.ns[0] + it.ns[1]);
        total(a).cmp(&total(b)).then_with(|| a.folded.cmp(&b.folded))
    });
    let mut text = String::new();
    let mut left_out_ns = [0; 2];
    for stack in stacks {
        let line = format!("{} {} {}\n", stack.folded, stack.ns[0], stack.ns[1]);
        if text.len() + line.len() <= CAP_BYTES {
            text.push_str(&line);
        } else {
            left_out_ns = [0, 1].map(|side| left_out_ns[side] + stack.ns[side]);
        }
    }
    Stacks { packed: BASE64.encode(deflate(text.as_bytes(), Compression::default())), requests, left_out_ns }
}

/// Returns the call chains of a record.
///
/// # Errors
/// [`StoreError::BrokenStacks`] if the chains are not in the form that [`pack_stacks`] makes.
pub fn unpack_stacks(stacks: &Stacks) -> Result<Vec<Stack>, StoreError> {
    read(stacks).ok_or(StoreError::BrokenStacks)
}

fn read(stacks: &Stacks) -> Option<Vec<Stack>> {
    let zlib = BASE64.decode(&stacks.packed).ok()?;
    let mut text = String::new();
    // The unpacked data of a record may be larger than looptax allows, so no more than the limit is read.
    let most = CAP_BYTES as u64 + 1;
    ZlibDecoder::new(&*zlib).take(most).read_to_string(&mut text).ok()?;
    if text.len() > CAP_BYTES {
        return None;
    }
    let line = |line: &str| {
        let (rest, other) = line.rsplit_once(' ')?;
        let (folded, baseline) = rest.rsplit_once(' ')?;
        Some(Stack { folded: folded.to_owned(), ns: [baseline.parse().ok()?, other.parse().ok()?] })
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(folded: &str, ns: [u64; 2]) -> Stack {
        Stack { folded: folded.to_owned(), ns }
    }

    #[test]
    fn what_was_packed_comes_back_dearest_first() {
        let cheap = stack("client;main;std::operator ()", [7, 0]);
        let dear = stack("server;[mariadbd];tcp_sendmsg", [0, 90]);
        let packed = pack_stacks(vec![cheap.clone(), dear.clone()], [3, 4]);
        assert_eq!((packed.requests, packed.left_out_ns), ([3, 4], [0, 0]));
        assert_eq!(unpack_stacks(&packed).unwrap(), [dear, cheap]);
        assert_eq!(unpack_stacks(&pack_stacks(Vec::new(), [0, 0])).unwrap(), []);
    }

    #[test]
    fn what_finds_no_room_is_the_rarest_and_is_counted() {
        let long = "f".repeat(1 << 20);
        let stacks = (0..6).map(|idx| stack(&format!("{idx}{long}"), [idx, 1]));
        let packed = pack_stacks(stacks.collect(), [1, 1]);
        assert_eq!(packed.left_out_ns, [1 + 2, 3]);
        assert_eq!(unpack_stacks(&packed).unwrap().len(), 3);
    }

    #[test]
    fn what_was_not_packed_here_is_an_error() {
        let broken = |packed: String| Stacks { packed, ..Stacks::default() };
        let line = |text: &str| broken(BASE64.encode(deflate(text.as_bytes(), Compression::default())));
        for stacks in [
            broken("?".to_owned()),
            line("no figures\n"),
            line("a 1\n"),
            line(&format!("{} 1 2\n", "x".repeat(CAP_BYTES))),
        ] {
            assert!(unpack_stacks(&stacks).is_err());
        }
    }
}
