//! Compares the table of layers with call chains that were sampled on real machines.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::{Doer, Layers, Row, Seen, TABLE, Table, User, Wild, strip_suffix};

const CHAINS: &str = include_str!("../../../tests/chains.txt");

/// A sampled chain: the load and the role that were sampled, the frames (leaf first), and the number of samples with
/// this chain.
struct Sampled {
    load: String,
    role: Doer,
    frames: Vec<(&'static str, &'static str)>,
    n_samples: u64,
}

fn read_chains() -> Vec<Sampled> {
    let (mut load, mut role) = (String::new(), Doer::Client);
    let mut path: Vec<(&str, &str)> = Vec::new();
    let mut chains = Vec::new();
    for line in CHAINS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("= ") {
            role = match head.split_once(' ').unwrap().1 {
                "client" => Doer::Client,
                "server" => Doer::Server,
                "proxy" => Doer::Proxy,
                "supervisor" => Doer::Supervisor,
                other => panic!("no role: {other}"),
            };
            load = head.to_owned();
            continue;
        }
        let mut words = line.split(' ');
        let depth: usize = words.next().unwrap().parse().unwrap();
        let frame = words.next().unwrap();
        path.truncate(depth);
        path.push(frame.split_once('!').map_or(("kernel", frame), |(module, name)| (module, name)));
        if let Some(n_samples) = words.next() {
            chains.push(Sampled {
                load: load.clone(),
                role,
                frames: path.iter().rev().copied().collect(),
                n_samples: n_samples.parse().unwrap(),
            });
        }
    }
    chains
}

fn name_layer<'a>(layers: &'a Layers, role: Doer, frames: &[(&str, &str)]) -> &'a str {
    let chain: Vec<Seen<'_>> = frames
        .iter()
        .map(|&(module, name)| Seen {
            name,
            module,
            is_kernel: module == "kernel" || (module.starts_with('[') && module != "[vdso]"),
        })
        .collect();
    &layers.names()[layers.layer_of(role, &chain)]
}

#[test]
fn at_most_two_samples_in_a_hundred_have_no_layer() {
    let layers = Layers::builtin();
    let mut loads: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut lost = String::new();
    for chain in read_chains() {
        let (all, none) = loads.entry(chain.load).or_default();
        *all += chain.n_samples;
        if name_layer(&layers, chain.role, &chain.frames) == "not attributed" {
            *none += chain.n_samples;
            writeln!(lost, "{} {:?}", chain.n_samples, chain.frames).unwrap();
        }
    }
    assert!(loads.len() > 20, "{loads:?}");
    for (load, (all, none)) in loads {
        assert!(none * 50 <= all, "{load}: {none} of {all}\n{lost}");
    }
}

#[test]
fn every_pattern_is_met_or_says_why_not() {
    let table: Table = serde_json::from_str(TABLE).unwrap();
    let chains = read_chains();
    let met: HashSet<&str> = chains
        .iter()
        .flat_map(|chain| &chain.frames)
        .filter(|(module, _)| *module == "kernel")
        .map(|(_, name)| strip_suffix(name))
        .collect();
    let mut seen_twice = HashSet::new();
    for Row { patterns, unseen, source, kernels, .. } in &table.row {
        assert!(!source.is_empty() && !kernels.is_empty());
        for pattern in patterns {
            assert!(seen_twice.insert(pattern), "{pattern} stands in two rows");
            let wild = Wild {
                text: pattern.trim_matches('*').to_owned(),
                is_open_before: pattern.starts_with('*'),
                is_open_after: pattern.ends_with('*'),
                value: (),
            };
            let is_exact = wild.text == *pattern;
            let is_met = met.iter().any(|name| if is_exact { name == pattern } else { wild.matches(name) });
            assert_eq!(
                is_met,
                unseen.is_empty(),
                "{pattern}: exactly the patterns that match no chain are marked as unseen"
            );
        }
    }
    let User { tls, tls_modules, shared_modules } = &table.user;
    for pattern in tls.iter().chain(tls_modules).chain(shared_modules) {
        assert!(pattern.contains('*') || pattern.starts_with('['), "{pattern}");
    }
}

#[test]
fn every_layer_has_a_row_and_every_row_a_layer() {
    let table: Table = serde_json::from_str(TABLE).unwrap();
    let layers = Layers::builtin();
    assert_eq!(layers.names().last().unwrap(), "not attributed");
    for name in &layers.names()[..layers.names().len() - 1] {
        let is_of_programs = name.ends_with("its own code") || name.starts_with("system calls");
        assert!(is_of_programs || table.row.iter().any(|row| row.layer == *name), "{name}");
    }
}

/// Checks the layer of a kernel chain, which is written leaf first with ` < ` between the frames.
#[track_caller]
fn check(chain: &str, expected: &str) {
    let mut frames: Vec<(&str, &str)> = Vec::new();
    for frame in chain.split(" < ") {
        frames.push(frame.split_once('!').unwrap_or(("kernel", frame)));
    }
    let found = name_layer(&Layers::builtin(), Doer::Server, &frames).to_owned();
    assert!(found.starts_with(expected), "{chain}: {found}, not {expected}");
}

/// The callers of the chains in `CHOSEN`, by name.
const CALLERS: [(&str, &str); 7] = [
    (
        "receive",
        "tcp_rcv_established < tcp_v4_do_rcv < tcp_v4_rcv < ip_protocol_deliver_rcu < ip_local_deliver_finish < __netif_receive_skb_one_core < process_backlog < __napi_poll < net_rx_action < {softirq}",
    ),
    (
        "softirq",
        "handle_softirqs < do_softirq.part.0 < __local_bh_enable_ip < __dev_queue_xmit < ip_finish_output2 < ip_output < __ip_queue_xmit < {tcp}",
    ),
    ("tcp", "__tcp_transmit_skb < tcp_write_xmit < tcp_sendmsg_locked < tcp_sendmsg < {send}"),
    ("unix", "unix_stream_sendmsg < {send}"),
    ("send", "__sys_sendto < __x64_sys_sendto < {end}"),
    ("poll", "do_sys_poll < __x64_sys_ppoll < {end}"),
    ("end", "do_syscall_64 < entry_SYSCALL_64_after_hwframe"),
];

/// For each case: the inner frames of a chain (leaf first), the name of their callers in `CALLERS`, and the expected
/// layer, assigned by hand.
const CHOSEN: &[(&str, &str, &str)] = &[
    ("entry_SYSCALL_64_after_hwframe", "", "system calls"),
    ("fdget", "send", "system calls"),
    ("security_socket_sendmsg", "send", "system calls"),
    ("syscall_return_via_sysret", "", "system calls"),
    ("__x64_sys_getpid", "end", "system calls"),
    ("_raw_spin_lock < some_new_subsystem", "end", "not attributed"),
    ("__seccomp_filter < syscall_trace_enter", "end", "system calls"),
    ("rep_movs_alternative < _copy_from_iter < skb_copy_datagram_from_iter", "unix", "copying"),
    ("copy_user_enhanced_fast_string < copyin < _copy_from_iter", "tcp", "copying"),
    (
        "__check_object_size < simple_copy_to_iter < __skb_datagram_iter < skb_copy_datagram_iter < tcp_recvmsg_locked",
        "",
        "copying",
    ),
    ("_copy_from_user", "poll", "waiting"),
    ("kmem_cache_alloc_node_noprof < __alloc_skb < alloc_skb_with_frags < sock_alloc_send_pskb", "unix", "Unix socket"),
    (
        "sock_wfree < unix_destruct_scm < skb_release_head_state < consume_skb < unix_stream_read_generic",
        "",
        "Unix socket",
    ),
    ("_raw_spin_lock", "unix", "Unix socket"),
    ("kmalloc_reserve < __alloc_skb < tcp_stream_alloc_skb", "tcp", "TCP"),
    ("tcp_ack", "receive", "TCP"),
    ("__inet_lookup_established < tcp_v4_rcv < ip_protocol_deliver_rcu", "softirq", "TCP"),
    ("tcp_v4_rcv < ip_rcv < process_backlog < net_rx_action", "softirq", "TCP"),
    ("process_backlog < __napi_poll < net_rx_action", "softirq", "loopback device"),
    ("net_rx_action", "softirq", "loopback device"),
    ("__do_softirq < do_softirq", "tcp", "loopback device"),
    ("loopback_xmit < dev_hard_start_xmit < __dev_queue_xmit < ip_finish_output2", "tcp", "loopback device"),
    ("__local_bh_enable_ip < ip_finish_output2", "tcp", "TCP"),
    ("veth_xmit < dev_hard_start_xmit < br_dev_queue_push_xmit", "softirq", "bridge"),
    ("ip_sabotage_in < nf_hook_slow < ip_rcv", "softirq", "bridge"),
    ("nf_nat_ipv4_local_fn < nf_hook_slow < __ip_local_out", "tcp", "bridge"),
    ("tcp_bpf_sendmsg", "send", "eBPF"),
    ("sk_psock_msg_verdict < tcp_bpf_sendmsg", "send", "eBPF"),
    ("_raw_spin_unlock_irqrestore < __wake_up_sync_key < sock_def_readable", "unix", "waking"),
    ("_raw_spin_unlock_irqrestore < __wake_up_sync_key < sock_def_readable", "receive", "waking"),
    ("finish_task_switch.isra.0 < __schedule < schedule < poll_schedule_timeout.constprop.0", "poll", "waking"),
    ("finish_task_switch.isra.0 < __schedule < schedule < exit_to_user_mode_loop", "end", "waking"),
    ("wake_up_q < futex_wake < do_futex", "end", "waking"),
    ("unix_poll < sock_poll", "poll", "waiting"),
    ("tcp_stream_memory_free < tcp_poll < sock_poll", "poll", "waiting"),
    ("ep_send_events < do_epoll_wait < __x64_sys_epoll_wait", "end", "waiting"),
    ("futex_wait_queue < futex_wait < do_futex", "end", "waiting"),
    ("do_poll.constprop.0", "poll", "waiting"),
    (
        "clear_page_erms < do_anonymous_page < __handle_mm_fault < handle_mm_fault < exc_page_fault < asm_exc_page_fault",
        "",
        "memory",
    ),
    ("ext4_file_read_iter < vfs_read < ksys_read", "end", "files"),
    (
        "update_process_times < tick_nohz_handler < __hrtimer_run_queues < hrtimer_interrupt < sysvec_apic_timer_interrupt < asm_sysvec_apic_timer_interrupt",
        "tcp",
        "interrupts",
    ),
    ("asm_sysvec_apic_timer_interrupt", "", "interrupts"),
    ("tcp_delack_timer < call_timer_fn < run_timer_softirq < handle_softirqs", "", "TCP"),
    ("schedule < smpboot_thread_fn < kthread < ret_from_fork", "", "waking"),
    ("net_rx_action < handle_softirqs < run_ksoftirqd < smpboot_thread_fn < kthread", "", "loopback device"),
    ("invoke_syscall < el0_svc_common.constprop.0 < do_el0_svc < el0_svc", "", "system calls"),
    ("kfree < unknown_thread < kthread < ret_from_fork", "", "not attributed"),
    ("[veth]!", "softirq", "bridge"),
];

#[test]
fn a_chain_belongs_where_its_first_known_frame_belongs() {
    for (leaf, caller, expected) in CHOSEN {
        let mut chain = (*leaf).to_owned();
        if !caller.is_empty() {
            write!(chain, " < {{{caller}}}").unwrap();
        }
        for (name, frames) in CALLERS {
            chain = chain.replace(&format!("{{{name}}}"), frames);
        }
        check(&chain, expected);
    }
}

#[test]
fn outside_the_kernel_tls_is_told_from_own_code() {
    let layers = Layers::builtin();
    for (role, frames, expected) in [
        (Doer::Client, vec![("looptax", "looptax_bench::drive")], "client, its own code"),
        (Doer::Client, vec![("[vdso]", "__vdso_clock_gettime"), ("looptax", "now")], "client, its own code"),
        (Doer::Client, vec![("looptax", "<rustls::conn::Reader as std::io::Read>::read")], "TLS"),
        (Doer::Client, vec![("libc.so.6", "memcpy"), ("looptax", "rustls::record_layer::seal")], "TLS"),
        (Doer::Client, vec![("looptax", "ring_core_0_17_14__aes_gcm_enc_update_vaes_avx2")], "TLS"),
        (Doer::Client, vec![("looptax", "parse"), ("looptax", "rustls::stream::read")], "client, its own code"),
        (Doer::Server, vec![("mariadbd", "JOIN::exec")], "server, its own code"),
        (Doer::Server, vec![("mariadbd", "")], "server, its own code"),
        (Doer::Server, vec![("libcrypto.so.3", "")], "TLS"),
        (Doer::Server, vec![("libc.so.6", "malloc"), ("", ""), ("libssl.so.3", "SSL_read")], "TLS"),
        (Doer::Server, vec![("libc.so.6", "malloc")], "server, its own code"),
        (Doer::Proxy, vec![("docker-proxy", "io.copyBuffer")], "port proxy, its own code"),
        (Doer::Supervisor, vec![("looptax", "wait")], "supervisor, its own code"),
        (Doer::Server, vec![], "not attributed"),
    ] {
        assert_eq!(name_layer(&layers, role, &frames), expected, "{frames:?}");
    }
}
