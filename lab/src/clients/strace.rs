//! Parses the output of strace into a list of calls.
//!
//! This file does no I/O. `strace -f -yy -s 1 -o FILE` prints a line per call, or two lines if a call of another thread
//! comes between its beginning and its end.

use std::collections::HashMap;

/// The traced calls: all that send, receive, wait or wake.
pub(crate) const CALLS: &str = "trace=network,read,write,readv,writev,poll,ppoll,select,pselect6,\
epoll_wait,epoll_pwait,epoll_pwait2,epoll_ctl,futex,ioctl,fcntl,io_uring_enter";

/// One system call. Calls are ordered by their beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) name: String,
    /// The arguments as printed; joined if the call has two lines.
    pub(crate) arguments: String,
    /// The result as printed: `30`, `-1 EAGAIN (Resource temporarily unavailable)`; empty if the call never ended.
    pub(crate) result: String,
}

impl Call {
    /// Returns the first argument if it is a file descriptor: its number, and what it refers to.
    pub(crate) fn descriptor(&self) -> Option<(u32, &str)> {
        let (number, rest) = self.arguments.split_once('<')?;
        let end = rest.find([',', ')']).unwrap_or(rest.len());
        Some((number.parse().ok()?, &rest[..end]))
    }

    /// Returns whether the call uses a connection.
    pub(crate) fn is_on_socket(&self) -> bool {
        let kinds = ["TCP", "UNIX", "socket:"];
        self.descriptor().is_some_and(|(_, what)| kinds.iter().any(|kind| what.starts_with(kind)))
    }

    /// Returns details of the call in addition to its name, one word each.
    pub(crate) fn particulars(&self) -> Vec<&'static str> {
        let is_wait = self.name.contains("poll");
        // The arguments of an epoll call show the events that it found; those of a poll call show the events that it
        // waited for.
        let only_out = self.arguments.contains("POLLOUT") && !self.arguments.contains("POLLIN");
        let all = [
            (self.arguments.contains("MSG_PEEK"), "peek"),
            (self.arguments.contains("FIONREAD"), "available"),
            (self.arguments.contains("FIONBIO"), "nonblocking"),
            (is_wait && only_out, "out"),
            (is_wait && self.number() == 0, "nothing"),
            (self.result.contains("EAGAIN"), "EAGAIN"),
        ];
        let holding = all.into_iter().filter(|(holds, _)| *holds);
        holding.map(|(_, word)| word).collect()
    }

    /// Returns the number of transferred bytes, or any other number that the call returned.
    pub(crate) fn number(&self) -> i64 {
        let first = self.result.split(' ').next().unwrap_or_default();
        first.parse().unwrap_or(-1)
    }
}

pub(crate) fn calls(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut pending = HashMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let (Ok(thread), rest) = (thread.parse::<u32>(), rest.trim_start()) else {
            continue;
        };
        if rest.starts_with("<...") {
            if let Some(idx) = pending.remove(&thread) {
                let call: &mut Call = &mut calls[idx];
                result_of(rest).clone_into(&mut call.result);
                call.arguments += rest;
            }
            continue;
        }
        let Some((name, after)) = rest.split_once('(') else {
            continue;
        };
        let is_pending = after.ends_with("<unfinished ...>");
        if is_pending {
            pending.insert(thread, calls.len());
        }
        calls.push(Call {
            thread,
            name: name.to_owned(),
            arguments: after.to_owned(),
            result: if is_pending { "" } else { result_of(after) }.to_owned(),
        });
    }
    calls
}

fn result_of(rest: &str) -> &str {
    rest.rsplit_once(") = ").or_else(|| rest.rsplit_once("= ")).map_or("", |(_, result)| result.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, on_socket: bool, particulars: &[&str], number: i64) {
        let [call] = calls(line).try_into().unwrap();
        assert_eq!(call.is_on_socket(), on_socket, "{line}");
        assert_eq!(call.particulars(), particulars, "{line}");
        assert_eq!(call.number(), number, "{line}");
    }

    #[test]
    fn tells_sockets_outcomes_and_flags() {
        let tcp = "7 recvfrom(3<TCP:[127.0.0.1:40252->127.0.0.1:33917]>, 0x55e2, 32768, 0, NULL, NULL)";
        check(&format!("{tcp} = 71"), true, &[], 71);
        let eagain = "-1 EAGAIN (Resource temporarily unavailable)";
        check(&format!("{tcp} = {eagain}"), true, &["EAGAIN"], -1);
        let unix = "7 recvfrom(5<UNIX-STREAM:[66858->66778]>, 0x7f, 1, MSG_PEEK|MSG_DONTWAIT, NULL, NULL)";
        check(&format!("{unix} = {eagain}"), true, &["peek", "EAGAIN"], -1);
        check("7 read(0<pipe:[5]>, \"5\"..., 4096) = 4", false, &[], 4);
        let out = "7 poll([{fd=3<TCP:[127.0.0.1:1->127.0.0.1:2]>, events=POLLOUT}], 1, 5000)";
        check(&format!("{out} = 1 ([{{fd=3, revents=POLLOUT}}])"), false, &["out"], 1);
        let epoll = "7 epoll_pwait(4<anon_inode:[eventpoll]>, [], 128, 0, NULL, 0) = 0";
        check(epoll, false, &["nothing"], 0);
    }

    #[test]
    fn joins_a_call_in_two_lines_at_the_place_of_its_begin() {
        let text = "7 epoll_pwait(4<anon_inode:[eventpoll]>,  <unfinished ...>\n\
                    8 write(5<UNIX-STREAM:[1->2]>, \"a\"..., 98) = 98\n\
                    7 <... epoll_pwait resumed>[{events=EPOLLOUT, data=0}], 128, 14, NULL, 0) = 1\n\
                    7 +++ exited with 0 +++\n";
        let found = calls(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].thread, found[0].number()), (7, 1));
        assert_eq!(found[0].particulars(), ["out"]);
        assert_eq!(found[1].name, "write");
    }
}
