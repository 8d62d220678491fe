//! The records of the kernel that the sampler uses, each with its time.

use perf_event::data::parse::{ParseConfig, Parser};
use perf_event::data::{
    Comm, Exit, Lost, LostSamples, Mmap2, RecordMetadata, Sample, Throttle, Visitor, endian::Native,
};

/// `PERF_RECORD_MISC_COMM_EXEC` of `linux/perf_event.h`: the name changed because the process executed another program.
const COMM_EXEC: u16 = 1 << 13;

pub(crate) enum What<'a> {
    Sample(Box<Sample<'a>>),
    Map(Mmap2<'a>),
    Fork { parent: u32, child: u32 },
    Exec { pid: u32 },
    Exit { pid: u32 },
    Lost(u64),
    Throttled,
    Other,
}

/// A record and its time on `CLOCK_MONOTONIC`; the time is zero for records that have no order in time.
pub(crate) struct Event<'a> {
    pub(crate) time_ns: u64,
    pub(crate) what: What<'a>,
}

/// Parses a record with its header. A record that the library cannot parse is skipped.
pub(crate) fn parse<'a>(bytes: &'a [u8], config: &ParseConfig<Native>) -> Event<'a> {
    let parsed = Parser::new(bytes, config.clone()).parse_record(Reader);
    parsed.unwrap_or(Event { time_ns: 0, what: What::Other })
}

struct Reader;

impl<'a> Visitor<'a> for Reader {
    type Output = Event<'a>;

    fn visit_unimplemented(self, metadata: RecordMetadata) -> Event<'a> {
        with_time(What::Other, &metadata)
    }

    fn visit_sample(self, record: Sample<'a>, _: RecordMetadata) -> Event<'a> {
        Event { time_ns: record.time().unwrap_or(0), what: What::Sample(Box::new(record)) }
    }

    fn visit_mmap2(self, record: Mmap2<'a>, metadata: RecordMetadata) -> Event<'a> {
        with_time(What::Map(record), &metadata)
    }

    fn visit_comm(self, record: Comm<'a>, metadata: RecordMetadata) -> Event<'a> {
        let is_exec = metadata.misc() & COMM_EXEC != 0;
        let pid = record.pid;
        with_time(if is_exec { What::Exec { pid } } else { What::Other }, &metadata)
    }

    fn visit_fork(self, record: Exit, metadata: RecordMetadata) -> Event<'a> {
        let (parent, child) = (record.ppid, record.pid);
        with_time(What::Fork { parent, child }, &metadata)
    }

    fn visit_exit(self, record: Exit, metadata: RecordMetadata) -> Event<'a> {
        // The kernel also writes this record when a thread ends. A process counts as ended when its first thread has
        // ended.
        let is_process = record.pid == record.tid;
        let pid = record.pid;
        with_time(if is_process { What::Exit { pid } } else { What::Other }, &metadata)
    }

    fn visit_lost(self, record: Lost, metadata: RecordMetadata) -> Event<'a> {
        with_time(What::Lost(record.lost), &metadata)
    }

    fn visit_lost_samples(self, record: LostSamples, metadata: RecordMetadata) -> Event<'a> {
        with_time(What::Lost(record.lost), &metadata)
    }

    fn visit_throttle(self, _: Throttle, metadata: RecordMetadata) -> Event<'a> {
        with_time(What::Throttled, &metadata)
    }
}

fn with_time<'a>(what: What<'a>, metadata: &RecordMetadata) -> Event<'a> {
    Event { time_ns: metadata.sample_id().time().unwrap_or(0), what }
}
