//! Finds the functions and branches around a place in the text.

use std::ops::Range;

use super::super::Language;
use super::super::condition::{BRANCH, FUNCTION, Program, conditions};
use super::super::lexer::{Kind, Token};

/// Maximum for each of three numbers: the functions that are read in a text, the tokens of a function that are searched
/// for names, and the bytes of a condition.
const MOST: usize = 500;

pub(super) struct Scope<'a> {
    text: &'a str,
    functions: Vec<Function>,
    branches: Vec<Range<usize>>,
    /// For each opening bracket, the token after its closing bracket.
    behind: Vec<usize>,
}

struct Function {
    /// The range of the function, from its arguments to its end.
    body: Range<usize>,
    arguments: Vec<String>,
    /// Names from outside the function that PHP's `global $x` and `use ($x)` make visible in it.
    outer: Vec<String>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(text: &'a str, tokens: &[Token], language: Language) -> Self {
        let all = conditions(text, tokens, language);
        let branches = all.iter().filter(|it| it.1 == BRANCH).map(|it| it.0.clone()).collect();
        let program = Program::new(text, tokens);
        let functions = match language {
            Language::Python | Language::Ruby => {
                let bodies = all.iter().filter(|it| it.1 == FUNCTION).map(|it| it.0.clone());
                bodies.map(|body| defined(&program, tokens, body)).collect()
            }
            _ => (0..tokens.len()).filter_map(|at| braced(&program, tokens, at)).take(MOST).collect(),
        };
        let behind = (0..tokens.len()).map(|it| program.behind(it)).collect();
        Self { text, functions, branches, behind }
    }

    pub(super) fn behind(&self, at: usize) -> usize {
        self.behind.get(at).copied().unwrap_or(at)
    }

    fn innermost(&self, at: usize) -> Option<&Function> {
        let around = self.functions.iter().filter(|it| it.body.contains(&at));
        around.min_by_key(|it| it.body.len())
    }

    /// Whether a value that is assigned to a name at byte `set` is visible at byte `at`. In PHP, a `$x` is visible only
    /// in its function.
    pub(super) fn is_visible(&self, name: &str, set: usize, at: usize, is_local: bool) -> bool {
        let bare = name.trim_start_matches('$');
        let is_shadow = |it: &Function| {
            it.body.contains(&at) && !it.body.contains(&set) && it.arguments.iter().any(|own| own == bare)
        };
        if self.functions.iter().any(is_shadow) {
            return false;
        }
        let (own, of_it) = (self.innermost(at).map(|it| &it.body), self.innermost(set).map(|it| &it.body));
        if is_local {
            let is_brought = self.innermost(at).is_some_and(|it| it.outer.iter().any(|it| it == bare));
            return own == of_it || is_brought && of_it.is_none();
        }
        of_it.is_none_or(|it| it.contains(&at))
    }

    pub(super) fn is_same_function(&self, one: usize, other: usize) -> bool {
        let body = |at: usize| self.innermost(at).map(|it| &it.body);
        body(one) == body(other)
    }

    /// Whether the place is in code that does not always run. A branch that tests whether the object already
    /// exists does not count.
    pub(super) fn is_in_branch(&self, at: usize, object: Option<&str>) -> bool {
        let mut around = self.branches.iter().filter(|it| it.contains(&at));
        around.any(|it| !object.is_some_and(|object| self.asks_for(it, object)))
    }

    /// Whether the place is in a branch that does not contain the byte `of`.
    pub(super) fn is_in_branch_apart(&self, at: usize, of: usize) -> bool {
        self.branches.iter().any(|it| it.contains(&at) && !it.contains(&of))
    }

    /// Whether the condition of a branch tests if the object is missing: `if (!$pdo) {`, `if self.pool is None:`,
    /// `unless @redis`.
    fn asks_for(&self, branch: &Range<usize>, object: &str) -> bool {
        let name = object.rsplit('.').next().unwrap_or_default().trim_start_matches('$');
        let from = (branch.start.saturating_sub(MOST)..=branch.start).find(|it| self.text.is_char_boundary(*it));
        let before = self.text.get(from.unwrap_or(branch.start)..branch.start).unwrap_or_default();
        let before = before.rsplit([';', '}', '{']).next().unwrap_or_default();
        let after: String = self.text[branch.clone()].chars().take_while(|it| *it != '\n').take(MOST).collect();
        let head = if after.starts_with("if") || after.starts_with("unless") { &after } else { before };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_there = head.split(|c| !is_word(c)).any(|it| it == name);
        let signs = ["!", "null", "NULL", "None", "nil", "not ", "isset", "empty", "undefined", "unless"];
        is_there && !head.contains("else") && signs.iter().any(|it| head.contains(it))
    }
}

fn words(program: &Program<'_>, tokens: &[Token], range: Range<usize>) -> Vec<String> {
    let own = range.take(MOST).filter(|it| tokens[*it].kind == Kind::Word);
    own.map(|it| program.word(it).trim_start_matches('$').to_owned()).collect()
}

/// Reads a function that Python or Ruby define with `def`.
fn defined(program: &Program<'_>, tokens: &[Token], body: Range<usize>) -> Function {
    let first = tokens.partition_point(|it| it.at.start < body.start);
    let arguments = match program.word(first + 2) {
        "(" => words(program, tokens, first + 3..program.behind(first + 2)),
        _ => Vec::new(),
    };
    Function { body, arguments, outer: Vec::new() }
}

/// Reads a function with braces: `function f(…) {`, `(…) => {`, `f(…) {` in a class, `func f(…) t {`.
fn braced(program: &Program<'_>, tokens: &[Token], open: usize) -> Option<Function> {
    const SAYS: [&str; 5] = ["function", "fn", "func", "fun", "sub"];
    const OTHERS: [&str; 14] = [
        "if", "while", "for", "foreach", "switch", "catch", "elseif", "elsif", "unless", "when", "with", "try",
        "using", "lock",
    ];
    const BETWEEN: [&str; 15] = [":", "?", "|", "=>", "->", "(", ")", ",", ".", "\\", "*", "&", "[", "]", "<"];
    if program.word(open) != "(" {
        return None;
    }
    let before = |n: usize| open.checked_sub(n).map_or("", |it| program.word(it));
    let behind = program.behind(open);
    if OTHERS.contains(&before(1)) {
        return None;
    }
    let is_said = SAYS.contains(&before(1)) || SAYS.contains(&before(2));
    let is_arrow = program.word(behind) == "=>";
    let is_named = open > 0 && tokens[open - 1].kind == Kind::Word;
    // Between the arguments and the brace there may be the return type, or PHP's `use ($x)`.
    let is_between = |at: &usize| BETWEEN.contains(&program.word(*at)) || is_name(program, tokens, *at);
    let brace = (behind..behind + 16).find(|it| !is_between(it)).filter(|it| program.word(*it) == "{");
    if !(is_said || is_arrow || is_named && brace.is_some()) {
        return None;
    }
    let end = match brace {
        Some(it) => program.behind(it),
        None => program.statement_end(behind),
    };
    let arguments = words(program, tokens, open + 1..behind.saturating_sub(1));
    let head = words(program, tokens, behind..brace.unwrap_or(behind));
    let mut outer = if head.first().is_some_and(|it| it == "use") { head } else { Vec::new() };
    let body = brace.unwrap_or(behind)..end;
    for at in body.clone().take(MOST) {
        if program.word(at) == "global" {
            outer.extend(words(program, tokens, at + 1..program.statement_end(at)));
        }
    }
    Some(Function { body: program.start(open)..program.start(end), arguments, outer })
}

/// Whether the token may be part of the return type of a function.
fn is_name(program: &Program<'_>, tokens: &[Token], at: usize) -> bool {
    let is_word = tokens.get(at).is_some_and(|it| it.kind == Kind::Word);
    is_word && !matches!(program.word(at), "if" | "for" | "while" | "return" | "try" | "const" | "let" | "var" | "val")
}
