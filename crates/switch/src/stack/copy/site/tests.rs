//! Tests the texts of nginx's copies: ports, TLS, several servers, quotes.

use super::*;

const MAIN: &str = "\
user www-data; worker_processes 2; pid /run/nginx.pid;
error_log /var/log/nginx/error.log;
events { worker_connections 64; }
http {
    log_format main '$remote_addr; {$scheme}';
    access_log /var/log/nginx/access.log main;
    ssl_protocols TLSv1.2;
    proxy_cache_path /var/cache/nginx levels=1:2 keys_zone=c:1m;
    map $uri $x { default 1; listen 2; }
    server { listen 80 default_server; return 444; }
«site»}
stream { server { listen 3306; proxy_pass db:3306; } }
";

/// Copies files that contain this site, and gives the copy the private ports 1, 2 and so on. Returns the text and the
/// ports.
#[track_caller]
fn copy(site: &str) -> Result<SiteText, String> {
    let text = MAIN.replace("«site»", site);
    let start = text.find(site).unwrap();
    let all = Expanded { text, own: std::iter::once(start..start + site.len()).collect() };
    let text = only_site(&all)?;
    let wanted =
        Wanted { folder: Path::new("/f"), main: Path::new("/etc/nginx"), pool: "127.0.0.1:9100", usual_port: 80 };
    let at = text.find("127.0.0.1:9000");
    let edits = at.map(|at| Rewrite { at: at..at + 14, text: "127.0.0.1:9100".to_owned() });
    let mut next = 0;
    let mut free = || {
        next += 1;
        Ok(next)
    };
    copied(&text, &edits.into_iter().collect::<Vec<_>>(), &wanted, &mut free)
}

/// Returns the server blocks of a copy, without unnecessary blanks.
fn servers(found: &SiteText) -> String {
    let words: Vec<&str> = found.text.split_whitespace().collect();
    let all = words.join(" ");
    let at = all.find("server {").unwrap();
    all[at..].trim_end_matches([' ', '}']).to_owned()
}

#[test]
fn a_server_with_tls_answers_in_plain_text_and_its_pages_do_not_see_that() {
    let site = "server { listen 80; listen [::]:80; server_name _ shop.test www.shop.test; if ($scheme = http) { \
                return 301 https://$host$request_uri; } access_log /var/log/shop.log; \
                listen 443 ssl http2 default_server; listen 443 quic reuseport; http2 on; ssl_certificate a.pem; \
                auth_basic_user_file \"users\"; location ~ \\.php$ { fastcgi_param HTTPS $https if_not_empty; \
                fastcgi_param SERVER_PORT \"${server_port}\"; fastcgi_pass 127.0.0.1:9000; } }\n";
    let found = copy(site).unwrap();
    let expected = "server { listen 127.0.0.1:1; listen 127.0.0.1:2; server_name _ shop.test www.shop.test; \
                    if ($looptax_scheme = http) { return 301 https://$host$request_uri; } \
                    auth_basic_user_file \"/etc/nginx/users\"; location ~ \\.php$ { \
                    fastcgi_param HTTPS $looptax_https if_not_empty; fastcgi_param SERVER_PORT \"${looptax_port}\"; \
                    fastcgi_pass 127.0.0.1:9100;";
    assert_eq!(servers(&found), expected);
    assert_eq!(found.name.as_deref(), Some("shop.test"));
    let listen = |original, has_tls, private| Listen { original, has_tls, private, has_pages: true };
    assert_eq!(found.listens, [listen(80, false, 1), listen(443, true, 2)]);
    for line in [
        "map $server_port $looptax_https { default \"\"; 1 \"\"; 2 on; }",
        "map $server_port $looptax_port { default $server_port; 1 80; 2 443; }",
        "proxy_cache_path /f/files-1 levels=1:2",
        "map $uri $x { default 1; listen 2; }",
        "daemon off;\nmaster_process on;\npid /f/nginx.pid;\nerror_log stderr;\nuser www-data; worker_processes 2;",
    ] {
        assert!(found.text.contains(line), "{line}\n{}", found.text);
    }
    for gone in ["/var/", "stream", "444", "ssl_", "/run/nginx.pid", "3306"] {
        assert!(!found.text.contains(gone), "{gone}\n{}", found.text);
    }
}

#[test]
fn servers_of_one_port_share_a_port_of_the_copy() {
    let site = "upstream php { server 127.0.0.1:9000; }\n\
                server { listen 10.0.0.1:8080; server_name a; return 301 http://b; }\n\
                server { listen 8080; listen unix:/run/a.sock; server_name *.b ~^x b; fastcgi_pass php; }\n\
                server { listen unix:/run/b.sock; location / { proxy_pass http://127.0.0.1:3000; } }\n\
                server { server_name c; }\n";
    let found = copy(site).unwrap();
    let expected = "server { listen 127.0.0.1:1; server_name a; return 301 http://b; } \
                    server { listen 127.0.0.1:1; server_name *.b ~^x b; fastcgi_pass php; } \
                    server { listen 127.0.0.1:2; location / { proxy_pass http://127.0.0.1:3000; } } \
                    server { listen 127.0.0.1:3; server_name c;";
    assert_eq!(servers(&SiteText { text: found.text.replace("server 127.0.0.1:9100", "X"), ..found }), expected);
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let check = |site: &str, expected: &str| assert_eq!(copy(site).unwrap_err(), expected, "{site}");
    let page = "location / { fastcgi_pass 127.0.0.1:9000; }";
    check(
        &format!("server {{ {page} location /b {{ fastcgi_pass unix:/run/b.sock; }} }}\n"),
        "the site also passes pages to `unix:/run/b.sock`",
    );
    let both = "upstream php { server 127.0.0.1:9000; server 10.0.0.9:9000; }\nserver { fastcgi_pass php; }\n";
    check(both, "the site also passes pages to `php`");
    check("upstream php { server 127.0.0.1:9000; }\n", "the file contains no part of a server block");
    check(&format!("server {{ listen a:b; {page} }}\n"), "looptax does not know the port of `listen a:b`");
    let lua = "server { content_by_lua_block { x } }\n";
    check(lua, "the files of nginx contain Lua blocks, which looptax cannot copy");
}
