//! Tests of logins that succeed, with each plugin, and of the bytes that are sent for them.

use looptax_wire::mysql::Connection;
use looptax_wire::{Channel, Login, WireError};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::num_bigint::BigUint;
use mysql_common::packets::HandshakeResponse;
use sha1::{Digest, Sha1};

use super::scripted::{End, Flavour, LIMIT, OK, SALT, Scripted, greeting, let_in, log_in, packet, somebody};

/// Scramble of `secret` with [`SALT`]: SHA1(p) ^ SHA1(s + SHA1(SHA1(p))) with p = secret and s = salt, computed with
/// Python's hashlib.
const NATIVE_HEX: &str = "8817c50fa779daef010ee7577825b0847df9842e";

/// Scramble of the same password and salt with SHA256(p) ^ SHA256(SHA256(SHA256(p)) + s).
const CACHING_SHA2_HEX: &str = "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809";

/// A key made by `openssl genrsa 1024`, only for this test: the output of `openssl rsa -pubout`, and the private
/// exponent.
const KEY_PEM: &[u8] = b"-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDS+n2uJtARUFmbkLm8jBmaIqft
AqLXzcBi3oMzCUAvBF8HmfMfryhIl1mz0pvSTZscSWvNe4smmCCV/tWjEM47cCmC
DHXMPculykDseIqoI9aFg8A6/eKIKiKXSpJNd/WR6UZiAMWrpbcm5VrwEeXlpVmG
CVfaNf8TFmYCqfxR3QIDAQAB
-----END PUBLIC KEY-----
";
const MODULUS_HEX: &[u8] = b"d2fa7dae26d01150599b90b9bc8c199a22a7ed02a2d7cdc062de833309402f04\
    5f0799f31faf28489759b3d29bd24d9b1c496bcd7b8b26982095fed5a310ce3b7029820c75cc3dcba5ca40ec788a\
    a823d68583c03afde2882a22974a924d77f591e9466200c5aba5b726e55af011e5e5a559860957da35ff13166602\
    a9fc51dd";
const PRIVATE_HEX: &[u8] = b"8d9df4b4ec7aa7d48e819cd1001deea586f3bf651097d915758834fb120f923f\
    d5e60d51a407f7fb5a14ad5f069750de784b546076b83decc99ac596f3c1391c765f03ebccda665236de52fcd246\
    47354d51a65f6e4919bc8dea77afa36e860935be76353fa02cf5671b7ff46e1073a964b04a1aa0418d17149253a5\
    bfc7a041";

/// Splits the client's bytes into packets; returns the sequence number and the payload of each.
fn split(heard: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut rest = heard;
    let mut packets = Vec::new();
    while let Some((&[low, middle, high, sequence], after)) = rest.split_first_chunk() {
        let n_bytes = u32::from_le_bytes([low, middle, high, 0]) as usize;
        packets.push((sequence, after[..n_bytes].to_vec()));
        rest = &after[n_bytes..];
    }
    assert!(rest.is_empty(), "half a packet: {rest:?}");
    packets
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Returns the scramble in a handshake response.
fn scramble(response: &[u8]) -> String {
    let response: HandshakeResponse<'_> = ParseBuf(response).parse(()).expect("a handshake response");
    hex(response.scramble_buf())
}

/// Logs in with the password `secret`; the login must succeed with `plugin`. `steps` are the server's packets after the
/// greeting, numbered as if the client answered each of them. Returns the payloads of the client.
#[track_caller]
fn check(channel: Channel, greeted: &str, steps: &[(u8, &[u8])], plugin: &str) -> Vec<Vec<u8>> {
    let mut sent = packet(0, &greeting(Flavour::MySql8, greeted));
    for (sequence, payload) in steps {
        sent.extend(packet(*sequence, payload));
    }
    let (outcome, heard) = log_in(&sent, "secret", channel);
    assert_eq!(outcome.expect("a login").auth_plugin(), plugin);
    let heard = split(&heard.borrow());
    heard.into_iter().map(|(_, payload)| payload).collect()
}

#[test]
fn logs_in_with_the_native_plugin() {
    let heard = check(Channel::PlainTcp, "mysql_native_password", &[(2, OK)], "mysql_native_password");
    assert_eq!(heard.len(), 1);
    assert_eq!(scramble(&heard[0]), NATIVE_HEX);
}

#[test]
fn a_cached_sha2_password_needs_no_more_than_the_scramble() {
    let steps: &[(u8, &[u8])] = &[(2, &[1, 3]), (3, OK)];
    let heard = check(Channel::PlainTcp, "caching_sha2_password", steps, "caching_sha2_password");
    assert_eq!(heard.len(), 1);
    assert_eq!(scramble(&heard[0]), CACHING_SHA2_HEX);
}

#[test]
fn an_uncached_sha2_password_goes_in_clear_over_a_socket() {
    let steps: &[(u8, &[u8])] = &[(2, &[1, 4]), (4, OK)];
    let heard = check(Channel::Local, "caching_sha2_password", steps, "caching_sha2_password");
    assert_eq!(heard[1..], [b"secret\0".to_vec()]);
}

#[test]
fn an_uncached_sha2_password_goes_encrypted_over_tcp() {
    let key = [b"\x01", KEY_PEM].concat();
    let steps: &[(u8, &[u8])] = &[(2, &[1, 4]), (4, &key), (6, OK)];
    let heard = check(Channel::PlainTcp, "caching_sha2_password", steps, "caching_sha2_password");
    assert_eq!(heard[1], [2]);
    let mut password = decrypt(&heard[2]);
    for (byte, salt) in password.iter_mut().zip(SALT) {
        *byte ^= salt;
    }
    assert_eq!(password, b"secret\0");
    assert_eq!(heard.len(), 3);
}

/// Decrypts RSA with OAEP (SHA-1, no label), as in RFC 8017 7.1.2.
fn decrypt(cipher: &[u8]) -> Vec<u8> {
    const DIGEST_BYTES: usize = 20;
    let number = |hex| BigUint::parse_bytes(hex, 16).expect("hexadecimal");
    let modulus = number(MODULUS_HEX);
    let plain = BigUint::from_bytes_be(cipher).modpow(&number(PRIVATE_HEX), &modulus);
    let plain = plain.to_bytes_be();
    // The block's first byte is 0, so it is missing in the number.
    let mut block = vec![0; 128 - plain.len()];
    block.extend(plain);
    assert_eq!(block[0], 0);
    let (masked_seed, masked_data) = block[1..].split_at(DIGEST_BYTES);
    let seed = unmask(masked_seed, masked_data);
    let data = unmask(masked_data, &seed);
    assert_eq!(data[..DIGEST_BYTES], Sha1::digest([])[..]);
    let padding = &data[DIGEST_BYTES..];
    let mark = padding.iter().position(|&byte| byte == 1).expect("a mark");
    assert!(padding[..mark].iter().all(|&byte| byte == 0));
    padding[mark + 1..].to_vec()
}

fn unmask(masked: &[u8], seed: &[u8]) -> Vec<u8> {
    let counters = (0_u32..).map(u32::to_be_bytes);
    let mask = counters.flat_map(|counter| Sha1::digest([seed, &counter].concat()).to_vec());
    masked.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

#[test]
fn signs_the_challenge_of_the_ed25519_plugin() {
    // For a password of 32 bytes the plugin computes plain Ed25519 with the password as the private key. Expected
    // signature: `openssl pkeyutl -sign -rawin -inkey KEY -in CHALLENGE`, with these 32 bytes as KEY.
    let password = "a password of thirty-two letters";
    let signature = "4926a42e9c62bfa0338fb44de484512c120dff78d6b2699d1fc8ba5cb8207ca1\
                     56de7775bb1764e47f6a38af3d607cfda537cd6ef1ba9d33df9ae87c58ec7807";
    let challenge: Vec<u8> = (1..=32).collect();
    let switch = [b"\xfeclient_ed25519\0", &challenge[..]].concat();
    let sent =
        [packet(0, &greeting(Flavour::MariaDb, "mysql_native_password")), packet(2, &switch), packet(4, OK)].concat();
    let (outcome, heard) = log_in(&sent, password, Channel::PlainTcp);
    assert_eq!(outcome.unwrap().auth_plugin(), "client_ed25519");
    let heard = split(&heard.borrow());
    assert_eq!(heard[1].0, 3, "sequence number");
    assert_eq!(hex(&heard[1].1), signature);
}

#[test]
fn follows_a_switch_to_a_new_salt() {
    let switch = [b"\xfemysql_native_password\0", &SALT[..], b"\0"].concat();
    let steps: &[(u8, &[u8])] = &[(2, &switch), (4, OK)];
    let heard = check(Channel::PlainTcp, "caching_sha2_password", steps, "mysql_native_password");
    assert_eq!(scramble(&heard[0]), CACHING_SHA2_HEX);
    assert_eq!(hex(&heard[1]), NATIVE_HEX);
}

/// Logs in to a server that switches to the clear-text plugin; returns the login's result and the client's messages.
fn asked_in_clear(enables_clear: bool) -> (Result<String, WireError>, Vec<Vec<u8>>) {
    let sent = [
        packet(0, &greeting(Flavour::MySql8, "auth_gssapi_client")),
        packet(2, b"\xfemysql_clear_password\0"),
        packet(4, OK),
    ]
    .concat();
    let login = Login { enables_clear, ..somebody("secret") };
    let stream = Scripted::new(&sent, End::Close);
    let heard = stream.heard();
    let outcome = Connection::login(stream, &login, Channel::Local, LIMIT);
    let heard = split(&heard.borrow());
    (outcome.map(|it| it.auth_plugin().to_owned()), heard.into_iter().map(|(_, payload)| payload).collect())
}

#[test]
fn starts_with_the_native_plugin_where_the_default_is_another() {
    let (outcome, heard) = asked_in_clear(true);
    assert_eq!(outcome.unwrap(), "mysql_clear_password");
    assert_eq!(scramble(&heard[0]), NATIVE_HEX);
    assert_eq!(heard[1], b"secret\0");
}

#[test]
fn r44_a_password_goes_in_clear_only_where_somebody_has_enabled_that() {
    let (outcome, heard) = asked_in_clear(false);
    assert!(matches!(outcome, Err(WireError::ClearNotEnabled)), "{outcome:?}");
    assert_eq!(heard.len(), 1, "we said nothing more");
}

#[test]
fn r44_to_another_machine_no_password_goes_under_whosever_key_answers() {
    for (plugin, wants) in [("caching_sha2_password", &[1, 4][..]), ("sha256_password", &[])] {
        let switch = [&b"\xfe"[..], plugin.as_bytes(), b"\0", SALT, b"\0"].concat();
        let mut sent = [packet(0, &greeting(Flavour::MySql8, "mysql_native_password")), packet(2, &switch)].concat();
        if !wants.is_empty() {
            sent.extend(packet(4, wants));
        }
        let (outcome, heard) = log_in(&sent, "secret", Channel::Foreign);
        let fault = outcome.expect_err("a refusal");
        assert!(matches!(fault, WireError::Unsupported { .. }), "{fault:?}");
        let asks_for_key = |it: &(u8, Vec<u8>)| it.1 == [1] || it.1 == [2];
        assert!(!split(&heard.borrow()).iter().any(asks_for_key), "{plugin}");
    }
}

#[track_caller]
fn check_refused(channel: Channel, challenge: &[u8], wanted: &str) {
    let sent = [packet(0, &greeting(Flavour::MySql8, "mysql_native_password")), packet(2, challenge)].concat();
    let (outcome, heard) = log_in(&sent, "secret", channel);
    let fault = outcome.expect_err("a refusal");
    assert!(matches!(fault, WireError::Unsupported { .. }), "{fault:?}");
    assert_eq!(fault.to_string(), format!("this connection needs `{wanted}`, which looptax does not support"));
    assert_eq!(split(&heard.borrow()).len(), 1, "we said nothing more");
}

#[test]
fn refuses_plugins_that_are_unknown_or_unsafe_here() {
    check_refused(Channel::PlainTcp, b"\xfemysql_clear_password\0", "mysql_clear_password");
    check_refused(Channel::Local, b"\xfe", "mysql_old_password");
    check_refused(Channel::Local, b"\xfemysql_old_password\0abcdefgh", "mysql_old_password");
    check_refused(Channel::Local, b"\xfeauth_gssapi_client\0", "auth_gssapi_client");
    check_refused(Channel::Local, b"\xfeparsec\0", "parsec");
    check_refused(Channel::Local, b"\xfe\x1b[2J\0", "\\x1b[2J");
}

#[test]
fn an_empty_password_has_an_empty_scramble() {
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        let sent = [packet(0, &greeting(Flavour::MySql8, plugin)), packet(2, OK)].concat();
        let (outcome, heard) = log_in(&sent, "", Channel::PlainTcp);
        assert_eq!(outcome.unwrap().auth_plugin(), plugin);
        assert_eq!(scramble(&split(&heard.borrow())[0].1), "");
    }
}

#[track_caller]
fn check_facts(flavour: Flavour, version: &str, is_mariadb: bool) {
    let (outcome, heard) = log_in(&let_in(flavour), "secret", Channel::Local);
    let connection = outcome.expect("a login");
    assert_eq!(connection.server_version(), version);
    assert_eq!(connection.is_mariadb(), is_mariadb);
    assert_eq!(connection.connection_id(), 77);
    let heard = split(&heard.borrow());
    assert_eq!((heard.len(), heard[0].0), (1, 1));
    let response: HandshakeResponse<'_> = ParseBuf(&heard[0].1).parse(()).expect("a response");
    assert_eq!(response.user(), somebody("").user.as_bytes());
    assert_eq!(response.db_name(), Some(&b"sbtest"[..]));
    assert_eq!(response.collation(), 45, "utf8mb4_general_ci");
    let refused = CapabilityFlags::CLIENT_SSL
        | CapabilityFlags::CLIENT_COMPRESS
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS;
    assert_eq!(response.capabilities() & refused, CapabilityFlags::empty());
    let is_old_style = !response.capabilities().contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
    assert_eq!(is_old_style, is_mariadb);
    let metadata_flags = if is_mariadb { 0x18 } else { 0 };
    assert_eq!(response.mariadb_ext_capabilities().bits(), metadata_flags);
    let is_eof_deprecated = response.capabilities().contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
    assert_eq!(is_eof_deprecated, flavour == Flavour::MySql8);
}

#[test]
fn takes_from_each_server_what_its_own_library_would() {
    check_facts(Flavour::MySql56, "5.6.51", false);
    check_facts(Flavour::MySql8, "8.4.3", false);
    check_facts(Flavour::MariaDb, "10.11.14-MariaDB-0+deb12u2", true);
}
