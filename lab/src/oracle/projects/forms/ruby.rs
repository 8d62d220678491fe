//! Projects in Ruby on Rails, which read `database.yml`.

use looptax_model::dsn::Kind;
use std::fmt::Write as _;

use super::super::draw::{Draw, Files, UNUSED_DATABASE, one_in};
use super::text::{url, with_line_ends, yaml};
use crate::coin::Coin;

/// Makes a `config/database.yml`.
pub(super) fn rails(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let adapter = if end.kind == Kind::Postgres { "postgresql" } else { "mysql2" };
    let host = match coin.number() % 8 {
        0 => format!("'<%= ENV.fetch(\"SHOP_DB_HOST\") {{ \"{}\" }} %>'", end.host),
        1 => format!("\"<%= ENV['SHOP_DB_HOST'] || '{}' %>\"", end.host),
        _ if end.host.contains(':') => format!("'{}'", end.host),
        _ => yaml(&end.host, coin),
    };
    let mut place = format!("  host: {host}\n");
    if !end.is_usual_port() || coin.flip() {
        let _ = writeln!(place, "  port: {}", end.port);
    }
    let login = format!("  username: {}\n  password: {}\n", yaml(&end.user, coin), yaml(&end.password, coin));
    let database = format!("  database: {}\n", yaml(&end.database, coin));
    let encoding = if end.kind == Kind::Postgres { "unicode" } else { "utf8mb4" };
    let text = match coin.number() % 5 {
        0 => {
            let scheme = if end.kind == Kind::Postgres { "postgresql" } else { "mysql2" };
            format!(
                "default: &default\n  adapter: {adapter}\n  pool: 5\n\nproduction:\n  <<: *default\n  url: {}\n",
                url(scheme, end, "", coin)
            )
        }
        1 => format!("production:\n  adapter: {adapter}\n  encoding: {encoding}\n{database}{login}{place}  pool: 5\n"),
        2 => format!(
            "# {adapter}\ndefault: &default\n  adapter: {adapter}\n  encoding: {encoding}\n{login}\nproduction:\n  <<: *default\n{database}{place}"
        ),
        _ => format!(
            "default: &default\n  adapter: {adapter}\n  encoding: {encoding}\n  pool: <%= ENV.fetch(\"RAILS_MAX_THREADS\") {{ 5 }} %>\n{login}{place}\n\
             development:\n  <<: *default\n  database: {UNUSED_DATABASE}\n\nproduction:\n  <<: *default\n{database}"
        ),
    };
    let gem = if end.kind == Kind::Postgres { "pg" } else { "mysql2" };
    let mut files = vec![
        ("config/database.yml", with_line_ends(text, coin)),
        ("Gemfile", format!("gem \"rails\", \"~> 7.1\"\ngem \"{gem}\"\n")),
        ("config/application.rb", "require \"rails/all\"\n".to_owned()),
    ];
    if one_in(coin, 2) {
        files.push(("Gemfile.lock", format!("GEM\n  specs:\n    rails (7.1.3)\n    {gem} (0.5.3)\n")));
    }
    files
}
