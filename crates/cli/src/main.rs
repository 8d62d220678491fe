//! looptax: see `args` for what can be typed.
fn main() {}
