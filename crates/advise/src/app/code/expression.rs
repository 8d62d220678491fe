//! Reads an expression: a string, a number, an environment variable, or something that only the program can evaluate.

use super::lexer::{Kind, Token};
use crate::app::setting::Value;

/// The value of an expression; `None` for no value: `null`, `None`, `nil`.
pub(super) fn value(text: &str, tokens: &[Token]) -> Option<Value> {
    let word = |token: &Token| text[token.at.clone()].to_owned();
    match tokens {
        [] => None,
        [Token { kind: Kind::Text(found), .. }] => {
            // A template's placeholder is not a value.
            let found = found.clone().filter(|it| !it.contains("{{"));
            Some(found.map_or(Value::Hidden, Value::Text))
        }
        [token] if token.kind == Kind::Word => match &*word(token) {
            "null" | "NULL" | "Null" | "None" | "nil" | "undefined" => None,
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => Some(Value::Text(word(token).to_lowercase())),
            number if number.starts_with(|c: char| c.is_ascii_digit()) => Some(Value::Text(number.to_owned())),
            _ => Some(Value::Hidden),
        },
        _ => Some(class_name(text, tokens).or_else(|| variable(text, tokens)).unwrap_or(Value::Hidden)),
    }
}

/// The class name in PHP's `\Name\Of\A::class`.
fn class_name(text: &str, tokens: &[Token]) -> Option<Value> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let name = text.get(first.at.start..last.at.end)?.strip_suffix("::class")?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\\'));
    is_name.then(|| Value::Text(name.trim_start_matches('\\').to_owned()))
}

/// The environment variable that an expression reads, with its default: `getenv('X') ?: 'd'`, `env('X', 'd')`,
/// `os.environ.get("X", "d")`, `ENV.fetch("X") { "d" }`, `process.env.X || 'd'`.
fn variable(text: &str, tokens: &[Token]) -> Option<Value> {
    let word = |token: &Token| &text[token.at.clone()];
    let is_reader = |token: &Token| {
        token.kind == Kind::Word
            && matches!(
                word(token),
                "getenv"
                    | "getenv_docker"
                    | "env"
                    | "environ"
                    | "ENV"
                    | "$_ENV"
                    | "$_SERVER"
                    | "config"
                    | "dj_database_url"
            )
    };
    if chooses(text, tokens) {
        return None;
    }
    let at = tokens.iter().position(is_reader)?;
    let rest = &tokens[at + 1..];
    let mut texts = rest.iter().filter_map(|token| match &token.kind {
        Kind::Text(Some(text)) => Some(text.clone()),
        _ => None,
    });
    let is_node = word(&tokens[at]) == "env" && at >= 2 && word(&tokens[at - 2]) == "process";
    let is_url = word(&tokens[at]) == "dj_database_url"
        || rest.first().is_some_and(|it| word(it) == ".")
            && rest.get(1).is_some_and(|it| matches!(word(it), "db" | "db_url" | "cache"));
    let name = if is_node && rest.first().is_some_and(|it| word(it) == ".") {
        word(rest.get(1)?).to_owned()
    } else if is_url {
        "DATABASE_URL".to_owned()
    } else {
        texts.next()?
    };
    // The second text is the default. Further texts are ignored.
    let fallback = texts.next().or_else(|| number(text, rest));
    Some(Value::Variable { name, fallback })
}

/// The number that is used if the variable is not set, as in `env('X', 6379)`. The index of a list is not such a
/// number.
fn number(text: &str, tokens: &[Token]) -> Option<String> {
    let word = |token: &Token| &text[token.at.clone()];
    let is_number = |token: &Token| token.kind == Kind::Word && word(token).bytes().all(|it| it.is_ascii_digit());
    let mut pairs = tokens.windows(2);
    let pair = pairs.find(|pair| is_number(&pair[1]))?;
    (word(&pair[0]) != "[").then(|| word(&pair[1]).to_owned())
}

/// Whether the expression is conditional: `a ? b : c`, `b if a else c`.
fn chooses(text: &str, tokens: &[Token]) -> bool {
    let word =
        |at: usize| tokens.get(at).filter(|it| !matches!(it.kind, Kind::Text(_))).map_or("", |it| &text[it.at.clone()]);
    (0..tokens.len()).any(|at| match word(at) {
        "if" | "unless" => true,
        "?" => !matches!(word(at + 1), ":" | "?" | ".") && (at == 0 || word(at - 1) != "?"),
        _ => false,
    })
}
