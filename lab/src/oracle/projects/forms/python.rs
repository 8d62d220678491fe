//! Projects in Python: Django, Celery, redis-py, `SQLAlchemy`, libpq's own variables, and a program that looptax does
//! not know.

use looptax_model::dsn::Kind;

use super::super::draw::{Draw, End, Files, one_in};
use super::text::{dotenv, one_of, python, url, with_line_ends};
use crate::coin::Coin;

/// Makes Django's `settings.py`.
pub(super) fn django(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let is_postgres = end.kind == Kind::Postgres;
    let engine = if is_postgres { "postgresql" } else { "mysql" };
    let (mut head, host) = match coin.number() % 10 {
        0 => (format!("DB_HOST = {}\n", python(&end.host, coin)), "DB_HOST".to_owned()),
        1 => (String::new(), format!("os.environ.get('SHOP_DB_HOST', {})", python(&end.host, coin))),
        _ => (String::new(), python(&end.host, coin)),
    };
    let port = match coin.number() % 3 {
        0 if end.is_usual_port() => "''".to_owned(),
        1 => end.port.to_string(),
        _ => format!("'{}'", end.port),
    };
    let mut keys = vec![
        format!("'ENGINE': 'django.db.backends.{engine}',"),
        format!("'NAME': {},", python(&end.database, coin)),
        format!("'USER': {},", python(&end.user, coin)),
        format!("'PASSWORD': {},", python(&end.password, coin)),
        format!("'HOST': {host},"),
        format!("'PORT': {port},"),
    ];
    if one_in(coin, 4) {
        keys.push("'CONN_MAX_AGE': 60,".to_owned());
    }
    if !is_postgres && one_in(coin, 4) {
        keys.push("'OPTIONS': {'charset': 'utf8mb4'},".to_owned());
    }
    if one_in(coin, 5) {
        keys = coin.shuffled(keys);
    }
    if one_in(coin, 5) {
        keys.insert(0, "# 'HOST': 'db.example.org',".to_owned());
    }
    head.push_str("SECRET_KEY = 'k'\nALLOWED_HOSTS = ['127.0.0.1', 'localhost']\nUSE_TZ = True\n");
    let databases = if one_in(coin, 6) {
        format!(
            "DATABASES = {{'default': {{{}}}}}\n",
            keys.iter().filter(|it| !it.starts_with('#')).cloned().collect::<Vec<_>>().join(" ")
        )
    } else {
        let lines = keys.join("\n        ");
        format!("DATABASES = {{\n    'default': {{\n        {lines}\n    }}\n}}\n")
    };
    let cache = "CACHES = {'default': {'BACKEND': 'django.core.cache.backends.locmem.LocMemCache'}}\n";
    let settings = format!("import os\nfrom pathlib import Path\n\n{head}\n{databases}\n{cache}");
    let library = if is_postgres {
        String::new()
    } else {
        "import pymysql\n\npymysql.version_info = (2, 2, 7, 'final', 0)\npymysql.install_as_MySQLdb()\n".to_owned()
    };
    vec![
        ("shop/settings.py", with_line_ends(settings, coin)),
        ("shop/__init__.py", library),
        (
            "manage.py",
            "#!/usr/bin/env python\nimport os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
                .to_owned(),
        ),
        ("requirements.txt", format!("Django\n{}\n", if is_postgres { "psycopg2-binary" } else { "PyMySQL" })),
    ]
}

/// Makes a `celeryconfig.py`.
pub(super) fn celery(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let text = python(&url("redis", end, "", coin), coin);
    let results = match coin.number() % 4 {
        0 => format!("result_backend = {text}\n"),
        1 => "result_backend = broker_url\n".to_owned(),
        _ => String::new(),
    };
    let config = format!(
        "# Celery's settings\nbroker_url = {text}\n{results}task_serializer = 'json'\ntimezone = 'UTC'\nbroker_connection_retry_on_startup = True\n"
    );
    vec![
        ("celeryconfig.py", with_line_ends(config, coin)),
        ("requirements.txt", "celery[redis]==5.7.0\n".to_owned()),
        (
            "tasks.py",
            "from celery import Celery\n\napp = Celery('shop')\napp.config_from_object('celeryconfig')\n".to_owned(),
        ),
    ]
}

/// Makes a `.env` with `REDIS_URL`.
pub(super) fn redis_py(draw: &Draw, coin: &mut Coin) -> Files {
    let text = url("redis", &draw.ends[0], "", coin);
    let noise = [("LOG_LEVEL", "info"), ("BIND", "127.0.0.1:8000")];
    vec![
        (".env", dotenv(vec![("REDIS_URL", text)], &noise, coin)),
        ("requirements.txt", "redis==5.0.1\npython-dotenv\n".to_owned()),
        ("app.py", "import redis\n".to_owned()),
    ]
}

/// Makes a `.env` with a URL for `SQLAlchemy`.
pub(super) fn sqlalchemy(draw: &Draw, coin: &mut Coin) -> Files {
    let (text, driver) = sqlalchemy_url(&draw.ends[0], coin);
    let name = one_of(coin, &["SQLALCHEMY_DATABASE_URI", "SQLALCHEMY_DATABASE_URI", "DATABASE_URL"]);
    let noise = [("FLASK_ENV", "production"), ("SECRET_KEY", "s"), ("CORS", "http://localhost:3000")];
    vec![
        (".env", dotenv(vec![(name, text)], &noise, coin)),
        ("requirements.txt", format!("SQLAlchemy==2.0.30\n{driver}\n")),
        ("app.py", "import sqlalchemy\n".to_owned()),
    ]
}

/// Makes Flask's `config.py`.
pub(super) fn flask(draw: &Draw, coin: &mut Coin) -> Files {
    let (text, driver) = sqlalchemy_url(&draw.ends[0], coin);
    let value = match coin.number() % 4 {
        0 => format!("os.environ.get('SHOP_DATABASE') or {}", python(&text, coin)),
        _ => python(&text, coin),
    };
    let config = if coin.flip() {
        format!(
            "class Config:\n    SQLALCHEMY_DATABASE_URI = {value}\n\n\nSQLALCHEMY_DATABASE_URI = Config.SQLALCHEMY_DATABASE_URI\n"
        )
    } else {
        format!("SECRET_KEY = 's'\nSQLALCHEMY_DATABASE_URI = {value}\nSQLALCHEMY_ECHO = False\n")
    };
    vec![
        ("config.py", with_line_ends(format!("import os\n\n{config}"), coin)),
        ("requirements.txt", format!("Flask-SQLAlchemy==3.1.1\nSQLAlchemy==2.0.30\n{driver}\n")),
    ]
}

/// Returns the URL, and the line of `requirements.txt` that contains its driver.
fn sqlalchemy_url(end: &End, coin: &mut Coin) -> (String, &'static str) {
    if end.kind == Kind::Postgres {
        // Since version 2.1, a URL without a driver uses psycopg 3.
        return (url("postgresql+psycopg2", end, "", coin), "psycopg2-binary==2.9.9");
    }
    let query = one_of(coin, &["", "charset=utf8mb4"]);
    (url("mysql+pymysql", end, query, coin), "PyMySQL==1.1.0")
}

/// Makes a `.env` with the variables of libpq.
pub(super) fn libpq_env(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let mut pairs = vec![("PGHOST", end.host.clone())];
    if !end.is_usual_port() || coin.flip() {
        pairs.push(("PGPORT", end.port.to_string()));
    }
    pairs.push(("PGUSER", end.user.clone()));
    pairs.push(("PGPASSWORD", end.password.clone()));
    pairs.push(("PGDATABASE", end.database.clone()));
    if one_in(coin, 5) && end.host == "localhost" {
        pairs.push(("PGHOSTADDR", "127.0.0.1".to_owned()));
    }
    vec![("app.env", dotenv(pairs, &[("LISTEN", "127.0.0.1:9000"), ("TZ", "UTC")], coin))]
}

/// Makes a `.env` whose variable names do not show which program reads it.
pub(super) fn unknown(draw: &Draw, coin: &mut Coin) -> Files {
    let end = &draw.ends[0];
    let engine = if end.kind == Kind::Postgres { "postgres" } else { "mysql" };
    let pairs = vec![
        ("DB_ENGINE", engine.to_owned()),
        ("DB_HOST", end.host.clone()),
        ("DB_PORT", end.port.to_string()),
        ("DB_NAME", end.database.clone()),
        ("DB_USER", end.user.clone()),
        ("DB_PASSWORD", end.password.clone()),
    ];
    vec![(".env", dotenv(pairs, &[("WORKERS", "4"), ("HOST", "0.0.0.0")], coin))]
}
