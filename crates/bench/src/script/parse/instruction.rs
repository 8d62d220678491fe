//! The instructions of a parsed script: the steps that a session takes.

use std::ops::Range;

use crate::script::expression::Code;

/// The next step of a session, with the place that an error points at.
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
    /// Goes on at `target` unless the expression is true.
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

/// How long to sleep, in the command's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    Constant(u64),
    Variable(u32),
}
