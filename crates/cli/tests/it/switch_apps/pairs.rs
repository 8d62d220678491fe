//! Other web servers and the servers behind them are moved together, with the real programs: moved, proved, undone, or
//! refused before anything is changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use looptax_testkit::ports::free_address;
use looptax_testkit::runner::Looptax;

use super::shop::{
    APACHE, APACHE_MATCH, Back, CADDY, FPM, Front, GUNICORN, HAPROXY, NGINX_PROXY, NGINX_UPSTREAM, NGINX_UWSGI, NOBODY,
    PUMA, Shop, UWSGI, expect_said,
};
use crate::application::{Place, skip_without};
use crate::fixture::{exe, is_root, is_there};

#[test]
fn nginx_and_gunicorn_are_moved_together_proved_and_undone_to_the_very_bytes() {
    let Some(shop) = Shop::open(&NGINX_PROXY, &GUNICORN) else {
        return;
    };
    shop.follow(
        ["+ proxy_pass http://unix:«socket»:", "--check-config"],
        ["proxy_pass http://unix:«socket»:; # the shop\n", "\nbind = \"unix:«socket»\"\n"],
    );
}

#[test]
fn the_server_of_nginxs_upstream_and_gunicorn_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&NGINX_UPSTREAM, &GUNICORN) else {
        return;
    };
    shop.follow(
        ["+ server unix:«socket»", "+ bind = \"unix:«socket»\""],
        ["    server unix:«socket» fail_timeout=0; # the shop\n", "\nbind = \"unix:«socket»\"\n"],
    );
}

#[test]
fn the_server_of_nginxs_upstream_and_puma_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&NGINX_UPSTREAM, &PUMA) else {
        return;
    };
    shop.follow(
        ["+ server unix:«socket»", "kill -USR2"],
        ["    server unix:«socket» fail_timeout=0; # the shop\n", "\nbind \"unix://«socket»\"\n"],
    );
}

#[test]
fn nginx_and_uwsgi_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&NGINX_UWSGI, &UWSGI) else {
        return;
    };
    let owner = if is_root() { "chown-socket = www-data\n" } else { "" };
    shop.follow(
        ["+ uwsgi_pass unix:«socket»", "+ socket = «socket»"],
        ["uwsgi_pass unix:«socket»; # the shop\n", &format!("\nsocket = «socket»\n{owner}")],
    );
}

#[test]
fn uwsgi_that_was_started_with_a_relative_path_and_has_changed_its_folder_is_moved_and_back() {
    let elsewhere = Back {
        file: (
            "uw/app.ini",
            "[uwsgi]\nplugins = python3\nchdir = «folder»/site\nwsgi-file = ../app.py\nmaster = true\nsocket = «behind»\nprocesses = 2\n",
        ),
        words: &["--ini", "uw/app.ini"],
        ..UWSGI
    };
    let Some(shop) = Shop::open(&NGINX_UWSGI, &elsewhere) else {
        return;
    };
    shop.follow(
        ["+ uwsgi_pass unix:«socket»", "kill -HUP"],
        ["uwsgi_pass unix:«socket»; # the shop\n", "\nsocket = «socket»\n"],
    );
}

#[test]
fn a_web_server_of_another_user_is_not_said_to_be_none_that_reads_the_file() {
    if !is_root() {
        return;
    }
    let Some(shop) = Shop::open(&NGINX_PROXY, &GUNICORN) else {
        return;
    };
    shop.place.scratch.give_to(NOBODY);
    let run = shop.switching(&["--dry-run"]).uid(NOBODY).run();
    run.expect_error(2, &["belongs to another user", "run looptax as root"]);
}

#[test]
fn apaches_handler_and_a_pool_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&APACHE, &FPM) else {
        return;
    };
    let url = "proxy:unix:«socket»|fcgi://«behind»";
    shop.follow([url, "+ listen = «socket»"], [url, "\nlisten = «socket»\n"]);
}

#[test]
fn apaches_pattern_and_a_pool_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&APACHE_MATCH, &FPM) else {
        return;
    };
    let url = "^/$ unix:«socket»|fcgi://«behind»«folder»/site/index.php";
    shop.follow([url, "+ listen = «socket»"], [url, "\nlisten = «socket»\n"]);
}

#[test]
fn caddy_and_a_pool_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&CADDY, &FPM) else {
        return;
    };
    shop.follow(
        ["+ php_fastcgi unix/«socket»", "caddy validate"],
        ["\tphp_fastcgi unix/«socket»\n", "\nlisten = «socket»\n"],
    );
}

#[test]
fn haproxy_and_gunicorn_are_moved_together_and_back() {
    let Some(shop) = Shop::open(&HAPROXY, &GUNICORN) else {
        return;
    };
    shop.follow(
        ["+ server one «socket»", "haproxy -c -q"],
        ["    server one «socket» # the shop\n", "\nbind = \"unix:«socket»\"\n"],
    );
}

#[test]
fn a_umask_of_gunicorn_that_keeps_the_web_server_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let closed = Back { file: ("gunicorn.conf.py", "bind = \"«behind»\"\numask = 0o077\n"), ..GUNICORN };
    for front in [&NGINX_PROXY, &HAPROXY] {
        let Some(shop) = Shop::open(front, &closed) else {
            return;
        };
        shop.refused(&["mode 0700, so www-data cannot use the socket", "write umask = 0o007"]);
    }
}

#[test]
fn a_mode_of_uwsgi_that_keeps_nginx_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let closed = Back { is_nobodys: true, ..UWSGI };
    let Some(shop) = Shop::open(&NGINX_UWSGI, &closed) else {
        return;
    };
    shop.refused(&["uWSGI does not run as root", "and www-data cannot use the socket", "chmod-socket = 666"]);
}

#[test]
fn a_pool_on_a_socket_that_keeps_apache_or_caddy_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    // The pages of the site come from the pool on the port; the named pool is already on its socket.
    let named = Back {
        file: (
            "pool.d/shut.conf",
            "[shut]\nuser = www-data\nlisten = «folder»/run/app.sock\nlisten.mode = 0600\npm = static\npm.max_children = 1\n",
        ),
        ..FPM
    };
    for front in [&APACHE, &CADDY] {
        let Some(shop) = Shop::with(front, &named, &[FPM.file]) else {
            return;
        };
        shop.refused(&["write listen.owner = "]);
    }
}

#[test]
fn a_folder_in_which_the_server_may_make_nothing_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    for (front, back) in [(&NGINX_PROXY, GUNICORN), (&NGINX_UPSTREAM, PUMA)] {
        let back = Back { is_nobodys: true, ..back };
        let Some(shop) = Shop::open(front, &back) else {
            return;
        };
        chown(shop.place.path("run"), Some(0), Some(0)).unwrap();
        fs::set_permissions(shop.place.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
        shop.refused(&["runs as nobody, which may not create a socket in «folder»/run"]);
    }
}

#[test]
fn an_address_of_gunicorns_command_line_wins_over_its_file_and_is_found_before() {
    let told =
        Back { words: &["-c", "«folder»/gunicorn.conf.py", "-b", "«behind»", "app:application"], ..GUNICORN };
    let Some(shop) = Shop::open(&NGINX_PROXY, &told) else {
        return;
    };
    shop.refused(&["got its address when it was started"]);
}

#[test]
fn another_site_at_the_port_of_an_upstream_is_named_and_nothing_is_done() {
    let other = "server {\n    listen unix:«folder»/other.sock;\n    location / {\n        proxy_pass http://«behind»;\n    }\n}\n";
    let Some(shop) = Shop::with(&NGINX_UPSTREAM, &GUNICORN, &[("sites/other", other)]) else {
        return;
    };
    shop.refused(&["sites/other line 4 leads to"]);
}

#[test]
fn every_line_of_a_file_that_goes_to_the_port_is_moved_however_many_there_are() {
    let whole = NGINX_PROXY.site.1;
    let mut site = whole.strip_suffix("}\n").unwrap_or(whole).to_owned();
    let line = |it| format!("    location /{it} {{ proxy_pass http://«behind»; }}\n");
    site.extend((0..70).map(line));
    site.push_str("}\n");
    let Some(shop) = Shop::with(&NGINX_PROXY, &GUNICORN, &[(NGINX_PROXY.site.0, &site)]) else {
        return;
    };
    shop.follow(
        ["+ proxy_pass http://unix:«socket»:", "--check-config"],
        ["location /69 { proxy_pass http://unix:«socket»:; }\n", "\nbind = \"unix:«socket»\"\n"],
    );
}

#[test]
fn whatever_else_goes_to_the_port_is_named_with_its_line_and_nothing_is_done() {
    let other = |directives: &str| {
        format!(
            "server {{\n    listen unix:«folder»/other.sock;\n    location / {{\n        {directives}\n    }}\n}}\n"
        )
    };
    for (front, file, text, line) in [
        (&NGINX_PROXY, "sites/other", other("grpc_pass grpc://«behind»;"), 4),
        (&NGINX_PROXY, "sites/other", other("set $up «behind»;\n        proxy_pass http://$up;"), 4),
        (&NGINX_PROXY, "sites/other", other("proxy_pass $scheme://«behind»;"), 4),
        (
            &HAPROXY,
            "haproxy.cfg",
            format!(
                "{}listen raw\n    mode tcp\n    bind unix@«folder»/raw.sock\n    server one «behind»\n",
                HAPROXY.site.1
            ),
            14,
        ),
    ] {
        let Some(shop) = Shop::with(front, &GUNICORN, &[(file, &text)]) else {
            continue;
        };
        shop.refused(&[&format!("{file} line {line} leads to «behind» too")]);
    }
}

#[test]
fn web_sockets_that_apache_hands_to_the_same_port_are_named_and_nothing_is_done() {
    let front = Front {
        main: (
            "apache.conf",
            "ServerRoot «folder»\nServerName localhost\n«modules»LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\n«user_and_group»PidFile «folder»/apache.pid\nDefaultRuntimeDir «folder»\nErrorLog «folder»/log\nListen «http»\nIncludeOptional «folder»/sites/*.conf\n",
        ),
        site: (
            "sites/shop.conf",
            "<VirtualHost «http»>\n    ProxyPass /ws ws://«behind»/ws\n    ProxyPass / http://«behind»/\n    ProxyPassReverse / http://«behind»/\n</VirtualHost>\n",
        ),
        ..APACHE
    };
    let Some(shop) = Shop::open(&front, &GUNICORN) else {
        return;
    };
    shop.refused(&["sites/shop.conf line 2 leads to «behind» too"]);
}

#[test]
fn a_server_whose_address_is_in_a_unit_is_refused_with_the_lines_to_type() {
    if !is_there("nginx") {
        return skip_without("nginx");
    }
    let place = Place::alone().with("«behind»", free_address().to_string());
    place.write(&[
        NGINX_PROXY.site,
        ("app.service", "[Service]\nExecStart=/usr/bin/uvicorn app:app --host 127.0.0.1 --port 8000\n"),
    ]);
    let [site, unit] = ["sites/shop", "app.service"].map(|it| place.path(it).display().to_string());
    let run = Looptax::new(exe(), &place.scratch).args(["switch", &site, &unit, "--socket", "/run/app/app.sock"]).run();
    run.expect_error(2, &["Uvicorn (its unit)", "--uds /run/app/app.sock", "systemctl daemon-reload"]);
}

#[test]
fn a_looptax_that_is_killed_between_nginx_and_gunicorn_is_undone_by_the_next() {
    let Some(shop) = Shop::open(&NGINX_PROXY, &GUNICORN) else {
        return;
    };
    let before = shop.bytes();
    let socket = shop.socket();
    let site_is_new = || shop.bytes()[0] != before[0];
    let own_is_new = || shop.bytes()[1] != before[1];
    let has_moved = || shop.place.path("run/app.sock").exists() && !shop.is_port_open();
    let moments: [&dyn Fn() -> bool; 3] = [&site_is_new, &own_is_new, &has_moved];
    for is_now in moments {
        let mut running = shop.switching(&["--yes", "--socket", &socket]).spawn();
        running.wait_for("the moment", || is_now().then_some(()));
        running.signal(rustix::process::Signal::KILL);
        running.wait();
        shop.undo().expect_code(0);
        shop.expect_as_before(&before);
        fs::remove_file(&socket).ok();
    }
}

#[test]
fn programs_that_cannot_be_told_to_read_their_file_are_named_before_anything_is_written() {
    let no_master =
        Back { file: ("uwsgi.ini", "[uwsgi]\nplugins = python3\nwsgi-file = app.py\nsocket = «behind»\n"), ..UWSGI };
    let no_master_of_two = Back {
        file: ("uwsgi.ini", "[uwsgi]\nplugins = python3\nwsgi-file = app.py\nsocket = «behind»\nprocesses = 2\n"),
        ..UWSGI
    };
    let no_admin = Front { main: ("Caddyfile", "{\n\tadmin off\n\tauto_https off\n}\nimport sites/*\n"), ..CADDY };
    let no_workers =
        Front { words: &["-db", "-f", "«folder»/global.cfg", "-f", "«folder»/haproxy.cfg"], ..HAPROXY };
    for (front, back, why) in [
        (&NGINX_UWSGI, &no_master, "runs without `master = true`"),
        (&NGINX_UWSGI, &no_master_of_two, "runs without `master = true`"),
        (&no_admin, &FPM, "has `admin off`"),
        (&no_workers, &GUNICORN, "was started without -W"),
    ] {
        let Some(shop) = Shop::open(front, back) else {
            continue;
        };
        let before = shop.bytes();
        let run = shop.switch();
        run.expect_error(2, &[why, "--reload COMMAND"]);
        shop.expect_as_before(&before);
    }
}

#[test]
fn haproxy_without_a_master_that_gave_up_root_is_tested_as_its_user_with_its_groups() {
    if !is_root() {
        return;
    }
    let no_workers =
        Front { words: &["-db", "-f", "«folder»/global.cfg", "-f", "«folder»/haproxy.cfg"], ..HAPROXY };
    let Some(shop) = Shop::open(&no_workers, &GUNICORN) else {
        return;
    };
    let before = shop.bytes();
    let socket = shop.socket();
    let run = shop.switching(&["--yes", "--socket", &socket, "--reload", "exit 7"]).run();
    run.expect_code(1);
    expect_said(&run, "haproxy -c -q -f");
    expect_said(&run, "`exit 7` ended with 7");
    shop.expect_as_before(&before);
}

#[test]
fn apache_of_a_folder_of_its_own_is_asked_with_its_options_and_its_variables() {
    let own = Front { main: ("apache2.conf", APACHE.main.1), words: &["-DFOREGROUND", "-d", "«folder»"], ..APACHE };
    let Some(shop) = Shop::open(&own, &FPM) else {
        return;
    };
    let url = "proxy:unix:«socket»|fcgi://«behind»";
    shop.follow([url, "apache2 -d «folder» -t"], [url, "\nlisten = «socket»\n"]);
}

#[test]
fn a_pool_whose_lines_have_its_name_in_a_variable_is_moved_and_back() {
    let named = Back {
        file: (
            "pool.d/www.conf",
            "[127.0.0.1]\n«account»listen = $pool:«behind_port»\nlisten.group = 0\npm = static\npm.max_children = 2\n",
        ),
        ..FPM
    };
    let nginx = Front {
        site: (
            "sites/shop",
            "server {\n    listen «http»;\n    location / {\n        fastcgi_pass «behind»;\n        fastcgi_param SCRIPT_FILENAME «folder»/site/index.php;\n        fastcgi_param REQUEST_METHOD $request_method;\n    }\n}\n",
        ),
        ..NGINX_PROXY
    };
    let Some(shop) = Shop::open(&nginx, &named) else {
        return;
    };
    shop.follow(
        ["+ fastcgi_pass unix:«socket»", "+ listen = «socket»"],
        ["fastcgi_pass unix:«socket»;", "\nlisten = «socket»\n"],
    );
}

#[test]
fn servers_of_other_machines_at_the_same_port_stay_in_the_file() {
    let front = Front {
        site: (
            "sites/shop",
            "upstream app {\n    server 203.0.113.7:«behind_port» backup;\n    server «behind»;\n}\nserver {\n    listen «http»;\n    location / {\n        proxy_pass http://app;\n    }\n    location /far {\n        proxy_pass http://203.0.113.8:«behind_port»;\n    }\n}\n",
        ),
        ..NGINX_PROXY
    };
    let elsewhere = "server {\n    listen unix:«folder»/other.sock;\n    location / {\n        proxy_pass http://203.0.113.8:«behind_port»;\n    }\n    location /up {\n        proxy_pass http://$arg_up;\n    }\n}\n";
    let Some(shop) = Shop::with(&front, &GUNICORN, &[("sites/other", elsewhere)]) else {
        return;
    };
    shop.follow(
        ["+ server unix:«socket»", "sites/other line 7: looptax does not know to which server this line passes pages"],
        ["    server 203.0.113.7:«behind_port» backup;\n    server unix:«socket»;\n", "\nbind = \"unix:«socket»\"\n"],
    );
}
