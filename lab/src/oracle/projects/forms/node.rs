//! Projects in Node, whose `.env` contains a URL.

use looptax_model::dsn::Kind;

use super::super::draw::{Draw, Files};
use super::text::{dotenv, one_of, url};
use crate::coin::Coin;

const NOISE: [(&str, &str); 3] = [("NODE_ENV", "production"), ("PORT", "3000"), ("ORIGIN", "http://localhost:3000")];

/// Makes a `.env` with `DATABASE_URL` for pg or mysql2.
pub(super) fn database(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let (scheme, library) = if end.kind == Kind::Postgres {
        (one_of(coin, &["postgres", "postgresql"]), "\"pg\": \"^8.11.0\"")
    } else {
        ("mysql", "\"mysql2\": \"^3.9.0\"")
    };
    files("DATABASE_URL", url(scheme, end, "", coin), library, coin)
}

/// Makes a `.env` with `REDIS_URL` for ioredis.
pub(super) fn ioredis(draw: &Draw, coin: &mut Coin) -> Files {
    let text = url("redis", &draw.ends[0], "", coin);
    files("REDIS_URL", text, "\"ioredis\": \"^5.3.0\"", coin)
}

fn files(name: &'static str, url: String, library: &str, coin: &mut Coin) -> Files {
    let package = format!(
        "{{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"dependencies\": {{ \"dotenv\": \"^16.0.0\", {library} }}\n}}\n"
    );
    vec![(".env", dotenv(vec![(name, url)], &NOISE, coin)), ("package.json", package)]
}
