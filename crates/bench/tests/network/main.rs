//! Separate namespaces: the requests in them reach the container, and nothing outside is changed. Runs as root, or if
//! user namespaces are allowed.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use looptax_bench::path::{Host, Network, has_nft, may_make_namespaces, namespace_name};
use looptax_testkit::skips::skip;

/// Interfaces of the calling thread's namespace.
fn interfaces() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let names = text.lines().skip(2).filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// Runs `test` in a separate thread; the thread's namespaces end with it.
fn in_network(test: impl FnOnce(&Network) + Send + 'static) {
    if !may_make_namespaces() {
        skip("needs root");
        return;
    }
    let before = interfaces();
    let run = move || {
        let network = Network::enter(&[Host::Plain, Host::Nat]).unwrap();
        test(&network);
    };
    thread::spawn(run).join().unwrap();
    assert_eq!(interfaces(), before);
}

#[test]
fn the_container_is_reached_from_each_host_and_sees_its_address() {
    in_network(|network| {
        let container = namespace_name();
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in [Host::Plain, Host::Nat] {
            let address = SocketAddr::from((host.container_address(), port));
            let (stream, there) =
                network.on_host(host, || (TcpStream::connect(address).unwrap(), namespace_name())).unwrap();
            assert_ne!(there, container);
            let (mut accepted, from) = listener.accept().unwrap();
            assert_eq!(from.ip(), host.address());
            assert_eq!(from, stream.local_addr().unwrap());
            // A connection stays in the namespace in which it was opened, whichever process uses it.
            (&stream).write_all(b"x").unwrap();
            accepted.read_exact(&mut [0]).unwrap();
        }
        assert_eq!(namespace_name(), container);
    });
}

#[test]
fn a_published_port_is_translated() {
    if !has_nft() {
        skip("nft is not installed");
        return;
    }
    in_network(|network| {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        network.translate(port).unwrap();
        let published = SocketAddr::from((Host::Nat.address(), port));
        let connect = || TcpStream::connect(published).unwrap();
        let stream = network.on_host(Host::Nat, connect).unwrap();
        let (_, from) = listener.accept().unwrap();
        assert_eq!(stream.peer_addr().unwrap(), published);
        assert_eq!(from, stream.local_addr().unwrap());
    });
}

#[test]
fn loopback_is_the_containers_own() {
    let outside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = outside.local_addr().unwrap();
    in_network(move |_| {
        assert!(TcpStream::connect(address).is_err());
        let inside = TcpListener::bind(address).unwrap();
        TcpStream::connect(inside.local_addr().unwrap()).unwrap();
        assert_eq!(interfaces().len(), 3);
    });
}
