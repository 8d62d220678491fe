//! A page that sends 20 queries to a database over a connection of sqlx's pool: site PORT.

use std::error::Error;

use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = MySqlConnectOptions::new()
        .host("127.0.0.1")
        .port(variable("TRIAL_PORT").parse()?)
        .username(&variable("TRIAL_USER"))
        .password(&variable("TRIAL_PASSWORD"))
        .database(&variable("TRIAL_DATABASE"))
        .ssl_mode(sqlx::mysql::MySqlSslMode::Disabled);
    let pool = MySqlPoolOptions::new().max_connections(4).connect_with(options).await?;
    let port = std::env::args().nth(1).ok_or("site PORT")?;
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream, pool.clone()));
    }
}

/// Serves the requests of one connection, one after another. A request head must arrive in a single read.
async fn serve(mut stream: TcpStream, pool: MySqlPool) {
    let mut head = [0; 8192];
    while let Ok(1..) = stream.read(&mut head).await {
        let (status, page) = match page(&pool).await {
            Ok(sum) => ("200 OK", format!("sum {sum}\n")),
            Err(error) => ("500 Internal Server Error", error.to_string()),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Type: text/plain\r\n\r\n{page}",
            page.len()
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn page(pool: &MySqlPool) -> Result<i64, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let mut sum = 0;
    for key in 0..20_i64 {
        let (found,): (i64,) = sqlx::query_as("select ?").bind(key).fetch_one(&mut *connection).await?;
        sum += found;
    }
    Ok(sum)
}
