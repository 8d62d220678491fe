//! Data: every call that sends or receives.

use std::mem::zeroed;

use super::calls::{Turn, slot};
use super::program::Coin;
use crate::raw;

const DATA: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

pub(super) fn send(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(36) as usize);
    let flags = coin.one_of(&[0, 0, libc::MSG_MORE, libc::MSG_DONTWAIT, libc::MSG_DONTROUTE, libc::MSG_EOR]);
    let has_address = coin.below(12) == 0;
    Box::new(move |world| {
        let address = raw::raw(world.to, 16);
        let (place, n_address) = if has_address { (address.as_ptr().cast(), 16) } else { (std::ptr::null(), 0) };
        let fd = world.slots[at];
        let sent = unsafe { libc::sendto(fd, DATA.as_ptr().cast(), n, flags, place, n_address) };
        let sent = raw::number(sent as i64);
        if flags & libc::MSG_MORE != 0 {
            // Sends bytes that TCP holds back.
            raw::set_number(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
        }
        world.sent(at, sent);
        format!("sendto {at} {n} {flags:#x} {n_address}: {sent}")
    })
}

fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

pub(super) fn send_message(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(18) as usize);
    Box::new(move |world| {
        let mut parts = [part(&DATA[..n]), part(&DATA[18..])];
        let mut head: libc::msghdr = unsafe { zeroed() };
        head.msg_iov = parts.as_mut_ptr();
        head.msg_iovlen = 2;
        let sent = unsafe { libc::sendmsg(world.slots[at], &raw const head, 0) };
        let sent = raw::number(sent as i64);
        world.sent(at, sent);
        format!("sendmsg {at} {n}: {sent}")
    })
}

pub(super) fn write(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(36) as usize);
    Box::new(move |world| {
        let n = unsafe { libc::write(world.slots[at], DATA.as_ptr().cast(), n) };
        let sent = raw::number(n as i64);
        world.sent(at, sent);
        format!("write {at}: {sent}")
    })
}

pub(super) fn write_parts(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(18) as usize);
    Box::new(move |world| {
        let parts = [part(&DATA[..n]), part(&[]), part(&DATA[30..])];
        let sent = unsafe { libc::writev(world.slots[at], parts.as_ptr(), 3) };
        let sent = raw::number(sent as i64);
        world.sent(at, sent);
        format!("writev {at} {n}: {sent}")
    })
}

fn text(n: i64, bytes: &[u8]) -> String {
    format!("{n} {}", String::from_utf8_lossy(bytes))
}

pub(super) fn receive(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.one_of(&[0, 1, 5, 40]));
    let flags = [
        libc::MSG_DONTWAIT,
        libc::MSG_DONTWAIT | libc::MSG_PEEK,
        libc::MSG_DONTWAIT | libc::MSG_TRUNC,
        libc::MSG_DONTWAIT | libc::MSG_TRUNC | libc::MSG_PEEK,
        libc::MSG_ERRQUEUE,
        libc::MSG_DONTWAIT | libc::MSG_WAITALL,
        0,
        libc::MSG_PEEK,
        libc::MSG_TRUNC,
    ];
    let (flags, wants_address) = (coin.one_of(&flags), coin.below(12) == 0);
    Box::new(move |world| {
        let is_patient = flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) == 0;
        if is_patient && !world.may_wait(at) {
            return format!("recvfrom {at} {n} {flags:#x}: would wait");
        }
        let mut bytes = [b'.'; 40];
        let (mut address, mut n_address) = ([0_u8; 128], 128);
        let (place, length) = if wants_address {
            (address.as_mut_ptr(), &raw mut n_address)
        } else {
            (std::ptr::null_mut(), std::ptr::null_mut())
        };
        let fd = world.slots[at];
        let got = unsafe { libc::recvfrom(fd, bytes.as_mut_ptr().cast(), n, flags, place.cast(), length) };
        let got = raw::number(got as i64);
        world.received(at, got, flags);
        let told = if wants_address { n_address } else { 0 };
        format!("recvfrom {at} {n} {flags:#x} {wants_address}: {told} {}", text(got, &bytes))
    })
}

pub(super) fn receive_message(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let flags = coin.one_of(&[0, libc::MSG_PEEK, libc::MSG_TRUNC, libc::MSG_ERRQUEUE, libc::MSG_CTRUNC]);
    Box::new(move |world| {
        let mut bytes = [b'.'; 12];
        let (one, two) = bytes.split_at_mut(3);
        let mut parts = [part(one), part(two)];
        let mut control = [0_u8; 256];
        let mut head: libc::msghdr = unsafe { zeroed() };
        head.msg_iov = parts.as_mut_ptr();
        head.msg_iovlen = 2;
        head.msg_control = control.as_mut_ptr().cast();
        head.msg_controllen = control.len();
        head.msg_flags = 99;
        let got = unsafe { libc::recvmsg(world.slots[at], &raw mut head, flags | libc::MSG_DONTWAIT) };
        let got = raw::number(got as i64);
        world.received(at, got, flags);
        let (controls, told) = (head.msg_controllen, head.msg_flags);
        format!("recvmsg {at} {flags:#x}: {controls} {told} {}", text(got, &bytes))
    })
}

pub(super) fn read(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.one_of(&[0, 1, 5, 40]));
    Box::new(move |world| {
        if !world.may_wait(at) {
            return format!("read {at} {n}: would wait");
        }
        let mut bytes = [b'.'; 40];
        let got = unsafe { libc::read(world.slots[at], bytes.as_mut_ptr().cast(), n) };
        let got = raw::number(got as i64);
        world.received(at, got, 0);
        format!("read {at} {n}: {}", text(got, &bytes))
    })
}

pub(super) fn read_parts(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    Box::new(move |world| {
        if !world.may_wait(at) {
            return format!("readv {at}: would wait");
        }
        let mut bytes = [b'.'; 12];
        let (one, two) = bytes.split_at_mut(5);
        let parts = [part(one), part(two)];
        let got = unsafe { libc::readv(world.slots[at], parts.as_ptr(), 2) };
        let got = raw::number(got as i64);
        world.received(at, got, 0);
        format!("readv {at}: {}", text(got, &bytes))
    })
}
