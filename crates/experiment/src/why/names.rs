//! Names of processes and functions in the form that is shown to the user.

use crate::observer::Doer;
use cpp_demangle::{DemangleOptions, Symbol};

use crate::why::symbols::Function;

/// Returns the name for the role of a process.
pub(crate) fn process_name(doer: Doer) -> &'static str {
    match doer {
        Doer::Client => "client",
        Doer::Server => "server",
        Doer::Proxy => "port proxy",
        Doer::Pooler => "pooler",
        Doer::Supervisor => "supervisor",
    }
}

/// Returns the function's name as in its source code, without parameters; if it has no name, its file name in brackets.
pub(crate) fn shown_name(function: &Function) -> String {
    match &function.name {
        Some(name) if function.is_kernel => name.clone(),
        Some(name) => demangled(name).unwrap_or_else(|| name.clone()),
        None => format!("[{}]", function.module.trim_matches(['[', ']'])),
    }
}

/// Returns the name as in the source code; `None` for a name that no C++ or Rust compiler has made.
fn demangled(name: &str) -> Option<String> {
    // Rust's older names have the same form as those of C++, with a hash at the end.
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
