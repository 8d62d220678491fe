//! Tests how scripts, crontabs and units are read, and the calls of client programs in them.

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = read(text);
    let shown = found.iter().map(|it| {
        let value = match &it.value {
            Value::Text(text) => text.clone(),
            Value::Variable { name, .. } => format!("${name}"),
            Value::Hidden => "?".to_owned(),
        };
        let doubt = if it.doubt.is_some() { " !" } else { "" };
        format!("{} {}={value}{doubt}", it.line, it.path.join("/"))
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    for setting in &found {
        assert_eq!(&text[setting.place()], setting.item);
    }
}

#[test]
fn options_of_clients_are_read_in_each_of_their_forms() {
    check(
        "mysqldump -hh -u'u' -pp --port=1 -e x --single-transaction d t | gzip > \"$F\" # mysql -h i\n",
        &[
            "1 mysql/mysqldump/database=d",
            "1 mysql/mysqldump/host=h",
            "1 mysql/mysqldump/password=p",
            "1 mysql/mysqldump/port=1",
            "1 mysql/mysqldump/user=u",
        ],
    );
    check(
        "sudo -u postgres psql \\\n  -tAc 'SELECT 1' d\nif psql -h i d; then :; fi\n",
        &[
            "2 postgres/psql/database=d",
            "1 postgres/psql/host=",
            "3 postgres/psql 2/database=d",
            "3 postgres/psql 2/host=i",
        ],
    );
    check("redis-cli ping\nredis-cli ping\n", &["1 redis/redis-cli/host=127.0.0.1"]);
    check("psql 'postgres://u@h/d'\n", &["1 postgres/psql/url=postgres://u@h/d"]);
    check("su - a -c \"pg_dump -Fc d\"\n", &["1 postgres/pg_dump/database=d", "1 postgres/pg_dump/host="]);
    check("*/5 1-3 * * mon root mysql -h h d\n", &["1 mysql/mysql/database=d", "1 mysql/mysql/host=h"]);
    check("@daily mysql -h h\n", &["1 mysql/mysql/host=h"]);
}

#[test]
fn a_programs_name_among_other_words_is_no_call() {
    for text in [
        "apt-get install -y mysql redis-cli\n",
        "sudo systemctl restart mysql\n",
        "docker rm -f mysql -v\n",
        "echo \"mysql -h h\"\n",
        "which mysqldump || exit 1\n",
        "service mysql start -x\n",
    ] {
        check(text, &[]);
    }
}

#[test]
fn variables_are_those_of_the_script_where_it_sets_them_once() {
    check(
        "#!/bin/sh\nH=h\nD=$(date)\nif x; then\n  P=1\nfi\nmysql -h \"$H\" -P ${P} -u$1 $D\n",
        &[
            "2 H=h",
            "3 D=?",
            "5 P=1 !",
            "7 mysql/mysql/database=?",
            "7 mysql/mysql/host=h",
            "7 mysql/mysql/port=1 !",
            "7 mysql/mysql/user=$1",
        ],
    );
    check(
        "#!/bin/sh\nexport PGHOST=a\nPGUSER=b\nPGPORT=1 psql d\n",
        &["2 PGHOST=a", "3 PGUSER=b", "4 postgres/psql/database=d", "2 postgres/psql/host=a", "4 postgres/psql/port=1"],
    );
    check("mysql --defaults-file=/etc/a.cnf d\n", &["1 mysql/mysql/database=d", "1 mysql/mysql/host= !"]);
}

#[test]
fn what_runs_elsewhere_is_in_doubt_and_what_a_container_is_handed_is_its_environment() {
    check(
        "docker exec -i db mysqldump -u u d\n",
        &["1 mysql/mysqldump/database=d", "1 mysql/mysqldump/host= !", "1 mysql/mysqldump/user=u"],
    );
    check("ssh h 'pg_dump -h a d'\n", &["1 postgres/pg_dump/database=d", "1 postgres/pg_dump/host=a !"]);
    let text = "docker run -d --network host \\\n  -e A=b --env=C=d -e \"E=f g\" -v /a:/b mysql -h x\n";
    check(text, &["2 A=b", "2 C=d", "2 E=f g"]);
    let [run] = &*runs(text) else { panic!() };
    assert_eq!(
        (run.lines.clone(), run.network.as_deref(), &*run.mounts),
        (1..3, Some("host"), &["/a:/b".to_owned()][..])
    );
    let unit = "[Service]\nExecStart=-/usr/bin/exporter --redis.addr=redis://h -x y\n";
    let found = of_unit(unit).into_iter().map(|it| format!("{}={:?}", it.path.join("/"), it.value));
    assert_eq!(found.collect::<Vec<_>>(), ["ExecStart/redis.addr=Text(\"redis://h\")", "ExecStart/x=Text(\"y\")"]);
}

#[test]
fn whatever_is_open_ends() {
    for text in ["'", "\"$(", "\\", "a\\\n\\\n", "sh -c 'sh -c \"sh -c mysql -h\"'", "mysql -h", "$("] {
        read(&text.repeat(3_000));
        read(text);
    }
}

#[test]
fn a_quote_that_is_not_closed_ends_anywhere() {
    assert!(super::read("sh \"a é").is_empty());
    assert!(super::read("sh éa b\"").is_empty());
}
