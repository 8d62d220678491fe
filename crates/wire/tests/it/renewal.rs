//! Tests of requests that are made from the previous request.

use looptax_wire::{Codec, fastcgi, upstream};

use super::postgres::prepared as postgres;

#[test]
fn a_request_made_of_the_last_one_is_the_same_as_one_that_is_written() {
    let codecs: [Box<dyn Codec>; 10] = [
        Box::new(upstream::Fetch::new(&upstream::Asked::page("/")).unwrap()),
        Box::new(fastcgi::Page::new(&fastcgi::Asked::script("/a.php")).unwrap()),
        Box::new(looptax_wire::redis::Ping::new()),
        Box::new(looptax_wire::redis::Get::new("k")),
        Box::new(looptax_wire::redis::Set::new("k", 9, Some(60))),
        Box::new(looptax_wire::memcached::Get::new("k")),
        Box::new(looptax_wire::memcached::Set::new("k", 9, None)),
        Box::new(postgres::prepare(&[]).unwrap()),
        Box::new(postgres::prepare(&[23]).unwrap()),
        Box::new(postgres::prepare(&[20]).unwrap()),
    ];
    for mut codec in codecs {
        let renewal = codec.renewal();
        let mut renewed = Vec::new();
        codec.request(&mut 1, &mut renewed);
        for mut draw in [2, 987_654_321_012_345, 3] {
            let mut written = Vec::new();
            codec.request(&mut draw, &mut written);
            assert!(renewal.apply(&mut draw, &mut renewed));
            assert_eq!(renewed.escape_ascii().to_string(), written.escape_ascii().to_string());
        }
    }
}
