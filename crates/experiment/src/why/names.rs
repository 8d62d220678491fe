//! Names in the form in which a person reads them.

use crate::observer::Doer;
use cpp_demangle::{DemangleOptions, Symbol};

use crate::why::symbols::Function;

/// A word for the role of a process.
pub(crate) fn process_name(doer: Doer) -> &'static str {
    match doer {
        Doer::Client => "client",
        Doer::Server => "server",
        Doer::Proxy => "port proxy",
        Doer::Pooler => "pooler",
        Doer::Supervisor => "supervisor",
    }
}

/// The function's name as in its source, without parameters; if it has no name, its file in brackets.
pub(crate) fn shown_name(function: &Function) -> String {
    match &function.name {
        Some(name) if function.is_kernel => name.clone(),
        Some(name) => demangled(name).unwrap_or_else(|| name.clone()),
        None => format!("[{}]", function.module.trim_matches(['[', ']'])),
    }
}

/// The name as in the source; `None` for a name that no compiler of C++ or Rust made.
fn demangled(name: &str) -> Option<String> {
    // Rust's older names look like those of C++ and end in a hash.
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        return Some(format!("{name:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let symbol = Symbol::new(name).ok()?;
    symbol.demangle_with_options(&options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_in_their_source() {
        for (linked, shown) in [
            ("_Z16dispatch_command19enum_server_commandP3THDPcjb", "dispatch_command"),
            ("_ZN4JOIN4execEv", "JOIN::exec"),
            ("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size"),
            ("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("epoll_wait", "epoll_wait"),
            ("_Z", "_Z"),
            ("_ZN4JOIN4exec", "_ZN4JOIN4exec"),
        ] {
            let function =
                |is_kernel| Function { name: Some(linked.to_owned()), module: "mariadbd".to_owned(), is_kernel };
            assert_eq!(shown_name(&function(false)), shown);
            assert_eq!(shown_name(&function(true)), linked);
        }
        let nameless = Function { name: None, module: "[vdso]".to_owned(), is_kernel: false };
        assert_eq!(shown_name(&nameless), "[vdso]");
    }
}
