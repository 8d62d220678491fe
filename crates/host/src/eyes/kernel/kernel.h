// The fields of the kernel's own types that the programs read. Where they lie is found when the programs are loaded, by
// the BTF of the kernel that runs (CO-RE), so that one object serves all kernels.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
// Names that the headers of libbpf use.
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef signed short __s16;
typedef signed int __s32;
typedef signed long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef u16 __sum16;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };

#define KERNEL __attribute__((preserve_access_index))

struct ns_common { u32 inum; } KERNEL;
struct net { struct ns_common ns; } KERNEL;
typedef struct { struct net *net; } KERNEL possible_net_t;
struct in6_addr { union { u32 u6_addr32[4]; } in6_u; } KERNEL;
struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num, skc_family;
	u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
} KERNEL;
struct sock;
struct sk_buff { struct sock *sk; } KERNEL;
struct sk_buff_head { struct sk_buff *prev; u32 qlen; } KERNEL;
struct upid { int nr; } KERNEL;
struct pid { struct upid numbers[0]; } KERNEL;
struct socket;
struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	u16 sk_type, sk_protocol;
	struct socket *sk_socket;
	struct pid *sk_peer_pid;
} KERNEL;
typedef struct { int counter; } KERNEL atomic_t;
typedef struct { atomic_t refs; } KERNEL refcount_t;
struct sockaddr_un { u16 sun_family; char sun_path[108]; };
struct unix_address { refcount_t refcnt; int len; struct sockaddr_un name[0]; } KERNEL;
struct super_block { u32 s_dev; } KERNEL;
struct inode { u64 i_ino; struct super_block *i_sb; } KERNEL;
struct dentry { struct inode *d_inode; } KERNEL;
struct path { struct dentry *dentry; } KERNEL;
struct unix_sock { struct unix_address *addr; struct path path; struct sock *peer; } KERNEL;
struct file { struct inode *f_inode; } KERNEL;
struct socket { struct sock *sk; struct file *file; } KERNEL;
struct thread_info { u32 status; } KERNEL;
struct task_struct {
	struct thread_info thread_info;
	int tgid;
	u32 flags;
	struct task_struct *real_parent, *group_leader;
	u64 start_boottime;
	char comm[16];
} KERNEL;
// Of x86_64: where a system call's number and arguments are.
struct pt_regs { unsigned long dx, si, di, orig_ax; } KERNEL;
struct bpf_iter_meta;
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};
