//! What was published, with its figures: the only place where other people's numbers stand.
//!
//! Figures that a source shows in its charts alone are not here.

use looptax_record::Article;

use super::claim::{Claim, Says};

/// A published comparison.
#[derive(Debug)]
pub struct Publication {
    pub name: &'static str,
    title: &'static str,
    author: &'static str,
    system: &'static str,
    workload: &'static str,
    pub claims: &'static [Claim],
}

impl Publication {
    /// For the record.
    pub fn article(&self) -> Article {
        Article {
            title: self.title.to_owned(),
            author: self.author.to_owned(),
            system: self.system.to_owned(),
            workload: self.workload.to_owned(),
        }
    }

    /// The claim of that name.
    pub fn claim(&self, name: &str) -> &Claim {
        let mut claims = self.claims.iter();
        claims
            .find(|claim| claim.name == name)
            .expect("a part asks for claims of its own publication, which a test checks")
    }
}

pub(crate) static PERCONA: Publication = Publication {
    name: "percona",
    title: "Need to Connect to a Local MySQL Server? Use Unix Domain Socket!",
    author: "Peter Zaitsev, Percona, April 2020",
    system: "Percona Server for MySQL 8.0.19, Ubuntu 18.04, 2 sockets, 28 cores / 56 threads; checked on 4 cores too",
    workload: "sysbench primary-key lookups, prepared, on a small table; mysqldump of 10 million rows, 2 GB; lookups at \
               100,000 and 200,000 per second, where TCP could serve 250,000",
    claims: &[
        Claim {
            name: "point_select_1_thread",
            says: Says::TcpRatePct(-35.0),
            words: "TCP 35 % below the socket",
        },
        Claim {
            name: "point_select_64_threads",
            says: Says::TcpRatePct(-33.0),
            words: "TCP 33 % below the socket",
        },
        Claim {
            name: "mysqldump_10M_rows_2GB",
            says: Says::TcpTimePct(11.0),
            words: "TCP takes 11 % longer",
        },
        Claim {
            name: "inject_100k_qps_mean",
            says: Says::TcpTimePct(54.0),
            words: "mean 54 % longer over TCP",
        },
        Claim {
            name: "inject_100k_qps_p99",
            says: Says::TcpTimePct(50.0),
            words: "99th percentile 50 % longer over TCP",
        },
        Claim {
            name: "inject_200k_qps_mean",
            says: Says::TcpTimes {
                times: 3.7,
                digit: 0.1,
            },
            words: "mean 3.7 times as long over TCP",
        },
        Claim {
            name: "inject_200k_qps_p99",
            says: Says::TcpTimes {
                times: 12.0,
                digit: 1.0,
            },
            words: "99th percentile 12 times as long over TCP",
        },
    ],
};

pub(crate) static DIMITRI: Publication = Publication {
    name: "dimitri",
    title: "MySQL Performance: IP port -vs- UNIX socket impact in 8.0 GA",
    author: "Dimitri Kravtchuk, Oracle, 2018",
    system: "MySQL 8.0 GA on 2S Broadwell 44 cores-HT, 2S Skylake 48 cores-HT, 4S Broadwell 96 cores-HT",
    workload: "sysbench point selects, 1, 2, 4 … 1024 users",
    claims: &[
        Claim {
            name: "broadwell_2s_max",
            says: Says::UnixRatePct(18.0),
            words: "the socket 18 % above TCP: above 1.2M/s against below 1.1M/s",
        },
        Claim {
            name: "skylake_2s_max",
            says: Says::UnixRatePct(6.0),
            words: "the socket 6 % above TCP, 2M/s against 1.88M/s; up to 19 % at lower load",
        },
        Claim {
            name: "broadwell_4s_max",
            says: Says::UnixRatePct(7.0),
            words: "the socket 7 % above TCP, 2.25M/s against 2.1M/s",
        },
        Claim {
            name: "broadwell_4s_32_users",
            says: Says::UnixRatePct(29.0),
            words: "the socket 29 % above TCP, 536K/s against 417K/s",
        },
    ],
};

pub(crate) static WORDPRESS: Publication = Publication {
    name: "wordpress",
    title: "Do Unix Domain Sockets boost WordPress performance?",
    author: "2019",
    system: "WordPress 5.0.3, PHP 7.2.14, MariaDB 10.2.21",
    workload: "one page with 54 queries, loaded 15 times with the browser cache off, DB_HOST 127.0.0.1 against \
               localhost:/path/to/mysqld.sock",
    claims: &[
        Claim {
            name: "query_time",
            says: Says::UnixTimePct(-25.0),
            words: "25 % less time in queries on the socket",
        },
        Claim {
            name: "query_time_variation",
            says: Says::UnixTimePct(-20.0),
            words: "its standard deviation 20 % less on the socket",
        },
        Claim {
            name: "share_of_page",
            says: Says::SharePct { lo: 3.0, hi: 6.0 },
            words: "3 to 6 % of the page's time are queries, so the page as a whole hardly changes",
        },
    ],
};

pub(crate) static MOONEN: Publication = Publication {
    name: "moonen",
    title: "A performance comparison of AF_UNIX with loopback on Linux",
    author: "Scott Moonen, April 2008",
    system: "Celeron dual core, Debian 4.0, kernel 2.6.18",
    workload: "a stream of 100 GB; 100 million messages of 8 bytes, each answered by one",
    claims: &[
        Claim {
            name: "stream_100GB",
            says: Says::Times {
                unix: 80.575_200,
                tcp: 226.717_520,
            },
            words: "80.6 s on the socket, 226.7 s over TCP",
        },
        Claim {
            name: "message_8_bytes_100M",
            says: Says::Times {
                unix: 14.463_910,
                tcp: 1_133.444_424,
            },
            words: "14.5 µs on the socket, 1133.4 µs over TCP",
        },
        Claim {
            name: "message_8_bytes_100M_spread",
            says: Says::Times {
                unix: 0.003_376,
                tcp: 0.067_419,
            },
            words: "standard deviation 0.0034 µs on the socket, 0.0674 µs over TCP",
        },
    ],
};

pub(crate) static KAWIN: Publication = Publication {
    name: "kawin",
    title: "Database over TCP against Unix socket in containers",
    author: "Kawin Viriyaprasopsook, July 2023 (in Thai)",
    system: "Docker Compose: mariadb:lts and redis:alpine, ports published on the host, sockets on a shared volume",
    workload: "redis-benchmark -n 1000000 -t set,get -P 16; sysbench oltp_read_write, 16 threads; 127.0.0.1, which \
               goes through Docker's user-space proxy and a bridge, against the socket",
    claims: &[
        Claim {
            name: "redis_read",
            says: Says::Rates {
                unix: 1_555_209.88,
                tcp: 475_511.19,
            },
            words: "1.56M/s on the socket, 476K/s through the published port",
        },
        Claim {
            name: "redis_write",
            says: Says::Rates {
                unix: 1_270_648.00,
                tcp: 443_655.72,
            },
            words: "1.27M/s on the socket, 444K/s through the published port",
        },
        Claim {
            name: "mariadb_read",
            says: Says::Rates {
                unix: 212_688.0,
                tcp: 75_432.0,
            },
            words: "212,688 reads on the socket, 75,432 through the published port, in equal time",
        },
        Claim {
            name: "mariadb_latency",
            says: Says::Times {
                unix: 10.54,
                tcp: 29.76,
            },
            words: "10.54 ms per transaction on the socket, 29.76 ms through the published port",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Ratios;

    #[track_caller]
    fn check(publication: &Publication, name: &str, expected: f64) {
        let Ratios { lo, value, hi } = publication.claim(name).says.ratios();
        assert!((value - expected).abs() < 0.005, "{name}: {value}");
        assert!(lo <= value && value <= hi, "{name}");
    }

    #[test]
    fn claims_are_the_published_figures() {
        check(&PERCONA, "point_select_1_thread", 1.0 / 0.65);
        check(&PERCONA, "point_select_64_threads", 1.0 / 0.67);
        check(&PERCONA, "mysqldump_10M_rows_2GB", 1.11);
        check(&PERCONA, "inject_100k_qps_mean", 1.54);
        check(&PERCONA, "inject_100k_qps_p99", 1.5);
        check(&PERCONA, "inject_200k_qps_mean", 3.7);
        check(&PERCONA, "inject_200k_qps_p99", 12.0);
        check(&DIMITRI, "broadwell_2s_max", 1.18);
        check(&DIMITRI, "skylake_2s_max", 1.06);
        check(&DIMITRI, "broadwell_4s_max", 1.07);
        check(&DIMITRI, "broadwell_4s_32_users", 1.29);
        check(&WORDPRESS, "query_time", 1.0 / 0.75);
        check(&WORDPRESS, "query_time_variation", 1.25);
        check(&WORDPRESS, "share_of_page", 4.5);
        check(&MOONEN, "stream_100GB", 2.81);
        check(&MOONEN, "message_8_bytes_100M", 78.36);
        check(&MOONEN, "message_8_bytes_100M_spread", 19.97);
        check(&KAWIN, "redis_read", 3.27);
        check(&KAWIN, "redis_write", 2.86);
        check(&KAWIN, "mariadb_read", 2.82);
        check(&KAWIN, "mariadb_latency", 2.82);
    }
}
