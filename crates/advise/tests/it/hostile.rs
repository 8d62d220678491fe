//! Hostile files: none of them causes a panic, a run without end, or an output that shows a password.

use looptax_advise::Fields;

use crate::apps::{cases, fields, reading};

/// Random bytes, the same in each run.
fn noise(n_bytes: usize, mut state: u64) -> Vec<u8> {
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..n_bytes).map(|_| next()).collect()
}

#[test]
fn a_file_of_ten_megabytes_is_refused_in_words() {
    let text = "DB_HOST=127.0.0.1\n".repeat(600_000);
    let found = reading("/srv/.env", text.as_bytes());
    assert!(found.found.is_empty());
    assert!(found.problems[0].what.contains("1048576"), "{:?}", found.problems);
}

#[test]
fn cut_bent_and_binary_files_end_without_a_panic() {
    for case in cases() {
        reading(&case.path, &noise(20_000, case.tcp.len() as u64));
        let bytes = case.tcp.as_bytes();
        for cut in (0..bytes.len()).step_by(7) {
            reading(&case.path, &bytes[..cut]);
        }
        for at in (0..bytes.len()).step_by(23) {
            for with in [0, b'\'', b'{', 0xff] {
                let mut bent = bytes.to_vec();
                bent[at] = with;
                let found = reading(&case.path, &bent);
                for it in &found.found {
                    it.changes(&Fields::default());
                }
            }
        }
    }
}

#[test]
fn whatever_is_nested_or_repeated_without_end_comes_to_one() {
    let opens = [
        "[", "{", "(", "array(", "- ", "a: ", "?>", "#\n", "const ", "new ", "a.", "a[b]", "'", "*a", "<% ", "a {\n",
        "a{b;", "<A>\n", "${", "`",
    ];
    for path in [
        "wp-config.php",
        "settings.py",
        "config/database.yml",
        "ormconfig.json",
        "/etc/gitlab/gitlab.rb",
        "/srv/.env",
        "nginx.conf",
        "Caddyfile",
        "haproxy.cfg",
        "httpd.conf",
        "Procfile",
    ] {
        for open in opens {
            let text = format!("<?php x = a: &a {}", open.repeat(20_000));
            reading(path, text.as_bytes());
        }
    }
}

#[test]
fn many_connections_are_followed_up_to_a_bound() {
    let lines: Vec<String> = (0..3_000).map(|idx| format!("d{idx} = host=127.0.0.1 port=5432")).collect();
    let text = format!("[databases]\n{}", lines.join("\n"));
    let found = reading("/etc/pgbouncer/pgbouncer.ini", text.as_bytes());
    assert!(found.found.len() <= 32, "{}", found.found.len());
    assert!(!found.problems.is_empty());
}

#[test]
fn no_password_of_any_application_is_in_what_is_to_be_shown() {
    for case in cases() {
        let text = case.tcp.replace("hush#1", "s3kr1t").replace("u:p@", "u:s3kr1t@");
        let text = text.replace("password=p", "password=s3kr1t").replace("Password=p", "Password=s3kr1t");
        let text = text.replace("'p'", "'s3kr1t'").replace("\"p\"", "\"s3kr1t\"");
        let found = reading(&case.path, text.as_bytes());
        for it in &found.found {
            let mut shown = fields(it.kind);
            shown.password = Some("****".to_owned());
            let text = format!("{:?} {} {:?}", it.changes(&shown), it.why, it.credentials);
            assert!(!text.contains("s3kr1t"), "{}: {text}", case.app);
        }
    }
}

#[test]
fn thousands_of_settings_that_might_be_connections_come_to_an_end() {
    let lines = |line: &dyn Fn(usize) -> String| (0..3_000).map(line).collect::<String>();
    for (path, text) in [
        ("/srv/own.ini", lines(&|n| format!("a{n}_db_host=x\n"))),
        ("/srv/own.properties", lines(&|n| format!("a{n}.host=x\n"))),
        ("/srv/own.env", lines(&|n| format!("A{n}_URL=mysql://x/\n"))),
        ("/srv/own.php", lines(&|n| format!("if (a) {{ $db{n}_host = 'x'; }}\n"))),
        ("/srv/own.php", format!("<?php {}", lines(&|n| format!("$a{n} = 'mysql:host=h;a=b';")))),
        ("/srv/own.xml", format!("<a>{}", lines(&|n| format!("<b url='mysql://h{n}/'/>")))),
        ("/srv/own.rb", lines(&|_| "x if y\n".to_owned())),
    ] {
        let found = reading(path, text.as_bytes()).found;
        assert!(found.len() <= 64, "{path}: {}", found.len());
    }
}
