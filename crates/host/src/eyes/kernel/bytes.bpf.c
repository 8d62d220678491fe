// What chosen connections send and receive: for `watch -w`, and only while it runs.
//
// The kernel calls these programs when a send or a receive has returned. They read the bytes from the memory of the
// process that made the system call, at the place that its arguments name, and hand them over in pieces. One end of a
// connection is enough: what it receives and sends, in its order. Each piece has its place in the stream, so that a byte
// that is missing is a gap that the reader sees.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "sockets.h"

#define MSG_TRUNC 0x20
// Threads that work for others: their registers are not those of the system call.
#define PF_IO_WORKER 0x10
#define PF_USER_WORKER 0x4000
#define PF_KTHREAD 0x200000
// A system call of a 32-bit program has other numbers.
#define TS_COMPAT 2

// A message has at most 1024 buffers; each takes a step to find and one for each piece.
#define N_STEPS 8192

// bpf_probe_read_user and bpf_get_current_task_btf are for such licences.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { KIND_CONNECTION = 1, KIND_PIECE = 2 };
enum { UNCHOSEN, LEFT_OUT, CHOSEN };
// Why bytes behind a piece are not there.
enum { WHY_NONE, WHY_SNAPPED, WHY_UNREADABLE, WHY_DROPPED };

// What is known of one socket, kept with it by the kernel.
struct seat {
	// Bytes of both directions until now: sent, received.
	u64 n_bytes[2];
	u8 chosen;
	u8 role;
	u8 is_old;
	// The reader knows its addresses.
	u8 is_told;
	u32 unused;
};

// Sent once for each socket, before its first piece.
struct connection {
	u32 kind;
	u32 pid;
	u64 ns;
	u64 cookie;
	// The other end's, of a Unix socket.
	u64 other_cookie;
	u64 inode;
	u32 device;
	u32 network;
	// Who was at the other end when it was opened, of a Unix socket; 0 for not known.
	u32 other_pid;
	u16 family;
	u16 own_port;
	u16 other_port;
	u8 role;
	u8 is_old;
	u32 n_name_bytes;
	u64 own_hi, own_lo, other_hi, other_lo;
	u64 comm[COMM_BYTES / 8];
	u64 name[NAME_BYTES / 8];
};

// Data follow.
struct piece {
	u32 kind;
	u32 pid;
	u64 ns;
	u64 cookie;
	// Where it begins, in bytes of this direction.
	u64 at;
	u32 n_bytes;
	// Bytes of the same send or receive behind this piece that are not read.
	u32 n_missing;
	u8 is_received;
	u8 why;
	u8 unused[6];
};

struct place {
	u64 hi, lo;
	u32 port;
	// 0 for any.
	u32 network;
};

struct file_id {
	u64 inode;
	u64 device;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seat);
} seats SEC(".maps");

// Processes; their children belong to them.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u8);
} chosen_pids SEC(".maps");

// Addresses of servers.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct place);
	__type(value, u8);
} chosen_places SEC(".maps");

// Files of servers' sockets.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct file_id);
	__type(value, u8);
} chosen_files SEC(".maps");

// The most bytes of one send or receive; and the number of chosen processes.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} limits SEC(".maps");

// Bytes that are missing, by why.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} missing SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} ring SEC(".maps");

static __always_inline u64 limit(u32 at)
{
	u64 *it = bpf_map_lookup_elem(&limits, &at);
	return it ? *it : 0;
}

static __always_inline void miss(u32 why, u64 n_bytes)
{
	u64 *n = bpf_map_lookup_elem(&missing, &why);
	if (n)
		__sync_fetch_and_add(n, n_bytes);
}

// A worker's parent is the process that was named.
static __always_inline int is_of_chosen_process(void)
{
	if (!limit(1))
		return 0;
	u32 pid = current_pid();
	if (bpf_map_lookup_elem(&chosen_pids, &pid))
		return 1;
	struct task_struct *task = bpf_get_current_task_btf();
	pid = task->real_parent->tgid;
	return bpf_map_lookup_elem(&chosen_pids, &pid) != 0;
}

static __always_inline int is_chosen_place(const struct tcp *it)
{
	struct place place = { .hi = it->own_hi, .lo = it->own_lo, .port = it->own_port };
	if (bpf_map_lookup_elem(&chosen_places, &place))
		return 1;
	place.network = it->network;
	if (bpf_map_lookup_elem(&chosen_places, &place))
		return 1;
	struct place any = { .port = it->own_port };
	return bpf_map_lookup_elem(&chosen_places, &any) != 0;
}

static __always_inline void read_file(struct unix_sock *it, u64 *inode, u32 *device)
{
	struct dentry *dentry = it->path.dentry;
	if (!dentry)
		return;
	struct inode *file = dentry->d_inode;
	if (!file)
		return;
	*inode = file->i_ino;
	*device = file->i_sb->s_dev;
}

// Whether a socket is one of those that were asked for, and which end it is.
static __noinline int choose(struct sock *sk, struct seat *seat)
{
	if (!sk || !seat)
		return 0;
	int is_named = 0, role = ROLE_CLIENT;
	if (sk->__sk_common.skc_family == AF_UNIX) {
		struct unix_sock *self = bpf_skc_to_unix_sock(sk);
		if (!self)
			return 0;
		struct sock *other_sk = self->peer;
		if (!other_sk)
			return 0;
		struct unix_sock *other = bpf_skc_to_unix_sock(other_sk);
		if (!other)
			return 0;
		struct unix_address *own = self->addr, *others = other->addr;
		if (own) {
			BARRIER();
			// A name that it shares is its listener's.
			if (!others || own->refcnt.refs.counter > 1)
				role = ROLE_SERVER;
		} else {
			BARRIER();
			if (!others)
				role = ROLE_NEITHER;
		}
		if (role == ROLE_SERVER) {
			u64 inode = 0;
			u32 device = 0;
			read_file(self, &inode, &device);
			struct file_id file = { .inode = inode, .device = device };
			is_named = bpf_map_lookup_elem(&chosen_files, &file) != 0;
		}
	} else {
		struct tcp it = {};
		read_tcp(&it, sk);
		if (!it.own_port || !it.other_port)
			return 0;
		// How it was opened tells; where it was there before, whether its port was listened at then.
		int is_known = seat->role != ROLE_UNKNOWN;
		if (is_known ? seat->role == ROLE_SERVER : is_listened_at(it.network, it.own_port)) {
			role = ROLE_SERVER;
			is_named = is_chosen_place(&it);
		}
	}
	seat->role = role;
	if (role == ROLE_NEITHER) {
		seat->chosen = LEFT_OUT;
		return 0;
	}
	if (is_named || is_of_chosen_process()) {
		seat->chosen = CHOSEN;
		return 1;
	}
	// Another process may be a chosen one.
	if (!limit(1))
		seat->chosen = LEFT_OUT;
	return 0;
}

static __noinline int tell(struct sock *sk, struct seat *seat)
{
	if (!sk || !seat)
		return 0;
	struct connection *it = bpf_ringbuf_reserve(&ring, sizeof(*it), 0);
	if (!it)
		return 0;
	__builtin_memset(it, 0, sizeof(*it));
	it->kind = KIND_CONNECTION;
	it->pid = current_pid();
	it->ns = bpf_ktime_get_ns();
	it->cookie = bpf_get_socket_cookie(sk);
	it->family = sk->__sk_common.skc_family;
	it->role = seat->role;
	it->is_old = seat->is_old;
	it->network = sk->__sk_common.skc_net.net->ns.inum;
	bpf_get_current_comm(it->comm, sizeof(it->comm));
	if (it->family != AF_UNIX) {
		struct tcp tcp = {};
		read_tcp(&tcp, sk);
		it->own_port = tcp.own_port;
		it->other_port = tcp.other_port;
		it->family = tcp.is_v6 ? AF_INET6 : AF_INET;
		it->own_hi = tcp.own_hi;
		it->own_lo = tcp.own_lo;
		it->other_hi = tcp.other_hi;
		it->other_lo = tcp.other_lo;
		bpf_ringbuf_submit(it, 0);
		return 1;
	}
	struct unix_sock *self = bpf_skc_to_unix_sock(sk);
	struct sock *other_sk = self ? self->peer : 0;
	if (other_sk) {
		it->other_cookie = bpf_get_socket_cookie(other_sk);
		struct unix_sock *other = bpf_skc_to_unix_sock(other_sk);
		struct unix_sock *server = seat->role == ROLE_SERVER ? self : other;
		if (server) {
			u64 inode = 0;
			u32 device = 0;
			read_file(server, &inode, &device);
			it->inode = inode;
			it->device = device;
			struct unix_address *name = server->addr;
			if (name) {
				BARRIER();
				u32 n_bytes = name->len;
				if (n_bytes > NAME_BYTES)
					n_bytes = NAME_BYTES;
				it->n_name_bytes = n_bytes;
				bpf_probe_read_kernel(it->name, n_bytes, name->name);
			}
		}
	}
	struct pid *other_pid = sk->sk_peer_pid;
	if (other_pid)
		it->other_pid = other_pid->numbers[0].nr;
	bpf_ringbuf_submit(it, 0);
	return 1;
}

// What is still to be read of one send or receive.
struct walk {
	// Buffers that follow, in the process's memory.
	u64 buffers;
	u64 n_buffers;
	// The one that is read.
	u64 base;
	u64 n_left;
	// Bytes to read, and those that the limit cuts off behind them.
	u64 n_wanted;
	u64 n_snapped;
	u64 ns;
	u64 cookie;
	u64 at;
	u32 pid;
	u8 is_received;
	u8 is_failed;
	u8 why;
};

struct buffer {
	u64 base;
	u64 n_bytes;
};

// A place of this size in the ring; the verifier wants to know the size.
static __always_inline int put(struct walk *it, u32 room, u64 n_bytes)
{
	struct piece *piece = bpf_ringbuf_reserve(&ring, sizeof(*piece) + room, 0);
	if (!piece) {
		it->why = WHY_DROPPED;
		return 0;
	}
	if (n_bytes > room)
		n_bytes = room;
	long failed = n_bytes ? bpf_probe_read_user(piece + 1, n_bytes, (void *)it->base) : 0;
	piece->kind = KIND_PIECE;
	piece->pid = it->pid;
	piece->ns = it->ns;
	piece->cookie = it->cookie;
	piece->at = it->at;
	piece->is_received = it->is_received;
	if (failed) {
		it->why = WHY_UNREADABLE;
		bpf_ringbuf_discard(piece, 0);
		return 0;
	}
	u64 rest = it->n_wanted - n_bytes;
	piece->n_bytes = n_bytes;
	// The last one names what the limit cuts off, or what cannot be read.
	piece->n_missing = rest && n_bytes ? 0 : rest + it->n_snapped;
	piece->why = piece->n_missing ? it->why : WHY_NONE;
	bpf_ringbuf_submit(piece, 0);
	it->base += n_bytes;
	it->at += n_bytes;
	it->n_left -= n_bytes;
	it->n_wanted = rest;
	return 1;
}

#define ROOM_1 (256 - sizeof(struct piece) - 8)
#define ROOM_2 (1024 - sizeof(struct piece) - 8)
#define ROOM_3 (4096 - sizeof(struct piece) - 8)
#define ROOM_4 (16384 - sizeof(struct piece) - 8)
#define ROOM_5 (61440 - sizeof(struct piece) - 8)

static long step(u32 number, struct walk *it)
{
	if (!it->n_wanted)
		return 1;
	if (!it->n_left) {
		struct buffer buffer;
		if (!it->n_buffers || bpf_probe_read_user(&buffer, sizeof(buffer), (void *)it->buffers)) {
			it->why = WHY_UNREADABLE;
			return 1;
		}
		it->buffers += sizeof(buffer);
		it->n_buffers--;
		it->base = buffer.base;
		it->n_left = buffer.n_bytes;
		return 0;
	}
	u64 n = it->n_left < it->n_wanted ? it->n_left : it->n_wanted;
	int is_put;
	if (n <= ROOM_1)
		is_put = put(it, ROOM_1, n);
	else if (n <= ROOM_2)
		is_put = put(it, ROOM_2, n);
	else if (n <= ROOM_3)
		is_put = put(it, ROOM_3, n);
	else if (n <= ROOM_4)
		is_put = put(it, ROOM_4, n);
	else
		is_put = put(it, ROOM_5, n);
	return !is_put;
}

// Where the buffers of the system call are; 0 for one whose buffers are not known.
static __always_inline int find_buffers(struct walk *it)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (task->flags & (PF_IO_WORKER | PF_USER_WORKER | PF_KTHREAD))
		return 0;
	if (task->thread_info.status & TS_COMPAT)
		return 0;
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 second = registers->si;
	switch (registers->orig_ax) {
	case 0: // read
	case 1: // write
	case 44: // sendto
	case 45: // recvfrom
		it->base = second;
		it->n_left = registers->dx;
		return 1;
	case 19: // readv
	case 20: // writev
	case 327: // preadv2
	case 328: // pwritev2
		it->buffers = second;
		it->n_buffers = registers->dx;
		return 1;
	case 46: // sendmsg
	case 47: // recvmsg
		// `struct msghdr`: the buffers and their number are its third and fourth words.
		if (bpf_probe_read_user(&it->buffers, 16, (void *)(second + 16)))
			return 0;
		return 1;
	}
	return 0;
}

static __always_inline int note(struct sock *sk, int n_bytes, int flags, int is_received)
{
	if (n_bytes <= 0 || !is_stream(sk))
		return 0;
	struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!seat)
		// Another processor has made it meanwhile.
		seat = bpf_sk_storage_get(&seats, sk, 0, 0);
	if (!seat || seat->chosen == LEFT_OUT)
		return 0;
	if (seat->chosen == UNCHOSEN) {
		// The kernel's own have no file: what is sent there is not what the process named.
		struct socket *socket = sk->sk_socket;
		if (!socket || !socket->file)
			return 0;
		if (!choose(sk, seat)) {
			// A chosen process may be handed it later: then these bytes were not seen.
			seat->is_old = 1;
			return 0;
		}
	}
	u64 at = __sync_fetch_and_add(&seat->n_bytes[is_received], n_bytes);
	if (!seat->is_told) {
		if (!tell(sk, seat)) {
			miss(WHY_DROPPED, n_bytes);
			return 0;
		}
		seat->is_told = 1;
	}
	struct walk it = {
		.ns = bpf_ktime_get_ns(),
		.cookie = bpf_get_socket_cookie(sk),
		.at = at,
		.pid = current_pid(),
		.is_received = is_received,
		.why = WHY_SNAPPED,
	};
	u64 most = limit(0);
	it.n_wanted = n_bytes;
	if (it.n_wanted > most) {
		it.n_snapped = it.n_wanted - most;
		it.n_wanted = most;
	}
	// What a receive threw away is nowhere.
	int is_there = !(is_received && (flags & MSG_TRUNC)) && find_buffers(&it);
	if (is_there)
		bpf_loop(N_STEPS, step, &it, 0);
	else
		it.why = WHY_UNREADABLE;
	if (it.n_snapped)
		miss(WHY_SNAPPED, it.n_snapped);
	if (it.n_wanted) {
		if (it.why == WHY_SNAPPED)
			it.why = WHY_UNREADABLE;
		miss(it.why, it.n_wanted);
		if (it.why == WHY_UNREADABLE)
			put(&it, ROOM_1, 0);
	}
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sent, struct sock *sk, int n_bytes, int flags)
{
	return note(sk, n_bytes, flags, 0);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(received, struct sock *sk, int n_bytes, int flags)
{
	return flags & MSG_PEEK ? 0 : note(sk, n_bytes, flags, 1);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state, struct sock *sk, int old, int new)
{
	if (sk->sk_protocol != IPPROTO_TCP || new != TCP_ESTABLISHED)
		return 0;
	struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (seat)
		seat->role = old == TCP_SYN_RECV ? ROLE_SERVER : ROLE_CLIENT;
	return 0;
}

// Sockets that were there before, and ports that were listened at.
SEC("iter/task_file")
int before(struct bpf_iter__task_file *ctx)
{
	struct sock *sk = connected(ctx);
	if (!sk)
		return 0;
	struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (seat && !seat->n_bytes[0] && !seat->n_bytes[1])
		seat->is_old = 1;
	return 0;
}
