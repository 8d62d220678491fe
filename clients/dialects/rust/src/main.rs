//! Connects as each Rust driver does with the text that `looptax dsn` prints.
//!
//! usage: drive DIALECT, with jobs on stdin as clients/dialects/README.md says

use std::error::Error;
use std::io::{BufRead, stdin};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Row};

type Seen = Result<String, Box<dyn Error>>;

/// The lock file, from which the versions are read.
const LOCK: &str = include_str!("../Cargo.lock");

fn query() -> String {
    std::env::var("DIALECT_QUERY").unwrap_or_default()
}

async fn sqlx_mysql(text: &str) -> Seen {
    let mut connection = sqlx::MySqlConnection::connect(text).await?;
    let row = sqlx::raw_sql(AssertSqlSafe(query())).fetch_one(&mut connection).await?;
    Ok(row.try_get_unchecked(0)?)
}

async fn sqlx_postgres(text: &str) -> Seen {
    let mut connection = sqlx::PgConnection::connect(text).await?;
    let row = sqlx::raw_sql(AssertSqlSafe(query())).fetch_one(&mut connection).await?;
    Ok(row.try_get_unchecked(0)?)
}

/// Connects with both crates. They read the same URL, and the server has to see the same connection.
async fn mysql(text: &str) -> Seen {
    use mysql::prelude::Queryable;
    let mut connection = mysql::Conn::new(text)?;
    let seen: Option<String> = connection.query_first(query())?;
    let other = mysql_async(text).await?;
    match seen {
        Some(seen) if seen == other => Ok(seen),
        seen => Err(format!("mysql sees {seen:?}, mysql_async {other}").into()),
    }
}

async fn mysql_async(text: &str) -> Seen {
    use mysql_async::prelude::Queryable;
    let mut connection = mysql_async::Conn::from_url(text).await?;
    let seen: Option<String> = connection.query_first(query()).await?;
    connection.disconnect().await?;
    Ok(seen.unwrap_or_default())
}

async fn tokio_postgres(text: &str) -> Seen {
    let (client, connection) = tokio_postgres::connect(text, tokio_postgres::NoTls).await?;
    let task = tokio::spawn(connection);
    let row = client.query_one(&query(), &[]).await?;
    drop(client);
    task.await??;
    Ok(row.get(0))
}

/// Returns the user that is logged in, the URL's database, and the client's address as the server sees it.
async fn mongodb(text: &str) -> Seen {
    let url = text.strip_prefix("Client::with_uri_str(\"").and_then(|it| it.strip_suffix("\")"));
    let url = url.filter(|it| !it.contains(['"', '\\'])).ok_or("not an expression with a URL")?;
    let mut options = mongodb::options::ClientOptions::parse(url).await?;
    options.server_selection_timeout = Some(std::time::Duration::from_secs(3));
    let database = options.default_database.clone().unwrap_or_default();
    let admin = mongodb::Client::with_options(options)?.database("admin");
    let ask = async |command: &str| admin.run_command(mongodb::bson::doc! { command: 1 }).await;
    let status = ask("connectionStatus").await?;
    let users = status.get_document("authInfo")?.get_array("authenticatedUsers")?;
    let user = users.first().and_then(|it| it.as_document()).ok_or("nobody is logged in")?;
    let hex = |word: &str| word.bytes().map(|it| format!("{it:02X}")).collect::<String>();
    let place = ask("whatsmyuri").await?.get_str("you")?.replace(' ', "-");
    Ok(format!("{} {} {place}", hex(user.get_str("user")?), hex(&database)))
}

fn redis(text: &str) -> Seen {
    let mut connection = redis::Client::open(text)?.get_connection()?;
    Ok(redis::cmd("CLIENT").arg("INFO").query(&mut connection)?)
}

/// Returns the URL from a file of variables, for `cargo lab oracle spellings`.
fn url(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("DATABASE_URL=")).unwrap_or_default()
}

fn version(package: &str) -> String {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let rest = LOCK.split_once(&entry).map_or("", |(_, rest)| rest);
    format!("{package} {}", rest.split('"').next().unwrap_or_default())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let dialect = std::env::args().nth(1).expect("a dialect");
    let driver = match dialect.as_str() {
        "mysql.mysql-rs" => format!("{}, {}", version("mysql"), version("mysql_async")),
        "postgres.tokio-postgres" => version("tokio-postgres"),
        "redis.redis-rs" => version("redis"),
        "mongodb.mongodb-rs" => version("mongodb"),
        _ => version("sqlx"),
    };
    println!("{}", json!({"driver": driver, "language": "Rust"}));
    for line in stdin().lock().lines() {
        let job: Value = serde_json::from_str(&line.expect("lines")).expect("JSON");
        let text = job["text"].as_str().expect("a text");
        let seen = match dialect.as_str() {
            "mysql.sqlx" => sqlx_mysql(text).await,
            "mysql.mysql-rs" => mysql(text).await,
            "postgres.sqlx" => sqlx_postgres(text).await,
            "postgres.tokio-postgres" => tokio_postgres(text).await,
            "redis.redis-rs" => redis(text),
            "spelling.sqlx-mysql" => sqlx_mysql(url(text)).await,
            "spelling.sqlx-pgsql" => sqlx_postgres(url(text)).await,
            "mongodb.mongodb-rs" => mongodb(text).await,
            other => panic!("no dialect {other}"),
        };
        match seen {
            Ok(seen) => println!("{}", json!({"seen": seen})),
            Err(error) => println!("{}", json!({"error": error.to_string()})),
        }
    }
}
