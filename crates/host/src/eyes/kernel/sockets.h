// What all programs for the kernel read of a socket: its family, its addresses and its ends.
#pragma once

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define IPPROTO_TCP 6
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define MSG_PEEK 2
#define BIG_ENDIAN_32(it) __builtin_bswap32(it)

// Bytes of a socket's name with its family, rounded up to words.
#define NAME_BYTES 112
#define COMM_BYTES 16

// Dereferences of null that the compiler would fold together are kept apart: the verifier forbids arithmetic with them.
#define BARRIER() asm volatile("" ::: "memory")

enum { ROLE_UNKNOWN, ROLE_CLIENT, ROLE_SERVER, ROLE_NEITHER };

static __always_inline u32 current_pid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

static __always_inline int is_stream(const struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;
	return sk->sk_type == SOCK_STREAM && (family == AF_UNIX || family == AF_INET || family == AF_INET6);
}

struct tcp {
	u64 own_hi, own_lo, other_hi, other_lo;
	u32 network;
	u16 own_port, other_port;
	u8 is_v6, is_loopback;
};

// An IPv4 address in IPv6 clothes is the IPv4 address.
static __always_inline void read_tcp(struct tcp *it, const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;
	it->own_port = common->skc_num;
	it->other_port = __builtin_bswap16(common->skc_dport);
	it->network = common->skc_net.net->ns.inum;
	if (common->skc_family == AF_INET6) {
		const u32 *other = common->skc_v6_daddr.in6_u.u6_addr32;
		const u32 *own = common->skc_v6_rcv_saddr.in6_u.u6_addr32;
		u32 a = other[0], b = other[1], c = other[2], d = other[3];
		if (a || b || c != BIG_ENDIAN_32(0xffff)) {
			it->is_v6 = 1;
			it->other_hi = (u64)b << 32 | a;
			it->other_lo = (u64)d << 32 | c;
			it->is_loopback = !it->other_hi && !c && d == BIG_ENDIAN_32(1);
			a = own[0]; b = own[1]; c = own[2]; d = own[3];
			it->own_hi = (u64)b << 32 | a;
			it->own_lo = (u64)d << 32 | c;
			return;
		}
	}
	it->other_lo = common->skc_daddr;
	it->own_lo = common->skc_rcv_saddr;
	it->is_loopback = (it->other_lo & 0xff) == 127;
}

// Ports that are listened at, with their network: whose end is whose, of connections that were there before.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, u8);
} listeners SEC(".maps");

static __always_inline int is_listened_at(u32 network, u16 port)
{
	u64 key = (u64)network << 16 | port;
	return bpf_map_lookup_elem(&listeners, &key) != 0;
}

static __always_inline void note_listener(const struct sock *sk)
{
	u64 key = (u64)sk->__sk_common.skc_net.net->ns.inum << 16 | sk->__sk_common.skc_num;
	u8 yes = 1;
	bpf_map_update_elem(&listeners, &key, &yes, BPF_ANY);
}

// The stream socket behind a file of a process; a listening one is noted, and left out.
static __always_inline struct sock *connected(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	if (!file)
		return 0;
	struct socket *socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	struct sock *sk = socket->sk;
	if (!sk || !is_stream(sk))
		return 0;
	if (sk->__sk_common.skc_family != AF_UNIX && sk->__sk_common.skc_state == TCP_LISTEN) {
		note_listener(sk);
		return 0;
	}
	return sk;
}
