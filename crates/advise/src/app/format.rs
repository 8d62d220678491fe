//! Determines the format of a file from its name, or else from its content.

use super::table::Format;

/// Returns the format of a text. Every text has a format.
pub(super) fn format_of(path: Option<&str>, text: &str) -> Format {
    let Some(path) = path else {
        return Format::Dotenv;
    };
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let end = name.rsplit('.').next().unwrap_or_default();
    // Endings that are added to the name of an original file, as in `.env.example`.
    let name = ["example", "sample", "dist", "bak", "orig", "old", "default", "local", "tpl", "j2"]
        .iter()
        .find(|it| **it == end)
        .and_then(|it| name.strip_suffix(*it)?.strip_suffix('.'))
        .unwrap_or(&name);
    if name.starts_with(".env") || name.rsplit('.').next() == Some("env") || name == "env" {
        return Format::Dotenv;
    }
    match name {
        "caddyfile" => return Format::Caddy,
        "haproxy.cfg" => return Format::Haproxy,
        "nginx.conf" => return Format::Nginx,
        "procfile" => return Format::Procfile,
        "crontab" => return Format::Shell,
        _ if name.starts_with("dockerfile") || name.starts_with("containerfile") => return Format::Dockerfile,
        _ if ["/cron.", "/crontabs/", "/logrotate.d/"].iter().any(|it| path.contains(it)) => return Format::Shell,
        _ => {}
    }
    // A file's whole name may be `py`, for example the name of a website's configuration. This name has no ending, and
    // the file is not a program.
    match name.rsplit_once('.').map_or("", |it| it.1) {
        "php" | "php5" | "inc" | "phtml" | "module" if text.contains("<?") => Format::Php,
        "pl" | "pm" | "cgi" | "psgi" => Format::Perl,
        "sh" | "bash" => Format::Shell,
        "dockerfile" => Format::Dockerfile,
        "py" => Format::Python,
        "lua" => Format::Lua,
        "rb" => Format::Ruby,
        "json" if text.contains("\"ociVersion\"") => Format::Containers,
        "js" | "ts" | "mjs" | "cjs" | "mts" | "cts" | "jsx" | "tsx" | "json" | "json5" => Format::Script,
        "go" => Format::Go,
        "java" | "kt" | "kts" | "scala" | "groovy" | "cs" => Format::Java,
        "yml" | "yaml" if text.lines().any(|it| it.starts_with("services:")) => Format::Containers,
        "yml" | "yaml" => Format::Yaml,
        "xml" => Format::Xml,
        "toml" | "ini" => Format::Ini,
        "properties" => Format::Pairs,
        "service" | "container" => Format::Unit,
        _ => by_content(text),
    }
}

fn by_content(text: &str) -> Format {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.contains("<?php") {
        return Format::Php;
    }
    if start.starts_with("<?xml") || start.starts_with("<!--") {
        return Format::Xml;
    }
    if start.starts_with('{') {
        return Format::Script;
    }
    let program = start.lines().next().filter(|it| it.starts_with("#!")).unwrap_or_default();
    if start.starts_with("use strict;") {
        return Format::Perl;
    }
    let programs = [
        ("perl", Format::Perl),
        ("python", Format::Python),
        ("ruby", Format::Ruby),
        ("node", Format::Script),
        ("php", Format::Php),
    ];
    if let Some((_, format)) = programs.iter().find(|it| program.contains(it.0)) {
        return *format;
    }
    if program.ends_with("sh") || program.contains("sh ") {
        return Format::Shell;
    }
    let lines = || {
        let trimmed = start.lines().map(str::trim);
        trimmed.filter(|it| !it.is_empty() && !it.starts_with(['#', ';']))
    };
    if lines().any(|it| it == "[Service]") {
        return Format::Unit;
    }
    if lines().any(|it| it.starts_with('[') && it.ends_with(']')) {
        return Format::Ini;
    }
    let is_variable = |it: &str| {
        let name = it.trim_start_matches("export ").split_once('=').map_or("", |it| it.0);
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        !name.is_empty() && name.chars().all(is_part)
    };
    if let Some(format) = proxy_of(start) {
        return format;
    }
    if lines().any(|it| it.starts_with("modparam(")) {
        return Format::Kamailio;
    }
    let n_variables = lines().filter(|it| is_variable(it)).count();
    if n_variables > 0 && n_variables * 2 >= lines().count() {
        return Format::Dotenv;
    }
    let has = |ends: &dyn Fn(&str) -> bool| lines().any(ends);
    if has(&|it| it.ends_with('{')) && has(&|it| it == "}") {
        return Format::Blocks;
    }
    if lines().next().is_some_and(|it| it.ends_with(':') || it == "---") {
        return Format::Yaml;
    }
    Format::Pairs
}

/// The proxy whose directives are in the text.
fn proxy_of(text: &str) -> Option<Format> {
    let lines = || text.lines().map(str::trim);
    let has = |heads: &[&str], end: &str| {
        lines().any(|it| heads.iter().any(|head| it.starts_with(head)) && it.ends_with(end))
    };
    let passes = ["fastcgi_pass ", "proxy_pass ", "uwsgi_pass ", "memcached_pass "];
    if has(&passes, ";")
        || lines().any(|it| {
            let is_in = |pass: &&str| ["{", ";"].iter().any(|ahead| it.contains(&format!("{ahead} {pass}")));
            passes.iter().any(is_in)
        })
    {
        return Some(Format::Nginx);
    }
    if has(&["ProxyPass", "BalancerMember ", "SetHandler \"proxy:"], "") && !has(&["proxy_"], ";") {
        return Some(Format::Apache);
    }
    if has(&["php_fastcgi ", "reverse_proxy "], "") {
        return Some(Format::Caddy);
    }
    let is_section = has(&["backend ", "listen ", "defaults"], "");
    (is_section && has(&["server "], "") && has(&["mode "], "")).then_some(Format::Haproxy)
}
