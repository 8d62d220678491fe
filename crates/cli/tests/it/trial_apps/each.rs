//! An application with two servers, each of which is tried by itself as well.

use looptax_dsn::Kind;

use super::heard::General;
use super::plain::{PHP, page};
use super::tried::{Tried, of_front_page, trial};
use crate::fixture::Server;

/// What Redis itself noted of the pages' connections, over the socket and over TCP.
fn noted(redis: &Server) -> [u64; 2] {
    ["unix", "tcp"].map(|way| redis.redis(&["HGET", "ways", way]).parse().unwrap())
}

#[test]
fn a_page_of_mariadb_and_redis_has_three_contrasts() {
    let Some((mariadb, place)) = page("") else {
        return;
    };
    let Some(redis) = Server::start(Kind::Redis) else {
        return;
    };
    let script = include_str!("files/both.php")
        .replace("«redis_port»", &redis.it.tcp.port().to_string())
        .replace("«redis_password»", redis.password());
    place.write(&[("page.php", &script)]);
    let log = General::listen(&mariadb);
    let run = trial(&place, &[&mariadb, &redis]).args(["--each"]);
    let run = run.args(of_front_page(&place, &PHP)).run();
    let tried = Tried::expect_done(run, &place);

    let contrasts = tried.comparisons();
    assert_eq!(contrasts.len(), 3);
    // All pages: of the first look, the warm-ups and what counts. Each has a connection to either server.
    let (mut n_all, mut n_counted) = (1 + 2 * 4, [[0; 2]; 2]);
    for contrast in &contrasts {
        assert_eq!(contrast.design(), "flip");
        contrast.expect_pages(3 * contrast.slices_per_epoch());
        let [unix, tcp] = contrast.pages();
        assert_eq!(unix, tcp);
        n_all += 2 * contrast.slices_with_warm_up() * unix / (3 * contrast.slices_per_epoch());
        let only = contrast.0["trial"]["only"].as_u64();
        for (server, n_counted) in n_counted.iter_mut().enumerate() {
            let [moved, left] = [0, 1].map(|arm| contrast.connections(arm, server));
            n_counted[0] += moved[0] + left[0];
            n_counted[1] += moved[1] + left[1];
            if only.is_none_or(|it| it == server as u64) {
                assert_eq!((moved, left), ([unix, 0, 0], [0, unix, 0]));
            } else {
                // By the coin of each epoch, and so the same for both arms.
                assert_eq!(moved, left);
                assert_eq!(moved[0] + moved[1], unix);
                assert_eq!((moved[0] % (unix / 6), moved[2]), (0, 0));
            }
        }
    }
    let servers = tried.contrast_servers();
    let own = [mariadb.it.tcp, redis.it.tcp].map(|at| {
        let is_it = |from: &String| *from == at.to_string();
        servers.iter().position(is_it).unwrap()
    });
    let heard = [log.heard(), noted(&redis)];
    for (server, heard) in own.into_iter().zip(heard) {
        assert_eq!(heard[0] + heard[1], n_all, "{heard:?}");
        assert!(heard[0] >= n_counted[server][0], "{heard:?} {n_counted:?}");
        assert!(heard[1] >= n_counted[server][1], "{heard:?} {n_counted:?}");
    }
    let onlys = contrasts.iter().map(|it| it.0["trial"]["only"].as_u64());
    assert_eq!(onlys.collect::<Vec<_>>(), [None, Some(0), Some(1)]);
    tried.expect_told(&["mariadbd alone changes its way here", "redis-server alone"]);
}
