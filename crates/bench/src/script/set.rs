//! Scripts that run together: a shared table of variables and a shared list of statements; scripts are chosen by
//! weight.
//!
//! Joining gives each variable and statement an index in the set, so a session does not look up names.

use std::ops::Range;

use looptax_model::failure::nearest;

use crate::script::error::{ScriptError, SetError};
use crate::script::expression::Code;
use crate::script::fault::ParseFault;
use crate::script::parse::{Amount, Instruction, Kind, Script};
use crate::script::place::{Place, word};
use crate::script::spec::Definition;
use crate::script::statement::{Piece, Statement};
use crate::script::symbols::Symbols;

/// Variables that a session has without a `\set`.
pub(crate) const PRESET: [&str; 4] = ["client_id", "scale", "random_seed", "default_seed"];

/// Scripts and their weights, checked and ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptSet {
    scripts: Vec<Member>,
    total_weight: u64,
    pub(crate) symbols: Symbols,
    statements: Vec<Statement>,
    warnings: Vec<Warning>,
    pub(crate) definitions: Vec<Definition>,
}

#[derive(Debug, Clone, PartialEq)]
struct Member {
    name: String,
    text: String,
    weight: u32,
    instructions: Vec<Instruction>,
}

/// Something in a script that is allowed but may not do what its author meant. `Display` prints one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: `:{name}` is not replaced within quotes or a comment")]
pub struct Warning {
    pub place: Place,
    /// The variable that is not replaced.
    pub name: String,
}

impl ScriptSet {
    /// Joins scripts, each with its weight. Sessions share only the set. All scripts of a session use the variables of
    /// this session. A definition takes precedence over the preset variable of the same name.
    ///
    /// # Errors
    /// [`SetError::NothingToRun`], and [`SetError::Script`] for a variable that is not set anywhere.
    pub fn new(scripts: Vec<(Script, u32)>, definitions: Vec<Definition>) -> Result<Self, SetError> {
        let total_weight = scripts.iter().map(|(_, weight)| u64::from(*weight)).sum();
        if total_weight == 0 {
            return Err(SetError::NothingToRun);
        }
        let mut symbols = Symbols::default();
        let defined = definitions.iter().map(|definition| definition.name.as_str());
        for name in PRESET.into_iter().chain(defined) {
            symbols.set(name);
        }
        for (script, _) in &scripts {
            for symbol in script.symbols.list().iter().filter(|symbol| symbol.is_set) {
                symbols.set(&symbol.name);
            }
        }
        let mut set = Self {
            scripts: Vec::new(),
            total_weight,
            symbols,
            statements: Vec::new(),
            warnings: Vec::new(),
            definitions,
        };
        for (script, weight) in scripts {
            set.check(&script).map_err(SetError::Script)?;
            set.add(script, weight);
        }
        Ok(set)
    }

    /// Returns all statements of all scripts, to be prepared. Sessions refer to them by their index in this list.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Returns the name that the caller gave to the script.
    pub fn script_name(&self, script_idx: usize) -> Option<&str> {
        self.scripts.get(script_idx).map(|member| member.name.as_str())
    }

    /// Returns the place of a statement in its script, for messages about an error that the server reports for the
    /// statement.
    pub fn place_of(&self, statement_idx: usize) -> Option<Place> {
        let statement = self.statements.get(statement_idx)?;
        Some(self.place(statement.script_idx, &statement.span))
    }

    /// Returns the parts of the scripts that are allowed but may not do what their author meant.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Draws a script by weight. If there is only one script, returns this script without drawing.
    pub(crate) fn choose(&self, random: &mut dyn FnMut() -> u64) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        // 64 random bits times the total weight, divided by 2^64: each probability is off by less than total / 2^64.
        let mut left = ((u128::from(random()) * u128::from(self.total_weight)) >> 64) as u64;
        for (script_idx, member) in self.scripts.iter().enumerate() {
            let weight = u64::from(member.weight);
            if left < weight {
                return script_idx;
            }
            left -= weight;
        }
        0
    }

    pub(crate) fn instruction(&self, script_idx: usize, next: usize) -> Option<&Instruction> {
        self.scripts.get(script_idx)?.instructions.get(next)
    }

    pub(crate) fn place(&self, script_idx: usize, span: &Range<usize>) -> Place {
        let member = &self.scripts[script_idx];
        Place::new(&member.name, &member.text, span)
    }

    /// Checks that every variable in use is set by a script or a definition, or preset by looptax.
    fn check(&self, script: &Script) -> Result<(), ScriptError> {
        let unknown = script.symbols.list().iter().find_map(|symbol| {
            let span = symbol.first_use.clone()?;
            self.symbols.find(&symbol.name).is_none().then_some((symbol, span))
        });
        let Some((symbol, span)) = unknown else {
            return Ok(());
        };
        let known = self.symbols.list().iter().map(|symbol| symbol.name.as_str());
        let fault = ParseFault::Undefined {
            name: word(&symbol.name),
            nearest: nearest(&symbol.name, known).map(str::to_owned),
        };
        Err(script.source().error(span, fault))
    }

    fn add(&mut self, script: Script, weight: u32) {
        let script_idx = self.scripts.len();
        let renumber = Renumber {
            n_statements: self.statements.len(),
            variables: script.symbols.list().iter().map(|symbol| self.symbols.idx(&symbol.name)).collect(),
        };
        let Script { name: name_of_script, text, mut statements, mut instructions, quoted, .. } = script;
        for instruction in &mut instructions {
            renumber.instruction(instruction);
        }
        for statement in &mut statements {
            statement.script_idx = script_idx;
            renumber.statement(statement);
        }
        self.statements.append(&mut statements);
        for (name, span) in quoted {
            if self.symbols.find(&name).is_some() {
                let place = Place::new(&name_of_script, &text, &span);
                self.warnings.push(Warning { place, name });
            }
        }
        self.scripts.push(Member { name: name_of_script, text, weight, instructions });
    }
}

/// Converts a script's own indexes to those of its set.
struct Renumber {
    n_statements: usize,
    variables: Vec<u32>,
}

impl Renumber {
    fn variable(&self, variable: &mut u32) {
        *variable = self.variables[*variable as usize];
    }

    fn code(&self, code: &mut Code) {
        code.iter_mut().filter_map(|step| step.variable()).for_each(|v| self.variable(v));
    }

    fn statement(&self, statement: &mut Statement) {
        for piece in &mut statement.pieces {
            if let Piece::Variable { idx, .. } = piece {
                self.variable(idx);
            }
        }
    }

    fn instruction(&self, instruction: &mut Instruction) {
        match &mut instruction.kind {
            Kind::Set { variable, code } => {
                self.variable(variable);
                self.code(code);
            }
            Kind::Unless { code, .. } => self.code(code),
            Kind::Send { statement_idx } => *statement_idx += self.n_statements,
            Kind::Sleep { amount: Amount::Variable(variable), .. } => self.variable(variable),
            _ => {}
        }
    }
}
