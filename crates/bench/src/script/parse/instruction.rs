//! The instructions of a parsed script, which a session runs.

use std::ops::Range;

use crate::script::expression::Code;

/// An instruction, with the place that an error reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instruction {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Set {
        variable: u32,
        code: Code,
    },
    /// Continues at `target` unless the expression is true.
    Unless {
        code: Code,
        target: usize,
    },
    Jump {
        target: usize,
    },
    Send {
        statement_idx: usize,
    },
    Sleep {
        amount: Amount,
        unit_us: u64,
    },
    StartPipeline,
    EndPipeline,
    SyncPipeline,
}

/// The duration of a sleep, in the command's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    Constant(u64),
    Variable(u32),
}
