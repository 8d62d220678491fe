//! The variables of one session, by index.
//!
//! Names are looked up only for messages.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::Presets;
use crate::script::expression::{self, Code};
use crate::script::fault::RunFault;
use crate::script::parse::Amount;
use crate::script::set::PRESET;
use crate::script::spec::Definition;
use crate::script::symbols::Symbols;
use crate::script::value::Value;

/// The values of the variables, and the stack on which expressions run.
#[derive(Debug, Clone)]
pub(super) struct Variables {
    slots: Vec<Slot>,
    stack: Vec<Value>,
}

#[derive(Debug, Clone)]
enum Slot {
    Unset,
    Value(Value),
    /// A definition: SQL receives its text unchanged, expressions use its value.
    Text {
        text: Arc<str>,
        value: Option<Value>,
    },
}

impl Variables {
    pub(super) fn new(symbols: &Symbols, definitions: &[Definition], presets: Presets) -> Self {
        let mut slots = vec![Slot::Unset; symbols.list().len()];
        let mut fill = |name: &str, slot: Slot| {
            if let Some(idx) = symbols.find(name) {
                slots[idx as usize] = slot;
            }
        };
        let values = [presets.client_id, presets.scale, presets.random_seed, presets.default_seed];
        for (name, integer) in PRESET.iter().zip(values) {
            fill(name, Slot::Value(Value::Integer(integer)));
        }
        for Definition { name, text } in definitions {
            let value = Value::parse(text);
            let text = text.as_str().into();
            fill(name, Slot::Text { text, value });
        }
        Self { slots, stack: Vec::new() }
    }

    pub(super) fn set(&mut self, idx: u32, value: Value) {
        self.slots[idx as usize] = Slot::Value(value);
    }

    pub(super) fn evaluate(
        &mut self,
        code: &Code,
        symbols: &Symbols,
        random: &mut dyn FnMut() -> u64,
    ) -> Result<Value, (RunFault, Range<usize>)> {
        let Self { slots, stack } = self;
        let load = |idx| load(slots, idx, symbols);
        expression::run(code, stack, &load, random).map_err(|(fault, at)| {
            let at = at as usize;
            (fault, at..at + 1)
        })
    }

    pub(super) fn pause(&self, amount: Amount, unit_us: u64, symbols: &Symbols) -> Result<Duration, RunFault> {
        let amount = match amount {
            Amount::Constant(amount) => amount,
            Amount::Variable(idx) => {
                let integer = load(&self.slots, idx, symbols)?.integer("\\sleep")?;
                u64::try_from(integer)
                    .map_err(|_| RunFault::Type { wanted: "a time to sleep", found: "a negative number" })?
            }
        };
        Ok(Duration::from_micros(amount.saturating_mul(unit_us)))
    }

    pub(super) fn is_null(&self, idx: u32) -> bool {
        matches!(self.slots[idx as usize], Slot::Value(Value::Null) | Slot::Text { value: Some(Value::Null), .. })
    }

    /// Appends the variable as SQL text.
    pub(super) fn write(&self, idx: u32, symbols: &Symbols, out: &mut Vec<u8>) -> Result<(), RunFault> {
        match &self.slots[idx as usize] {
            Slot::Value(Value::Double(found)) if !found.is_finite() => {
                Err(RunFault::NotFinite { name: symbols.name(idx).to_owned(), found: *found })
            }
            Slot::Value(value) => {
                value.write(out);
                Ok(())
            }
            Slot::Text { text, .. } => {
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Slot::Unset => Err(unset(idx, symbols)),
        }
    }
}

fn load(slots: &[Slot], idx: u32, symbols: &Symbols) -> Result<Value, RunFault> {
    match &slots[idx as usize] {
        Slot::Value(value) => Ok(*value),
        Slot::Text { value, .. } => value.ok_or_else(|| RunFault::NotANumber { name: symbols.name(idx).to_owned() }),
        Slot::Unset => Err(unset(idx, symbols)),
    }
}

fn unset(idx: u32, symbols: &Symbols) -> RunFault {
    let name = symbols.name(idx).to_owned();
    RunFault::Unset { name }
}
