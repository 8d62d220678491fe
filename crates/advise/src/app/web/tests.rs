//! Tests the forms of each program's file. Also tests that each setting really is at the place that the setting gives.

use super::*;
use crate::app::setting::Value;

#[track_caller]
fn check(text: &str, proxy: Proxy, expected: &[&str]) {
    let (settings, _) = read(text, proxy);
    let found: Vec<String> = settings
        .iter()
        .map(|it| {
            let value = match &it.value {
                Value::Text(text) => text.clone(),
                Value::Variable { name, .. } => format!("${name}"),
                Value::Hidden => "?".to_owned(),
            };
            let doubt = if it.doubt.is_some() { " !" } else { "" };
            format!("{} {}={value}{doubt}", it.line, it.path.join("/"))
        })
        .collect();
    assert_eq!(found, expected, "{text}");
    for setting in &settings {
        assert_eq!(&text[setting.place()], setting.item);
    }
}

#[test]
fn nginx_hands_on_by_address_by_socket_and_by_the_name_of_servers() {
    check(
        "http {\n upstream php { server 127.0.0.1:9000; server unix:/b.sock backup; }\n server {\n  \
         location ~ \\.php$ { fastcgi_pass php; }\n  location /a { proxy_pass http://127.0.0.1:8000/x/; }\n  \
         location /b { proxy_pass http://unix:/run/app.sock:/y; }\n  location /c { uwsgi_pass 127.0.0.1:3031; }\n  \
         location /d { proxy_pass https://127.0.0.1:8443; }\n  location /e { proxy_pass $where; }\n  \
         location /f { fastcgi_pass elsewhere; }\n  location /g { proxy_pass $scheme://127.0.0.1:8000/; }\n } }\n\
         stream { server { proxy_pass 127.0.0.1:3306; } }\n",
        Proxy::Nginx,
        &[
            "2 upstream php 1/fastcgi_pass server=127.0.0.1:9000",
            "2 upstream php 2/fastcgi_pass server=unix:/b.sock",
            "5 server/location /a/proxy_pass=127.0.0.1:8000",
            "6 server/location /b/proxy_pass=unix:/run/app.sock",
            "7 server/location /c/uwsgi_pass=127.0.0.1:3031",
            "9 server/location /e/proxy_pass=?",
            "10 server/location /f/fastcgi_pass=elsewhere !",
            "11 server/location /g/proxy_pass=?",
            "13 stream/server/stream mysql=127.0.0.1:3306",
        ],
    );
}

#[test]
fn nginx_names_what_it_includes_where_it_hands_nothing_on_itself() {
    let text = "http { include mime.types; include /etc/nginx/conf.d/*.conf; include sites-enabled/*; }\n";
    let (_, problems) = read(text, Proxy::Nginx);
    let [problem] = &*problems else { panic!("{problems:?}") };
    let files = ": /etc/nginx/conf.d/*.conf, sites-enabled/*";
    assert!(problem.what.ends_with(files), "{problem:?}");
    let more = format!("{text}server {{ location / {{ proxy_pass http://a:1; }} }}");
    assert!(read(&more, Proxy::Nginx).1.is_empty());
}

#[test]
fn apache_has_sockets_before_the_url() {
    check(
        "<VirtualHost *:80>\n ProxyPass \"/a\" \"http://127.0.0.1:8000/\"\n \
         ProxyPassMatch ^/(.*\\.php)$ unix:/p.sock|fcgi://127.0.0.1:9000/var/www/$1\n \
         <FilesMatch \\.php$>\n  SetHandler \"proxy:fcgi://127.0.0.1:9000\"\n </FilesMatch>\n \
         ProxyPass /s https://127.0.0.1/\n ProxyPass /no !\n ProxyPass /w fcgi://w/\n</VirtualHost>\n\
         <Proxy \"unix:/w.sock|fcgi://w/\">\n</Proxy>\n",
        Proxy::Apache,
        &[
            "2 VirtualHost *:80//a/ProxyPass http=127.0.0.1:8000",
            "3 VirtualHost *:80/^/(.*\\.php)$/ProxyPassMatch fcgi=unix:/p.sock",
            "5 VirtualHost *:80/FilesMatch \\.php$/SetHandler fcgi=127.0.0.1:9000",
            "9 VirtualHost *:80//w/ProxyPass fcgi=w !",
        ],
    );
}

#[test]
fn caddy_has_its_addresses_behind_the_directive_or_in_its_block() {
    check(
        "{\n admin off\n}\nexample.org {\n php_fastcgi 127.0.0.1:9000\n reverse_proxy /api/* unix//run/a.sock\n \
         reverse_proxy @m {\n  to :8000 {$UP}\n  transport fastcgi {\n   split .php\n  }\n }\n \
         reverse_proxy https://127.0.0.1:8443 http://127.0.0.1:8001\n}\n",
        Proxy::Caddy,
        &[
            "5 example.org/php_fastcgi=127.0.0.1:9000",
            "6 example.org/reverse_proxy=unix:/run/a.sock",
            "8 example.org/php_fastcgi 2/php_fastcgi=:8000",
            "8 example.org/php_fastcgi 3/php_fastcgi=$UP",
            "13 example.org/reverse_proxy 2/reverse_proxy=127.0.0.1:8001",
        ],
    );
}

#[test]
fn haproxy_says_in_the_section_or_before_it_what_a_server_speaks() {
    check(
        "global\n chroot /x\ndefaults\n mode http\nbackend a\n server s1 127.0.0.1:8000 check\n server s2 unix@/run/b.sock\n\
         backend p\n use-fcgi-app php\n server f /run/f.sock proto fcgi\nlisten db\n mode tcp\n server d 127.0.0.1:3306\n",
        Proxy::Haproxy,
        &[
            "6 backend a/s1/server http=127.0.0.1:8000",
            "7 backend a/s2/server http=unix:/run/b.sock",
            "10 backend p/f/server fcgi=/run/f.sock",
            "13 listen db/d/server mysql=127.0.0.1:3306",
        ],
    );
}
