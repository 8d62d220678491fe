//! Interfaces and addresses of the calling thread's network namespace, over netlink, as `ip` does.
//!
//! # Source
//! `rtnetlink(7)`; the kernel's `include/uapi/linux/if_link.h`, `if_addr.h`.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use netlink_packet_core::{
    ErrorBuffer, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader,
    NetlinkMessage,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use rustix::net::netdevice::name_to_index;

const ANSWER_BYTES: usize = 32 << 10;
/// Number of address bits that identify the network.
const PREFIX_BITS: u8 = 24;

/// A netlink socket, through which the kernel changes one namespace.
pub(super) struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens a socket for the namespace that the calling thread is in now.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { socket: Socket::new(NETLINK_ROUTE)? })
    }

    pub(super) fn add_bridge(&mut self, name: &str) -> io::Result<()> {
        let info = LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge)]);
        self.add_link(name, info)
    }

    /// Adds a pair of interfaces; the other end is in the namespace of the descriptor `namespace`.
    pub(super) fn add_veth(&mut self, name: &str, peer: &str, namespace: RawFd) -> io::Result<()> {
        let mut other = LinkMessage::default();
        other.attributes = vec![LinkAttribute::IfName(peer.to_owned()), LinkAttribute::NetNsFd(namespace)];
        let data = LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other)));
        let info = LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), data]);
        self.add_link(name, info)
    }

    fn add_link(&mut self, name: &str, info: LinkAttribute) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.attributes = vec![LinkAttribute::IfName(name.to_owned()), info];
        self.ask(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }

    pub(super) fn set_up(&mut self, name: &str) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = self.index_of(name)?;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    pub(super) fn put_on_bridge(&mut self, name: &str, bridge: &str) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = self.index_of(name)?;
        link.attributes = vec![LinkAttribute::Controller(self.index_of(bridge)?)];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    pub(super) fn add_address(&mut self, name: &str, address: Ipv4Addr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = PREFIX_BITS;
        message.header.index = self.index_of(name)?;
        message.attributes = vec![AddressAttribute::Local(address.into()), AddressAttribute::Address(address.into())];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    fn index_of(&self, name: &str) -> io::Result<u32> {
        Ok(name_to_index(&self.socket, name)?)
    }

    /// Sends one request, and waits until the kernel reports that it is done.
    fn ask(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut packet = NetlinkMessage::new(header, message.into());
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answer = Vec::with_capacity(ANSWER_BYTES);
        self.socket.recv(&mut answer, 0)?;
        // The library could parse the answer, too. But its parser knows all messages, and would be a large part of a
        // small program.
        let answer = NetlinkBuffer::new_checked(&answer).map_err(io::Error::other)?;
        if answer.message_type() != NLMSG_ERROR {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let said = ErrorBuffer::new_checked(answer.payload()).map_err(io::Error::other)?;
        match said.code() {
            None => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(code.get().wrapping_neg())),
        }
    }
}
