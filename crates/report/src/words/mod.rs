//! The whole text about a record in its order: headings, finished cells, sentences, notes.
//!
//! All text and all shown digits are made in this folder, so that every view shows the same; a view only lays them out.
//! The strings contain nothing that could control a terminal; each view escapes what its own format requires.

pub(crate) mod answer;
mod arm_notes;
mod bill;
pub(crate) mod command;
mod counts;
pub(crate) mod disturbed;
pub(crate) mod fleet;
mod group;
pub(crate) mod hot;
mod look;
mod meetings;
mod own_client;
mod placement;
pub(crate) mod remedies;
pub(crate) mod reproduction;
pub(crate) mod row;
mod run;
pub(crate) mod sentence;
pub(crate) mod small_table;
pub(crate) mod storms;
pub(crate) mod sweep;
pub(crate) mod table;
mod tone;
pub(crate) mod trial;
mod trial_bill;
pub(crate) mod warnings;
pub(crate) mod why;
mod withheld;

use looptax_model::record::{Client, Comparison, Record};

use crate::format::Text;
use crate::heading;
use command::CommandTable;
use group::Group;
use hot::HotTable;
use remedies::RemediesStory;
pub(crate) use run::RunWords;
pub(crate) use sentence::why_withheld;
use small_table::SmallTable;
use sweep::Sweep;
use table::Table;
pub(crate) use tone::Tone;

/// The whole text about a record, in the order in which it is shown.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) servers: Vec<ServerStory>,
    /// The remedies, if the record has any.
    pub(crate) remedies: Vec<RemediesStory>,
    pub(crate) run: RunWords,
}

/// The part of the text under one heading: a server with a workload.
#[derive(Debug)]
pub(crate) struct ServerStory {
    pub(crate) heading: String,
    /// The note about arms that lead to separate processes.
    pub(crate) ways: Option<String>,
    pub(crate) groups: Vec<GroupStory>,
}

/// The part of the text about one client model.
#[derive(Debug)]
pub(crate) struct GroupStory {
    /// The indexes of the group's comparisons in the record, in the order of the sentences.
    pub(crate) comparisons: Vec<usize>,
    pub(crate) body: Body,
    /// For each comparison with several arms, how much each part of an arm adds.
    pub(crate) bills: Vec<SmallTable>,
    /// The layers of CPU time, if they were sampled; a page also draws them.
    pub(crate) layers: Vec<SmallTable>,
    /// The functions in which the server spends the most time, by number of connections, if they were sampled.
    pub(crate) hot: Vec<HotTable>,
    /// The data of a drawing along the number of connections.
    pub(crate) sweep: Option<Sweep>,
    /// One sentence per verdict, in the order of the comparisons.
    pub(crate) sentences: Vec<String>,
    /// The observations about an application, and their proof.
    pub(crate) facts: Vec<String>,
    /// The notes on the group: findings, stalls, warnings.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Body {
    Requests {
        client: String,
        table: Table,
        /// A sentence, if the placement matters more than the transport.
        placement: Option<String>,
    },
    /// Tables of whole commands, or of an application's pages.
    Commands(Vec<CommandStory>),
}

#[derive(Debug)]
pub(crate) struct CommandStory {
    pub(crate) lines: Vec<String>,
    pub(crate) tables: Vec<CommandTable>,
}

pub(crate) fn story_for(record: &Record, text: Text) -> Story {
    let mut servers: Vec<ServerStory> = Vec::new();
    let mut groups = group::group_comparisons(record).into_iter().peekable();
    while let Some(first) = groups.next() {
        let mut alike = vec![first];
        while let Some(next) = groups.next_if(|it| it.has_heading_of(&alike[0])) {
            alike.push(next);
        }
        servers.push(server(record, &alike, text));
    }
    Story { servers, remedies: remedies::remedies_stories(record, text), run: run::run_words(record, text) }
}

fn server(record: &Record, groups: &[Group], text: Text) -> ServerStory {
    let first = &groups[0];
    // The counts per request are shown if several client models are compared.
    let shows_counts = groups.iter().any(|it| it.client != first.client);
    ServerStory {
        heading: heading::heading_for(first.target, first.workload, text),
        ways: heading::own_processes(first.target, text).or_else(|| arm_notes::ways(first.comparisons.first()?, text)),
        groups: groups
            .iter()
            .map(|group| GroupStory {
                comparisons: indexes(record, group),
                body: body(group, text),
                bills: { group.comparisons.iter() }
                    .filter_map(|comparison| {
                        bill::bill_table(comparison, text).or_else(|| trial_bill::table(comparison, text))
                    })
                    .collect(),
                layers: { group.comparisons.iter() }.flat_map(|comparison| why::tables(comparison, text)).collect(),
                hot: hot::tables(group, text),
                sweep: sweep::sweep_for(group, text),
                sentences: sentence::verdict_sentences(group, text),
                facts: { group.comparisons.iter() }
                    .flat_map(|comparison| trial::sentences(comparison, text))
                    .chain(why::sentences(&group.comparisons, text))
                    .chain(meetings::sentences(group, text))
                    .chain(group.comparisons.first().and_then(|it| own_client::note(it)))
                    .collect(),
                notes: notes(group, shows_counts, text),
            })
            .collect(),
    }
}

fn indexes(record: &Record, group: &Group) -> Vec<usize> {
    let idx_of = |wanted: &&Comparison| {
        let mut all = record.comparisons.iter();
        all.position(|it| std::ptr::eq(it, *wanted))
    };
    group.comparisons.iter().filter_map(idx_of).collect()
}

fn body(group: &Group, text: Text) -> Body {
    if group.client == Client::Command {
        let stories = { group.comparisons.iter() }.filter_map(|comparison| program_story(comparison, text));
        return Body::Commands(stories.collect());
    }
    Body::Requests { client: group.client_heading(text), table: group.table(text), placement: placement::line(group) }
}

fn program_story(comparison: &Comparison, text: Text) -> Option<CommandStory> {
    if let Some(trial) = &comparison.trial {
        return Some(CommandStory { lines: trial::lines(trial, text), tables: trial::tables(comparison, text) });
    }
    let commands = comparison.commands.as_ref()?;
    Some(CommandStory { lines: command::lines(commands, text), tables: command::tables(comparison, text) })
}

fn notes(group: &Group, shows_counts: bool, text: Text) -> Vec<String> {
    let mut notes: Vec<String> = group.client_differs(text).into_iter().collect();
    if let Some(first) = group.comparisons.first() {
        notes.extend(arm_notes::notes(first, text));
    }
    for comparison in &group.comparisons {
        if shows_counts || comparison.client == Client::Block {
            notes.extend(counts::count_sentences(comparison, text));
        }
        notes.extend(command::what_is_shown(comparison).map(str::to_owned));
        notes.extend(command::seen(comparison, text));
        notes.extend(sentence::notes(comparison, text));
    }
    notes
}
