//! Combines the call chains into one tree, for the flame graph on the page.
//!
//! The chains come from a file and may be as long as the file allows, so nothing in this module is recursive.

use std::cmp::Reverse;
use std::collections::HashMap;

use looptax_model::record::{Comparison, Stacks};
use looptax_report::html::{ChainsShown, FrameShown};
use looptax_store::{StoreError, unpack_stacks};

/// The name of the root node, which stands for all processes together.
const ALL: &str = "all processes";

/// Returns the call chains of each pair of arms that was sampled.
pub(super) fn chains_shown(comparison: &Comparison) -> Vec<Result<ChainsShown, String>> {
    let found = comparison.why.iter().map(|why| tree(&why.stacks));
    found.map(|it| it.map_err(|error| error.to_string())).collect()
}

fn tree(stacks: &Stacks) -> Result<ChainsShown, StoreError> {
    let unpacked = unpack_stacks(stacks)?;
    let mut tree = Tree::new(stacks.left_out_ns);
    for stack in &unpacked {
        tree.add(&stack.folded, stack.ns);
    }
    Ok(tree.shown(stacks.requests))
}

struct Node {
    name: u32,
    own_ns: [u64; 2],
    /// CPU time of the frame and of everything that it calls, in nanoseconds, for both arms.
    ns: [u64; 2],
    called: Vec<usize>,
}

struct Tree<'a> {
    names: Vec<String>,
    name_idx: HashMap<&'a str, u32>,
    nodes: Vec<Node>,
    /// The index of a node, by the index of its caller's node and the index of its name.
    below: HashMap<(usize, u32), usize>,
}

impl<'a> Tree<'a> {
    /// Makes a tree with only its root. CPU time without a known chain is the root's own time.
    fn new(left_out_ns: [u64; 2]) -> Self {
        let mut tree = Self { names: Vec::new(), name_idx: HashMap::new(), nodes: Vec::new(), below: HashMap::new() };
        let name = tree.name(ALL);
        tree.nodes.push(Node { name, own_ns: left_out_ns, ns: left_out_ns, called: Vec::new() });
        tree
    }

    fn name(&mut self, name: &'a str) -> u32 {
        *self.name_idx.entry(name).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() as u32 - 1
        })
    }

    fn add(&mut self, folded: &'a str, ns: [u64; 2]) {
        let mut at = 0;
        self.nodes[at].ns = sum(self.nodes[at].ns, ns);
        for frame in folded.split(';') {
            let name = self.name(frame);
            at = self.called(at, name);
            self.nodes[at].ns = sum(self.nodes[at].ns, ns);
        }
        self.nodes[at].own_ns = sum(self.nodes[at].own_ns, ns);
    }

    fn called(&mut self, caller: usize, name: u32) -> usize {
        if let Some(known) = self.below.get(&(caller, name)) {
            return *known;
        }
        let new = self.nodes.len();
        self.nodes.push(Node { name, own_ns: [0; 2], ns: [0; 2], called: Vec::new() });
        self.nodes[caller].called.push(new);
        self.below.insert((caller, name), new);
        new
    }

    /// Returns the whole tree; frames with the same caller are sorted by cost per request, the highest first.
    fn shown(self, requests: [u64; 2]) -> ChainsShown {
        let dear = |node: &Node| {
            let [base, other] = [0, 1].map(|side| {
                // Multiplying each arm's time by the other arm's number of requests makes the two times comparable.
                u128::from(node.ns[side]) * u128::from(requests[1 - side].max(1))
            });
            base.saturating_add(other)
        };
        let mut frames = Vec::with_capacity(self.nodes.len());
        let mut open = vec![(0, 0)];
        while let Some((at, depth)) = open.pop() {
            let node = &self.nodes[at];
            frames.push(FrameShown { depth, name: node.name, ns: node.own_ns });
            let mut called: Vec<usize> = node.called.clone();
            called.sort_by_key(|it| {
                let node = &self.nodes[*it];
                (Reverse(dear(node)), &self.names[node.name as usize])
            });
            open.extend(called.into_iter().rev().map(|it| (it, depth + 1)));
        }
        ChainsShown { names: self.names, frames }
    }
}

fn sum(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [0, 1].map(|side| one[side].saturating_add(other[side]))
}

#[cfg(test)]
mod tests {
    use looptax_store::{Stack, pack_stacks};

    use super::*;

    fn tree_of(chains: &[(&str, [u64; 2])], requests: [u64; 2]) -> ChainsShown {
        let stacks = chains.iter().map(|(folded, ns)| Stack { folded: (*folded).to_owned(), ns: *ns });
        tree(&pack_stacks(stacks.collect(), requests)).unwrap()
    }

    fn lines(chains: &ChainsShown) -> Vec<(u32, &str, [u64; 2])> {
        let line = |it: &FrameShown| (it.depth, chains.names[it.name as usize].as_str(), it.ns);
        chains.frames.iter().map(line).collect()
    }

    #[test]
    fn chains_share_their_callers_and_keep_every_nanosecond() {
        let chains = [
            ("server;main;send;unix", [70, 0]),
            ("server;main;send;tcp", [0, 90]),
            ("server;main;send", [5, 6]),
            ("client;main", [1, 2]),
        ];
        let tree = tree_of(&chains, [1, 1]);
        assert_eq!(
            lines(&tree),
            [
                (0, ALL, [0, 0]),
                (1, "server", [0, 0]),
                (2, "main", [0, 0]),
                (3, "send", [5, 6]),
                (4, "tcp", [0, 90]),
                (4, "unix", [70, 0]),
                (1, "client", [0, 0]),
                (2, "main", [1, 2]),
            ]
        );
        let total = tree.frames.iter().fold([0; 2], |all, it| sum(all, it.ns));
        assert_eq!(total, [76, 98]);
        assert_eq!(tree.names.len(), 7, "each name once");
    }

    #[test]
    fn dear_is_what_costs_a_request_much_and_not_what_was_sampled_often() {
        // The baseline has served ten times as many requests.
        let chains = [("busy", [500, 0]), ("dear", [0, 100])];
        let tree = tree_of(&chains, [1_000, 100]);
        let names = lines(&tree).into_iter().map(|it| it.1);
        assert!(names.eq([ALL, "dear", "busy"]));
    }

    #[test]
    fn what_was_left_out_belongs_to_all_processes() {
        let mut stacks = pack_stacks(Vec::new(), [1, 1]);
        stacks.left_out_ns = [3, 4];
        assert_eq!(lines(&tree(&stacks).unwrap()), [(0, ALL, [3, 4])]);
    }

    #[test]
    fn a_chain_as_long_as_its_file_is_no_danger() {
        let long = vec!["f"; 1 << 20].join(";");
        let tree = tree_of(&[(&long, [1, 1])], [1, 1]);
        assert_eq!(tree.frames.last().map(|it| it.depth), Some(1 << 20));
    }
}
