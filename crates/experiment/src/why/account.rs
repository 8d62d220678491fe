//! Converts the samples of a comparison to the record's form: the CPU time of each layer in each epoch, and the call
//! chains of all epochs.

use std::collections::HashMap;

use crate::observer::Doer;
use looptax_model::record::{CountedEpoch, Epoch, SampledEpoch, Sampling, Slice, Why};
use looptax_model::stats::Side;
use looptax_store::{Stack, pack_stacks};

use crate::why::counts::Counts;
use crate::why::ends::Ends;
use crate::why::layers::{Layers, Seen as Frame};
use crate::why::nameless::{Nameless, RunAs};
use crate::why::names::{process_name, shown_name};
use crate::why::sampler::Sampler;
use crate::why::symbols::{Function, Symbols, module_name};
use crate::why::tally::{Seen, Tally};
use crate::why::turns::MEAN_PERIOD_NS;

/// A count that each slice has: its name in the record, and the function that returns it.
type Counter = (&'static str, fn(&Slice) -> Option<u64>);

/// Sources: the client threads' own counts and getrusage(2) for the client; `/proc/PID/status` for the server.
const COUNTERS: [Counter; 5] = [
    ("client sends", |it| Some(it.sends)),
    ("client receives", |it| Some(it.receives)),
    ("client polls", |it| Some(it.waits)),
    ("client sleeps", |it| it.client_voluntary_switches),
    ("server switches", |it| it.server_switches),
];

/// A comparison's call chains with names and layers.
pub(crate) struct Account {
    layer_names: Vec<String>,
    layers: Vec<usize>,
    folded: Vec<String>,
    ends: Ends,
    sampling: Sampling,
}

impl Account {
    /// Finds the name of every frame once, and assigns every chain to a layer.
    pub(crate) fn new(
        sampler: &Sampler,
        tally: &Tally,
        n_lost: u64,
        (is_uncounted, run_as): (Option<&String>, &RunAs),
    ) -> Self {
        let mut symbols = Symbols::new();
        let table = Layers::builtin();
        let mut layers = Vec::with_capacity(tally.chains.len());
        let mut texts = Vec::with_capacity(tally.chains.len());
        let mut ends = Ends::default();
        let mut nameless = Nameless::default();
        let own_ns = tally.ns_by_chain();
        for (chain, ns) in tally.chains.iter().zip(own_ns) {
            let ids = chain.frames.iter();
            let ids: Vec<_> = ids.map(|it| symbols.resolve(sampler.places(), *it)).collect();
            let functions: Vec<&Function> = ids.iter().map(|it| symbols.function(*it)).collect();
            layers.push(layer_of(&table, chain.doer, &functions));
            texts.push(folded(chain.doer, &functions));
            ends.add(chain.doer, functions.first().copied());
            nameless.add(&functions, ns);
        }
        Self {
            layers,
            folded: texts,
            ends,
            layer_names: table.names().to_vec(),
            sampling: Sampling {
                event: Sampler::event().to_owned(),
                period_ns: MEAN_PERIOD_NS,
                cores: sampler.n_cores() as u32,
                sees_kernel: sampler.sees_kernel(),
                n_samples: tally.n_samples,
                n_of_others: tally.n_of_others,
                n_lost,
                notes: notes(sampler, &symbols, &nameless, run_as).into_iter().chain(is_uncounted.cloned()).collect(),
            },
        }
    }

    /// Returns the part of the record about one contrast.
    pub(crate) fn why(&self, pair: [u32; 2], seen: &[Seen], counted: &[CountedEpoch]) -> Why {
        let mut by_chain: HashMap<u32, [u64; 2]> = HashMap::new();
        let mut epochs = Vec::new();
        let whole = seen.iter().filter(|it| it.raw.is_some());
        let [processes, functions] = self.ends.parts(whole.map(|it| &it.weights));
        for seen in seen {
            let Some(raw) = &seen.raw else { continue };
            let mut layer_ns = [0, 1].map(|_| vec![0; self.layer_names.len()]);
            for (chain, ns) in &seen.weights {
                let total = by_chain.entry(*chain).or_default();
                for side in 0..2 {
                    layer_ns[side][self.layers[*chain as usize]] += ns[side];
                    total[side] += ns[side];
                }
            }
            epochs.push(SampledEpoch { raw: raw.clone(), layer_ns, counts: counts(raw) });
        }
        let requests = Side::BOTH.map(|side| {
            let slices = epochs.iter().flat_map(|it| it.raw.slices_of(side));
            slices.map(|it| it.requests).sum()
        });
        Why {
            epochs,
            counters: COUNTERS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            counters_of_warm_up: match counted {
                [] => Vec::new(),
                _ => Counts::names(),
            },
            counted: counted.to_vec(),
            processes,
            functions,
            stacks: pack_stacks(self.stacks(by_chain), requests),
            ..Why::unmeasured(pair, self.sampling.clone(), self.layer_names.clone())
        }
    }

    /// Adds up the chains that have the same function names.
    fn stacks(&self, by_chain: HashMap<u32, [u64; 2]>) -> Vec<Stack> {
        let mut by_name: HashMap<&str, [u64; 2]> = HashMap::new();
        for (chain, ns) in by_chain {
            let total = by_name.entry(&self.folded[chain as usize]).or_default();
            *total = [total[0] + ns[0], total[1] + ns[1]];
        }
        let stack = |(folded, ns): (&str, [u64; 2])| Stack { folded: folded.to_owned(), ns };
        by_name.into_iter().map(stack).collect()
    }
}

fn counts(raw: &Epoch) -> [Vec<u64>; 2] {
    Side::BOTH.map(|side| {
        let total = |(_, count): &Counter| raw.slices_of(side).filter_map(count).sum();
        COUNTERS.iter().map(total).collect()
    })
}

/// Returns notes for the user about the parts that were not visible.
fn notes(sampler: &Sampler, symbols: &Symbols, nameless: &Nameless, run_as: &RunAs) -> Vec<String> {
    let own = sampler.notes().iter().cloned();
    let hidden = symbols.note().map(str::to_owned);
    let stripped = symbols.stripped().iter().map(|it| module_name(it));
    let stripped: Vec<String> = stripped.collect();
    own.chain(hidden).chain(nameless.note(&stripped, run_as)).collect()
}

fn layer_of(table: &Layers, doer: Doer, functions: &[&Function]) -> usize {
    let frames: Vec<Frame<'_>> = { functions.iter() }
        .map(|it| Frame { name: it.name.as_deref().unwrap_or_default(), module: &it.module, is_kernel: it.is_kernel })
        .collect();
    table.layer_of(doer, &frames)
}

/// Joins the functions, the outermost first, in the format that tools for flame graphs read.
fn folded(doer: Doer, functions: &[&Function]) -> String {
    let words = functions.iter().rev().map(|it| shown_name(it));
    let mut words: Vec<String> = words.map(|it| it.replace([';', '\n'], ":")).collect();
    // Frames without names look the same, so a series of them is shown as one.
    words.dedup_by(|a, b| a == b && a.starts_with('['));
    std::iter::once(process_name(doer).to_owned()).chain(words).collect::<Vec<_>>().join(";")
}
