//! The innermost functions of call chains, each with its time in each epoch. This is the time in the function itself,
//! without the functions that it calls.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::observer::Doer;
use looptax_model::record::SampledPart;

use crate::why::names::{process_name, shown_name};
use crate::why::places::Interner;
use crate::why::symbols::Function;
use crate::why::tally::Weights;

/// Maximum number of functions that a record keeps for each pair of arms.
const MOST_FUNCTIONS: usize = 40;

/// A function of a process, or the whole process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct End {
    process: &'static str,
    /// `None` for the whole process.
    function: Option<String>,
    is_kernel: bool,
}

#[derive(Default)]
pub(crate) struct Ends {
    all: Interner<End>,
    /// For each chain, the indexes of its process and its innermost function.
    of_chain: Vec<[u32; 2]>,
}

impl Ends {
    /// Adds the next chain; `innermost` is `None` if its innermost frame is unknown.
    pub(crate) fn add(&mut self, doer: Doer, innermost: Option<&Function>) {
        let whole = End { process: process_name(doer), function: None, is_kernel: false };
        let function = End {
            function: Some(innermost.map_or_else(|| "[unknown]".to_owned(), shown_name)),
            is_kernel: innermost.is_some_and(|it| it.is_kernel),
            ..whole.clone()
        };
        let ids = [whole, function].map(|end| self.all.intern(end));
        self.of_chain.push(ids);
    }

    /// Returns all processes, and the functions that took the most time over both arms together. Each process and each
    /// function has one time for each of `epochs`.
    pub(crate) fn parts<'a>(&self, epochs: impl Iterator<Item = &'a Weights> + Clone) -> [Vec<SampledPart>; 2] {
        let n_epochs = epochs.clone().count();
        let mut by_end: HashMap<u32, Vec<[u64; 2]>> = HashMap::new();
        for (epoch_idx, weights) in epochs.enumerate() {
            for (chain, ns) in weights {
                for end in self.of_chain[*chain as usize] {
                    let of_end = by_end.entry(end).or_insert_with(|| vec![[0; 2]; n_epochs]);
                    for (total, ns) in of_end[epoch_idx].iter_mut().zip(ns) {
                        *total += ns;
                    }
                }
            }
        }
        let part = |(id, ns): (u32, Vec<[u64; 2]>)| {
            let end = self.all.value(id);
            SampledPart {
                process: end.process.to_owned(),
                function: end.function.clone(),
                is_kernel: end.is_kernel,
                ns,
                row: None,
            }
        };
        let mut parts: Vec<SampledPart> = by_end.into_iter().map(part).collect();
        // Parts with the same time are sorted by name: the order in a map changes from run to run.
        parts.sort_by_cached_key(|it| {
            let ns: u64 = it.ns.iter().flatten().sum();
            (Reverse(ns), it.process.clone(), it.function.clone())
        });
        let (processes, mut functions): (Vec<_>, Vec<_>) = parts.into_iter().partition(|it| it.function.is_none());
        functions.truncate(MOST_FUNCTIONS);
        [processes, functions]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, is_kernel: bool) -> Function {
        Function { name: Some(name.to_owned()), module: "mariadbd".to_owned(), is_kernel }
    }

    #[test]
    fn each_function_has_its_own_time_by_epoch_and_processes_have_all_of_it() {
        let mut ends = Ends::default();
        // The first two chains end in the same function; the third ends in the kernel's function of the same name.
        ends.add(Doer::Server, Some(&function("memcpy", false)));
        ends.add(Doer::Server, Some(&function("memcpy", false)));
        ends.add(Doer::Server, Some(&function("memcpy", true)));
        ends.add(Doer::Client, None);
        let epochs = [
            Weights::from([(0, [5, 1]), (1, [20, 0]), (3, [0, 2])]),
            Weights::new(),
            Weights::from([(0, [7, 7]), (2, [1, 1])]),
        ];
        let [processes, functions] = ends.parts(epochs.iter());
        let shown = |parts: &[SampledPart]| -> Vec<(String, bool, Vec<[u64; 2]>)> {
            let name = |it: &SampledPart| it.function.clone().unwrap_or_else(|| it.process.clone());
            let parts = parts.iter();
            parts.map(|it| (name(it), it.is_kernel, it.ns.clone())).collect()
        };
        assert_eq!(
            shown(&processes),
            [
                ("server".to_owned(), false, vec![[25, 1], [0, 0], [8, 8]]),
                ("client".to_owned(), false, vec![[0, 2], [0, 0], [0, 0]]),
            ]
        );
        assert_eq!(
            shown(&functions),
            [
                ("memcpy".to_owned(), false, vec![[25, 1], [0, 0], [7, 7]]),
                ("[unknown]".to_owned(), false, vec![[0, 2], [0, 0], [0, 0]]),
                ("memcpy".to_owned(), true, vec![[0, 0], [0, 0], [1, 1]]),
            ]
        );
    }

    #[test]
    fn the_dearest_functions_are_kept() {
        let mut ends = Ends::default();
        let mut weights = Weights::new();
        for idx in 0..100 {
            ends.add(Doer::Server, Some(&function(&format!("f{idx}"), false)));
            weights.insert(idx, [u64::from(idx), 1]);
        }
        let [processes, functions] = ends.parts([weights].iter());
        assert_eq!(processes[0].ns, [[4_950, 100]]);
        assert_eq!(functions.len(), MOST_FUNCTIONS);
        assert_eq!(functions[0].function.as_deref(), Some("f99"));
        assert_eq!(functions[39].function.as_deref(), Some("f60"));
    }
}
