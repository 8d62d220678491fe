// Who asks which server over a stream socket of this machine, how often, and how long it takes.
//
// Lengths, times, addresses and processes; never a byte of what is said. A *turn* begins when what a client sends after
// it has received (or connected) arrives at the server, and ends when the client receives what the server sent after it
// had received that. Called by the kernel's tracepoints; read by `eyes`.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "sockets.h"

// Sixteen to the octave, in units of 64 ns: a bucket is at most 6.3 % wide, the last ones hold all above 68 s.
#define N_BUCKETS 512
// The server's part is timed in one of so many turns.
#define ONE_TIMED_OF 8
#define LOG2_PAIRS 16
#define N_PAIRS (1 << LOG2_PAIRS)
#define N_QUEUED 16384

// bpf_probe_read_kernel and bpf_get_current_task_btf are for such licences.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct pair_key {
	u64 addresses;
	u64 ports;
};

// What is known of one socket, kept with it by the kernel.
struct seat {
	struct pair_key key;
	u64 endpoint;
	// Of a client: the process that used it last; 0 before anyone has.
	u32 client;
	u8 role;
	u8 is_old;
	u8 is_used;
	// Its other end is on this machine beyond doubt.
	u8 is_local;
	// Both its ends are seen.
	u8 is_whole;
	u8 unused[3];
	// Where its pair is; another one may have taken the slot since.
	u32 slot;
	u32 generation;
};

// A connection, seen from both ends. What is written on the client's processor and on the server's lies apart, since a
// line of memory that both write costs more than all the counting.
struct pair {
	// When its turn began; 0 between two turns.
	u64 asked_ns;
	u32 generation;
	u32 client;
	// The turn that it is in.
	u32 turn;
	u32 n_bytes_asked;
	u32 n_bytes_answered;
	// Of what the server has got, what was counted.
	u32 n_bytes_got_before;
	u8 has_server;
	// The server has received or sent: it has accepted.
	u8 is_accepted;
	u8 unused[30];

	// The turns that the server has begun to receive, and that it has answered.
	u32 got;
	u32 answered;
	// Of turns whose server's part is timed.
	u64 got_ns;
	u64 answered_ns;
	// When it was opened, over TCP.
	u64 opened_ns;
	u32 server;
	u32 n_bytes_got;
	u32 n_bytes_given;
	u8 unused_too[20];
};

struct slot {
	u32 slot;
	u32 generation;
};

struct end {
	u32 parent;
	u32 pid;
	// By the clock that goes on in sleep: no other process of this number started then.
	u64 started_ns;
	u64 comm[COMM_BYTES / 8];
};

struct endpoint {
	u64 inode;
	u32 device;
	u32 network;
	u16 family;
	u16 port;
	u32 n_name_bytes;
	u64 name[NAME_BYTES / 8];
	// Who has received there last.
	struct end server;
};

struct hop_key {
	u64 endpoint;
	u64 client;
};

struct hop {
	u64 n_overlapping;
	u64 n_opened;
	u64 n_closed;
	u64 n_bytes_asked;
	u64 n_bytes_answered;
	u64 sum_ns;
	u64 served_sum_ns;
	struct end client;
	u32 times[N_BUCKETS];
	u32 served[N_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seat);
} seats SEC(".maps");

// Pairs, taken in turn: looked up several times per request, so by their place.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	// Its values begin with a page, and so each with a line of memory.
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, N_PAIRS);
	__type(key, u32);
	__type(value, struct pair);
} pairs SEC(".maps");

// Where a connection's pair is: how its two ends come together.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, N_PAIRS);
	__type(key, struct pair_key);
	__type(value, struct slot);
} slots SEC(".maps");

// How many pairs were taken.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} taken SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct hop_key);
	__type(value, struct hop);
} hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct endpoint);
} endpoints SEC(".maps");

// A hop without counts: too large for the stack.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hop);
} blank SEC(".maps");

// How long new connections waited until the server first received or sent, by endpoint.
struct waits {
	u64 sum_ns;
	u32 times[N_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct waits);
} accepts SEC(".maps");

// When connections to Unix sockets came into their listener's queue, by the inode of the client's socket, which no other
// socket has: the latest, each in the place of one that came long before.
struct queued {
	u64 inode;
	u64 at_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, N_QUEUED);
	__type(key, u32);
	__type(value, struct queued);
} queued SEC(".maps");

// What found no room in `hops`.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

// What the verifier does not know the type of.
#define READ(to, from) bpf_probe_read_kernel(&(to), sizeof(to), &(from))
#define ADD(place, n) __sync_fetch_and_add(&(place), (n))

static __always_inline u64 mixed(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 29);
}

static __always_inline u32 bucket(u64 ns)
{
	u64 units = ns >> 6;
	if (units >> 32)
		units = 0xffffffff;
	u64 rest = units;
	u32 log2 = 0;
	if (rest >> 16) { log2 += 16; rest >>= 16; }
	if (rest >> 8) { log2 += 8; rest >>= 8; }
	if (rest >> 4) { log2 += 4; rest >>= 4; }
	if (rest >> 2) { log2 += 2; rest >>= 2; }
	if (rest >> 1) { log2 += 1; }
	u32 at = log2 < 4 ? units : 16 + (log2 - 4) * 16 + ((units >> (log2 - 4)) & 15);
	// The verifier is to see the bound, and the compiler not to take it away.
	asm volatile("" : "+r"(at));
	return at & (N_BUCKETS - 1);
}

// Both ends come to the same key and the same endpoint. A loopback address is another one in every network.
static __always_inline int sit_tcp(struct seat *seat, const struct sock *sk, int role, int notes_elsewhere)
{
	struct tcp it = {};
	read_tcp(&it, sk);
	if (!it.own_port || !it.other_port)
		return 0;
	if (role == ROLE_UNKNOWN) {
		role = is_listened_at(it.network, it.own_port) ? ROLE_SERVER : ROLE_CLIENT;
	}
	int is_client = role == ROLE_CLIENT;
	u64 server_hi = is_client ? it.other_hi : it.own_hi, server_lo = is_client ? it.other_lo : it.own_lo;
	u64 client_hi = is_client ? it.own_hi : it.other_hi, client_lo = is_client ? it.own_lo : it.other_lo;
	u64 server_port = is_client ? it.other_port : it.own_port;
	u64 client_port = is_client ? it.own_port : it.other_port;
	u64 network = it.is_loopback ? it.network : 0;
	u64 server = mixed(mixed(AF_INET, server_hi), server_lo);
	u64 id = mixed(mixed(server, server_port), network) | 1;
	seat->key.addresses = mixed(mixed(server, client_hi), client_lo);
	seat->key.ports = mixed(client_port << 16 | server_port, network) | 1;
	seat->endpoint = id;
	seat->is_local = it.is_loopback;
	BARRIER();
	seat->role = role;
	// Of all that programs ask elsewhere nothing is kept.
	if ((!is_client || notes_elsewhere) && !bpf_map_lookup_elem(&endpoints, &id)) {
		struct endpoint endpoint = {};
		endpoint.network = it.network;
		endpoint.family = it.is_v6 ? AF_INET6 : AF_INET;
		endpoint.port = server_port;
		endpoint.n_name_bytes = 16;
		endpoint.name[0] = server_hi;
		endpoint.name[1] = server_lo;
		bpf_map_update_elem(&endpoints, &id, &endpoint, BPF_NOEXIST);
	}
	return 1;
}

// The end that was accepted has its listener's name; a client has usually none, and two ends without any are a pair
// that one program has made for itself.
static __always_inline int sit_unix(struct seat *seat, struct sock *sk)
{
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
	int role = ROLE_CLIENT;
	if (own) {
		BARRIER();
		// A name that it shares is its listener's.
		if (!others || own->refcnt.refs.counter > 1)
			role = ROLE_SERVER;
	} else {
		BARRIER();
		if (!others) {
			seat->role = ROLE_NEITHER;
			return 1;
		}
	}
	struct unix_sock *server = role == ROLE_SERVER ? self : other;
	struct unix_address *name = role == ROLE_SERVER ? own : others;
	struct endpoint endpoint = {};
	endpoint.family = AF_UNIX;
	endpoint.network = sk->__sk_common.skc_net.net->ns.inum;
	struct dentry *dentry = server->path.dentry;
	if (dentry) {
		struct inode *inode = dentry->d_inode;
		if (inode) {
			endpoint.inode = inode->i_ino;
			endpoint.device = inode->i_sb->s_dev;
		}
	}
	u32 n_bytes = name->len;
	if (n_bytes > NAME_BYTES)
		n_bytes = NAME_BYTES;
	endpoint.n_name_bytes = n_bytes;
	bpf_probe_read_kernel(endpoint.name, n_bytes, name->name);
	u64 id = mixed(mixed(AF_UNIX, endpoint.inode), endpoint.device);
	if (!endpoint.inode)
		id = mixed(id, endpoint.network);
#pragma unroll
	for (int i = 0; i < NAME_BYTES / 8; i++)
		id = mixed(id, endpoint.name[i]);
	id |= 1;
	if (!bpf_map_lookup_elem(&endpoints, &id))
		bpf_map_update_elem(&endpoints, &id, &endpoint, BPF_NOEXIST);
	seat->endpoint = id;
	seat->key.addresses = bpf_get_socket_cookie(role == ROLE_CLIENT ? sk : other_sk);
	seat->key.ports = 0;
	seat->is_local = 1;
	// Another processor may look as soon as it has a role.
	BARRIER();
	seat->role = role;
	return 1;
}

static __always_inline struct seat *seat_of(struct sock *sk)
{
	if (!is_stream(sk))
		return 0;
	struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!seat)
		// Another processor has made it meanwhile.
		seat = bpf_sk_storage_get(&seats, sk, 0, 0);
	if (!seat)
		return 0;
	if (seat->role == ROLE_UNKNOWN) {
		int is_unix = sk->__sk_common.skc_family == AF_UNIX;
		if (!(is_unix ? sit_unix(seat, sk) : sit_tcp(seat, sk, ROLE_UNKNOWN, 0)))
			return 0;
	}
	return seat->role == ROLE_NEITHER ? 0 : seat;
}

static __always_inline struct pair *pair_at(u32 slot, u32 generation)
{
	struct pair *pair = bpf_map_lookup_elem(&pairs, &slot);
	return pair && generation && pair->generation == generation ? pair : 0;
}

// A new one, in the place of the one that was taken longest ago; the one that another processor has taken for the same
// connection meanwhile, unless what was known of it is over.
static __noinline int take_pair(struct seat *seat, int is_anew)
{
	u32 zero = 0;
	if (!seat)
		return 0;
	u64 *n = bpf_map_lookup_elem(&taken, &zero);
	if (!n)
		return 0;
	u64 number = __sync_fetch_and_add(n, 1);
	struct slot place = { .slot = number & (N_PAIRS - 1), .generation = (number >> LOG2_PAIRS) + 1 };
	struct pair *pair = bpf_map_lookup_elem(&pairs, &place.slot);
	if (!pair)
		return 0;
	struct pair fresh = { .generation = place.generation, .turn = 1 };
	*pair = fresh;
	if (bpf_map_update_elem(&slots, &seat->key, &place, is_anew ? BPF_ANY : BPF_NOEXIST)) {
		struct slot *first = bpf_map_lookup_elem(&slots, &seat->key);
		if (!first)
			return 0;
		place = *first;
	}
	seat->slot = place.slot;
	seat->generation = place.generation;
	return 1;
}

static __always_inline struct pair *pair_of(struct seat *seat)
{
	struct pair *pair = pair_at(seat->slot, seat->generation);
	if (pair)
		return pair;
	struct slot *place = bpf_map_lookup_elem(&slots, &seat->key);
	if (place && (pair = pair_at(place->slot, place->generation))) {
		seat->slot = place->slot;
		seat->generation = place->generation;
	} else if (take_pair(seat, place != 0)) {
		pair = pair_at(seat->slot, seat->generation);
	}
	if (pair && seat->role == ROLE_CLIENT)
		pair->client = seat->client;
	return pair;
}

static __always_inline void note_current(struct end *end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	end->pid = current_pid();
	end->parent = task->real_parent->tgid;
	// A thread may have a name and a start of its own.
	struct task_struct *leader = task->group_leader;
	end->started_ns = leader->start_boottime;
	bpf_probe_read_kernel(end->comm, sizeof(end->comm), leader->comm);
}

static __always_inline struct hop *hop_of(u64 endpoint, u32 client)
{
	struct hop_key key = { .endpoint = endpoint, .client = client };
	struct hop *hop = bpf_map_lookup_elem(&hops, &key);
	if (hop)
		return hop;
	u32 zero = 0;
	struct hop *empty = bpf_map_lookup_elem(&blank, &zero);
	if (empty)
		bpf_map_update_elem(&hops, &key, empty, BPF_NOEXIST);
	hop = bpf_map_lookup_elem(&hops, &key);
	if (!hop) {
		u64 *n = bpf_map_lookup_elem(&lost, &zero);
		if (n)
			ADD(*n, 1);
	}
	return hop;
}

// The process that runs uses the client's end. A connection over TCP is counted when its server has it; another one,
// and one whose server is elsewhere, here, once, and not if it was there before.
static __always_inline void use(struct seat *seat, struct pair *pair)
{
	u32 client = current_pid();
	if (seat->client == client && seat->is_used)
		return;
	seat->client = client;
	pair->client = client;
	struct hop *hop = hop_of(seat->endpoint, client);
	if (!hop)
		return;
	if (!hop->client.comm[0])
		note_current(&hop->client);
	int is_tcp = seat->key.ports != 0;
	if (!seat->is_used && !seat->is_old && !(is_tcp && pair->has_server))
		ADD(hop->n_opened, 1);
	seat->is_used = 1;
}

// Reading the clock is a third of what a turn costs.
static __always_inline int is_timed(const struct seat *seat, const struct pair *pair)
{
	// Connections begin with different turns: the first one is often a login.
	return (pair->turn + seat->slot) % ONE_TIMED_OF == 0;
}

// Ends a turn, and counts it.
static __always_inline void end_turn(struct seat *seat, struct pair *pair, u64 now, int is_overlapping)
{
	u64 asked = pair->asked_ns;
	u32 turn = pair->turn, client = pair->client, n_bytes_got = pair->n_bytes_got;
	u32 n_bytes_asked = pair->has_server ? n_bytes_got - pair->n_bytes_got_before : pair->n_bytes_asked;
	u32 n_bytes_answered = client ? pair->n_bytes_answered : pair->n_bytes_given;
	pair->n_bytes_got_before = n_bytes_got;
	pair->n_bytes_asked = pair->n_bytes_answered = 0;
	if (!client)
		pair->n_bytes_given = 0;
	pair->asked_ns = 0;
	pair->turn = turn + 1;
	struct hop *hop = hop_of(seat->endpoint, client);
	if (!hop)
		return;
	if (is_overlapping)
		ADD(hop->n_overlapping, 1);
	ADD(hop->n_bytes_asked, n_bytes_asked);
	ADD(hop->n_bytes_answered, n_bytes_answered);
	if (client) {
		ADD(hop->sum_ns, now - asked);
		ADD(hop->times[bucket(now - asked)], 1);
	}
	if ((turn + seat->slot) % ONE_TIMED_OF == 0 || !client) {
		u64 got = pair->got_ns, answered = pair->answered == turn ? pair->answered_ns : now;
		if (pair->got == turn && got && answered >= got) {
			ADD(hop->served_sum_ns, answered - got);
			ADD(hop->served[bucket(answered - got)], 1);
		}
	}
}

// A client's connect(2) has put a socket into its listener's queue. Of two at the same time it may be the other one, which
// came a moment later.
static __always_inline void note_queued(struct sock *listener)
{
	struct sk_buff *last = listener->sk_receive_queue.prev;
	struct sock *server = last->sk, *client = 0;
	struct socket *socket = 0;
	struct file *file = 0;
	struct inode *inode = 0;
	u64 number = 0;
	READ(client, ((struct unix_sock *)server)->peer);
	READ(socket, client->sk_socket);
	READ(file, socket->file);
	READ(inode, file->f_inode);
	READ(number, inode->i_ino);
	u32 place = number & (N_QUEUED - 1);
	struct queued *it = bpf_map_lookup_elem(&queued, &place);
	if (!it)
		return;
	it->inode = number;
	it->at_ns = bpf_ktime_get_ns();
}

// The server receives or sends for the first time, which it does after it has accepted.
static __noinline int count_accept(struct seat *seat, u64 since)
{
	u64 now = bpf_ktime_get_ns();
	u32 zero = 0;
	if (!seat || !since || seat->is_old)
		return 0;
	struct waits *waits = bpf_map_lookup_elem(&accepts, &seat->endpoint);
	if (!waits) {
		struct hop *empty = bpf_map_lookup_elem(&blank, &zero);
		if (empty)
			bpf_map_update_elem(&accepts, &seat->endpoint, empty->times, BPF_NOEXIST);
		waits = bpf_map_lookup_elem(&accepts, &seat->endpoint);
		if (!waits)
			return 0;
	}
	u64 waited = now > since ? now - since : 0;
	ADD(waits->sum_ns, waited);
	ADD(waits->times[bucket(waited)], 1);
	return 0;
}

// A server receives on a connection for the first time.
static __noinline int first_received(struct seat *seat, struct pair *pair)
{
	if (!seat || !pair)
		return 0;
	pair->server = current_pid();
	struct endpoint *endpoint = bpf_map_lookup_elem(&endpoints, &seat->endpoint);
	if (endpoint && endpoint->server.pid != pair->server)
		note_current(&endpoint->server);
	if (!pair->is_accepted)
		count_accept(seat, pair->asked_ns);
	pair->is_accepted = 1;
	return 0;
}

// What a server sends before it has received has come to the client.
static __always_inline void accepted_by_send(struct seat *seat, struct pair *pair, struct sock *sk)
{
	u64 since = pair->opened_ns;
	if (!seat->key.ports) {
		u64 number = sk->sk_socket->file->f_inode->i_ino;
		u32 place = number & (N_QUEUED - 1);
		struct queued *it = bpf_map_lookup_elem(&queued, &place);
		since = it && it->inode == number ? it->at_ns : 0;
	}
	pair->is_accepted = 1;
	count_accept(seat, since);
}

// Data have arrived at a socket, by a send that has not returned yet.
SEC("tp_btf/sk_data_ready")
int BPF_PROG(arrived, struct sock *sk)
{
	if (sk->__sk_common.skc_state == TCP_LISTEN) {
		if (sk->__sk_common.skc_family == AF_UNIX && is_stream(sk))
			note_queued(sk);
		return 0;
	}
	struct seat *seat = seat_of(sk);
	if (!seat)
		return 0;
	struct pair *pair = pair_of(seat);
	if (!pair)
		return 0;
	if (seat->role == ROLE_SERVER) {
		if (!pair->has_server)
			pair->has_server = 1;
		if (pair->asked_ns) {
			// Told late, of what the server has taken and answered already, it is the turn's own.
			if (pair->answered != pair->turn || !sk->sk_receive_queue.qlen)
				return 0;
			// It asks on before it has received: its requests overlap, or it receives in a way that is not seen (splice).
			end_turn(seat, pair, bpf_ktime_get_ns(), 1);
		}
		pair->asked_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (!pair->is_accepted)
		accepted_by_send(seat, pair, sk);
	u32 turn = pair->turn;
	if (pair->asked_ns && pair->answered != turn && (pair->got == turn || !pair->has_server)) {
		if (is_timed(seat, pair))
			pair->answered_ns = bpf_ktime_get_ns();
		pair->answered = turn;
	}
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sent, struct sock *sk, int n_bytes, int flags)
{
	if (n_bytes <= 0)
		return 0;
	struct seat *seat = seat_of(sk);
	if (!seat)
		return 0;
	// What it sends is seen where it arrives.
	if (seat->is_whole)
		return 0;
	struct pair *pair = pair_of(seat);
	if (!pair)
		return 0;
	if (seat->role == ROLE_CLIENT) {
		if (!seat->is_used && seat->key.ports)
			sit_tcp(seat, sk, ROLE_CLIENT, 1);
		use(seat, pair);
		seat->is_whole = pair->has_server;
		pair->n_bytes_asked += n_bytes;
		// At another machine, or behind an address that is rewritten.
		if (!pair->asked_ns && !pair->has_server)
			pair->asked_ns = bpf_ktime_get_ns();
		return 0;
	}
	seat->is_whole = pair->client || seat->is_local;
	if (seat->is_whole)
		return 0;
	// Who asks is not on this machine: the server's part alone.
	pair->n_bytes_given += n_bytes;
	if (pair->asked_ns && pair->got == pair->turn)
		end_turn(seat, pair, bpf_ktime_get_ns(), 0);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(received, struct sock *sk, int n_bytes, int flags)
{
	if (n_bytes <= 0 || (flags & MSG_PEEK))
		return 0;
	struct seat *seat = seat_of(sk);
	if (!seat)
		return 0;
	struct pair *pair = pair_of(seat);
	if (!pair)
		return 0;
	if (seat->role == ROLE_CLIENT) {
		// Its server is elsewhere, and nobody counts that.
		if (!pair->has_server && !pair->asked_ns)
			return 0;
		use(seat, pair);
		pair->n_bytes_answered += n_bytes;
		// It may take an answer before its arrival is told.
		if (pair->asked_ns && (pair->answered == pair->turn || pair->got == pair->turn))
			end_turn(seat, pair, bpf_ktime_get_ns(), 0);
		return 0;
	}
	pair->n_bytes_got += n_bytes;
	u32 turn = pair->turn, client = pair->client;
	if (pair->got == turn)
		return 0;
	// It may take what was sent before its arrival is told.
	if (!pair->asked_ns)
		pair->asked_ns = bpf_ktime_get_ns();
	// Where nothing else is known, each turn's part is timed.
	if (is_timed(seat, pair) || !(client || seat->is_local))
		pair->got_ns = bpf_ktime_get_ns();
	if (!pair->server)
		first_received(seat, pair);
	pair->got = turn;
	return 0;
}

// TCP connections come and go.
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state, struct sock *sk, int old, int new)
{
	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (new == TCP_LISTEN) {
		note_listener(sk);
		return 0;
	}
	if (new == TCP_SYN_SENT) {
		// In its connect(2): who it is is known now, and its own port when it is connected.
		struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (seat)
			seat->client = current_pid();
		return 0;
	}
	if (new == TCP_ESTABLISHED) {
		struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!seat)
			return 0;
		if (old == TCP_SYN_RECV) {
			if (!sit_tcp(seat, sk, ROLE_SERVER, 0))
				return 0;
			struct pair *pair = pair_of(seat);
			if (!pair)
				return 0;
			pair->has_server = 1;
			pair->opened_ns = bpf_ktime_get_ns();
			// Without a client it comes from elsewhere.
			u32 client = pair->client;
			struct hop *hop = hop_of(seat->endpoint, client);
			if (!hop)
				return 0;
			ADD(hop->n_opened, 1);
			if (!client)
				return 0;
			// An interrupt's process is whoever ran.
			if (!hop->client.pid && current_pid() == client)
				note_current(&hop->client);
			hop->client.pid = client;
			return 0;
		}
		if (!sit_tcp(seat, sk, ROLE_CLIENT, 0))
			return 0;
		// Ports come again: nothing of an earlier connection is left.
		if (!take_pair(seat, 1))
			return 0;
		struct pair *pair = pair_at(seat->slot, seat->generation);
		if (pair)
			pair->client = seat->client;
		return 0;
	}
	if (new == TCP_CLOSE) {
		struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, 0);
		if (!seat || seat->role != ROLE_CLIENT)
			return 0;
		struct pair *pair = pair_at(seat->slot, seat->generation);
		if (pair && pair->has_server && pair->client) {
			struct hop *hop = hop_of(seat->endpoint, pair->client);
			if (hop)
				ADD(hop->n_closed, 1);
		}
		bpf_map_delete_elem(&slots, &seat->key);
	}
	return 0;
}

// Sockets that were there before, and ports that are listened at.
SEC("iter/task_file")
int before(struct bpf_iter__task_file *ctx)
{
	struct sock *sk = connected(ctx);
	if (!sk)
		return 0;
	struct seat *seat = bpf_sk_storage_get(&seats, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (seat && !seat->is_used)
		seat->is_old = 1;
	return 0;
}
