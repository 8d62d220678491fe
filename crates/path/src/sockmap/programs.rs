//! The two programs: one notes both ends of a connection to a spliced server, one hands each message to
//! the other end.
//!
//! Whatever happens, a connection goes on: what is not handed over goes as plain TCP. Assembled by
//! `Sockmap::start` with the descriptors of its maps; pure.
//!
//! # Source
//! linux/bpf.h for contexts and numbers; their byte orders as net/core/filter.c fills them: addresses in
//! network order, `local_port` in host order, `remote_port` as a 32-bit number in network order.

use Register::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};

use super::assembler::{Assembler, Helper, Instruction, Label, Register};

/// Bytes of a connection's key: own address, the other's, own port, the other's.
pub(super) const END_BYTES: u32 = 16;
/// Bytes of a server's key: its address in network order, its port as a 32-bit number in host order.
pub(super) const SERVER_BYTES: u32 = 8;
/// Bytes of the counters: [`REDIRECTED`] and those that follow.
pub(super) const COUNTER_BYTES: u32 = 32;

/// Bytes of the state: [`ANY_PLAIN`] and [`ALL_PLAIN`].
pub(super) const STATE_BYTES: u32 = 8;
/// The state from which on everything is plain TCP. The programs themselves only ever write the first
/// number.
pub(super) const STOPPED: [u8; STATE_BYTES as usize] = [1; STATE_BYTES as usize];
/// Offsets in the state, each of 32 bits.
const ANY_PLAIN: i16 = 0;
const ALL_PLAIN: i16 = 4;

/// Offsets of the counters, each of 64 bits.
pub(super) const REDIRECTED: i16 = 0;
/// See [`REDIRECTED`].
pub(super) const PLAIN: i16 = 8;
/// See [`REDIRECTED`].
pub(super) const SOCKETS: i16 = 16;
/// See [`REDIRECTED`].
pub(super) const REFUSED: i16 = 24;

/// The maps' descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maps {
    /// Connections' ends: key to socket.
    pub(super) ends: i32,
    /// The servers whose connections are spliced.
    pub(super) servers: i32,
    /// Ends that have sent a message as plain TCP, and do so for ever.
    pub(super) plain_ends: i32,
    /// Two numbers: whether any end is to be sent as plain TCP, and whether all are.
    pub(super) state: i32,
    /// The counters, per core.
    pub(super) counters: i32,
}

/// Where a context has the parts of a connection's name.
struct Context {
    remote_ip: i16,
    local_ip: i16,
    remote_port: i16,
    local_port: i16,
}

/// `struct bpf_sock_ops`.
const SOCK_OPS: Context = Context {
    remote_ip: 24,
    local_ip: 28,
    remote_port: 64,
    local_port: 68,
};
const SOCK_OPS_FAMILY: i16 = 20;
/// The third word of the other end's IPv6 address: 0xffff where it stands for an IPv4 one.
const SOCK_OPS_REMOTE_IP6_WORD_3: i16 = 40;

/// `struct sk_msg_md`.
const SK_MSG: Context = Context {
    remote_ip: 20,
    local_ip: 24,
    remote_port: 60,
    local_port: 64,
};

/// `BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB` and its counterpart: who connected, and who was connected to.
const CONNECTED: i32 = 4;
const ACCEPTED: i32 = 5;
/// `BPF_F_INGRESS`: the message goes to where the other end receives.
const INGRESS: i32 = 1;
/// `SK_PASS`, which is what a redirect that works gives, too.
const PASS: i32 = 1;

/// Notes an end of a new connection if the server's end of it is one of the servers. For the hook
/// `sock_ops` of a cgroup.
pub(super) fn note_end(maps: Maps) -> Vec<Instruction> {
    const SERVER: i16 = -8;
    const OWN: i16 = -24;
    let mut it = Assembler::default();
    let (end, connected, named, is_ipv4) = (it.label(), it.label(), it.label(), it.label());

    it.copy(R6, R1);
    it.load(R2, R6, 0);
    it.jump_if(R2, CONNECTED, connected);
    it.jump_unless(R2, ACCEPTED, end);
    it.load(R3, R6, SOCK_OPS.local_ip);
    it.load(R4, R6, SOCK_OPS.local_port);
    it.jump(named);
    it.place(connected);
    it.load(R3, R6, SOCK_OPS.remote_ip);
    it.load(R4, R6, SOCK_OPS.remote_port);
    it.swap_network_order(R4);
    it.place(named);
    it.store(Frame, SERVER, R3);
    it.store(Frame, SERVER + 4, R4);

    // A socket of IPv6 has an IPv4 address of its own making, unless it stands for one.
    it.load(R2, R6, SOCK_OPS_FAMILY);
    it.jump_if(R2, libc::AF_INET, is_ipv4);
    it.load(R2, R6, SOCK_OPS_REMOTE_IP6_WORD_3);
    it.swap_network_order(R2);
    it.jump_unless(R2, 0xffff, end);
    it.place(is_ipv4);

    on_map(&mut it, maps.servers, SERVER, Helper::MapLookup);
    it.jump_if(R0, 0, end);
    store_key(&mut it, &SOCK_OPS, OWN, false);
    // An earlier connection may have had the same name.
    on_map(&mut it, maps.plain_ends, OWN, Helper::MapDelete);
    it.copy(R1, R6);
    it.map(R2, maps.ends);
    address(&mut it, R3, OWN);
    it.set(R4, 0);
    it.call(Helper::SockHashUpdate);
    it.copy(R7, R0);
    count_end(&mut it, maps, end);
    it.place(end);
    it.set(R0, 1);
    it.exit();
    it.finish()
}

/// Counts by `R7`, the result of noting.
fn count_end(it: &mut Assembler, maps: Maps, end: Label) {
    let refused = it.label();
    find_single(it, maps.counters, end);
    it.set(R1, 1);
    it.jump_unless(R7, 0, refused);
    it.add_atomically(R0, SOCKETS, R1);
    it.jump(end);
    it.place(refused);
    it.add_atomically(R0, REFUSED, R1);
}

/// Hands a message to the connection's other end. For the map of ends, as its `sk_msg` verdict.
///
/// An end that has once sent as plain TCP does so for ever: its receiver takes what was handed over
/// before what came through TCP, so a later message could overtake an earlier one. The other way round,
/// from handing over to plain TCP, is safe for the same reason.
pub(super) fn hand_over(maps: Maps) -> Vec<Instruction> {
    const OTHER: i16 = -16;
    const OWN: i16 = -32;
    const VALUE: i16 = -40;
    let mut it = Assembler::default();
    let (end, attempt, plain, redirected) = (it.label(), it.label(), it.label(), it.label());

    it.copy(R6, R1);
    store_key(&mut it, &SK_MSG, OTHER, true);
    store_key(&mut it, &SK_MSG, OWN, false);
    find_single(&mut it, maps.counters, end);
    it.copy(R8, R0);
    find_single(&mut it, maps.state, end);
    it.copy(R9, R0);
    it.load(R2, R9, ANY_PLAIN);
    it.jump_if(R2, 0, attempt);
    it.load(R2, R9, ALL_PLAIN);
    it.jump_unless(R2, 0, plain);
    on_map(&mut it, maps.plain_ends, OWN, Helper::MapLookup);
    it.jump_unless(R0, 0, plain);

    it.place(attempt);
    it.copy(R1, R6);
    it.map(R2, maps.ends);
    address(&mut it, R3, OTHER);
    it.set(R4, INGRESS);
    it.call(Helper::MsgRedirectHash);
    it.jump_if(R0, PASS, redirected);

    it.store_number(Frame, VALUE, 1);
    it.map(R1, maps.plain_ends);
    address(&mut it, R2, OWN);
    address(&mut it, R3, VALUE);
    it.set(R4, 0);
    it.call(Helper::MapUpdate);
    it.store_number(R9, ANY_PLAIN, 1);
    it.place(plain);
    it.set(R1, 1);
    it.add_atomically(R8, PLAIN, R1);
    it.jump(end);

    it.place(redirected);
    it.set(R1, 1);
    it.add_atomically(R8, REDIRECTED, R1);
    it.place(end);
    it.set(R0, PASS);
    it.exit();
    it.finish()
}

/// Puts a key on the stack from the context in `R6`: this end's, or as the other end sees itself.
fn store_key(it: &mut Assembler, context: &Context, at: i16, is_other: bool) {
    let (local, remote) = if is_other { (4, 0) } else { (0, 4) };
    it.load(R2, R6, context.local_ip);
    it.store(Frame, at + local, R2);
    it.load(R2, R6, context.remote_ip);
    it.store(Frame, at + remote, R2);
    it.load(R2, R6, context.local_port);
    it.store(Frame, at + 8 + local, R2);
    it.load(R2, R6, context.remote_port);
    it.swap_network_order(R2);
    it.store(Frame, at + 8 + remote, R2);
}

/// `R0 = helper(map, key on the stack)`
fn on_map(it: &mut Assembler, map: i32, key: i16, helper: Helper) {
    it.map(R1, map);
    address(it, R2, key);
    it.call(helper);
}

/// `R0 =` the place of the only value of an array. The kernel cannot know that it is there, and wants a
/// way out.
fn find_single(it: &mut Assembler, map: i32, otherwise: Label) {
    const ZERO: i16 = -48;
    it.store_number(Frame, ZERO, 0);
    on_map(it, map, ZERO, Helper::MapLookup);
    it.jump_if(R0, 0, otherwise);
}

/// `target =` a place on the stack.
fn address(it: &mut Assembler, target: Register, at: i16) {
    it.copy(target, Frame);
    it.add(target, i32::from(at));
}
