//! Finds the client model that makes exactly the calls in a trace.
//!
//! This file does no I/O. The product takes the model from `clients.toml`; the test below compares that model with the
//! traces.

/// Returns the model with exactly these calls in this order; `None` if there is no such model.
///
/// Calls between the threads of a language runtime are left out, because they do not use the connection.
pub(crate) fn exactly(sequence: &[String]) -> Option<&'static str> {
    let calls = sequence.iter().filter(|call| !call.starts_with("futex"));
    let letters: String = calls.map(|call| letter(call)).collect();
    match letters.as_str() {
        "STWR" => Some("poll"),
        "SWR" => Some("poll-first"),
        "SR" => Some("block"),
        "SER" => Some("event"),
        _ => None,
    }
}

fn letter(call: &str) -> char {
    match call {
        "sendto" | "write" | "writev" | "sendmsg" => 'S',
        "recvfrom" | "read" | "recvmsg" => 'R',
        "recvfrom EAGAIN" | "read EAGAIN" => 'T',
        "poll" | "ppoll" | "select" | "pselect6" => 'W',
        "epoll_wait" | "epoll_pwait" => 'E',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::data;

    #[track_caller]
    fn check(sequence: &[&str], expected: Option<&str>) {
        let sequence: Vec<String> = sequence.iter().map(|&call| call.to_owned()).collect();
        assert_eq!(exactly(&sequence), expected, "{sequence:?}");
    }

    #[test]
    fn knows_a_model_by_its_calls_and_their_order() {
        check(&["sendto", "recvfrom EAGAIN", "poll", "recvfrom"], Some("poll"));
        check(&["writev", "epoll_wait", "futex", "read"], Some("event"));
        check(&["write", "read"], Some("block"));
        check(&["sendto", "poll", "recvfrom"], Some("poll-first"));
        check(&["sendto", "poll", "recvfrom", "poll out"], None);
        check(&["poll", "sendto", "recvfrom"], None);
        check(&[], None);
    }

    #[test]
    fn every_client_was_traced_and_has_the_model_that_its_trace_shows() {
        let traces = data::traces().unwrap();
        for client in data::clients(&[]).unwrap() {
            let name = &client.name;
            let trace = traces.get(name);
            let trace = trace.unwrap_or_else(|| panic!("{name} was never traced"));
            let mut differs = false;
            for (arm, stated) in [("unix", &client.model.unix), ("tcp", &client.model.tcp)] {
                match exactly(&trace.arm[arm].sequence) {
                    Some(model) => assert_eq!(model, stated, "{name} over {arm}"),
                    None => differs = true,
                }
            }
            assert_eq!(differs, !client.differs.is_empty(), "{name}: say how it differs");
        }
        assert_eq!(traces.len(), data::clients(&[]).unwrap().len());
    }
}
