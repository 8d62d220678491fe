//! Projects in Go, whose `.env` contains a DSN, and projects with MariaDB's own options file.

use looptax_model::dsn::Kind;

use super::super::draw::{Draw, Files, one_in};
use super::text::{dotenv, in_brackets, one_of, url, with_line_ends};
use crate::coin::Coin;

/// Makes the `.env` of a Go program.
pub(super) fn go(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let (name, text, library) = match end.kind {
        Kind::Postgres => {
            let query = one_of(coin, &["sslmode=disable", ""]);
            ("DATABASE_URL", url("postgres", end, query, coin), "github.com/jackc/pgx/v5 v5.5.5")
        }
        Kind::Redis => ("REDIS_URL", url("redis", end, "", coin), "github.com/redis/go-redis/v9 v9.5.1"),
        _ => {
            let query = one_of(coin, &["", "?parseTime=true", "?charset=utf8mb4&parseTime=True&loc=Local"]);
            let text = format!(
                "{}:{}@tcp({}:{})/{}{query}",
                end.user,
                end.password,
                in_brackets(&end.host),
                end.port,
                end.database
            );
            ("DATABASE_DSN", text, "github.com/go-sql-driver/mysql v1.8.1")
        }
    };
    let noise = [("HTTP_ADDR", "127.0.0.1:8080"), ("LOG_LEVEL", "info")];
    vec![
        (".env", dotenv(vec![(name, text)], &noise, coin)),
        ("go.mod", format!("module example.org/shop\n\ngo 1.22\n\nrequire {library}\n")),
        ("main.go", "package main\n".to_owned()),
    ]
}

/// Makes a `my.cnf` with a section `[client]`.
pub(super) fn options_file(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let mut lines = vec![
        format!("user = {}\n", end.user),
        format!("password = \"{}\"\n", end.password),
        format!("host={}\n", end.host),
        format!("database={}\n", end.database),
    ];
    if !end.is_usual_port() || coin.flip() {
        lines.push(format!("port = {}\n", end.port));
    }
    if one_in(coin, 4) {
        lines = coin.shuffled(lines);
    }
    if one_in(coin, 4) {
        lines.insert(0, "# host = db.example.org\n".to_owned());
    }
    let head = one_of(coin, &["", "# Options of the shop's programs\n\n", "[mysqldump]\nquick\n\n"]);
    let tail = one_of(coin, &["", "\n[mysql]\nno-auto-rehash\n"]);
    vec![("my.cnf", with_line_ends(format!("{head}[client]\n{}{tail}", lines.concat()), coin))]
}
