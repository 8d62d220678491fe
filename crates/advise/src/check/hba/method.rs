//! The methods and options that every server version accepts in a line.
//!
//! If a server rejects one line, it rejects the whole file: it keeps its earlier rules, or does not start. Therefore
//! looptax uses a line only if every version is known to accept it; otherwise looptax concludes nothing from the file.
//!
//! # Source
//! PostgreSQL, src/backend/libpq/hba.c, `parse_hba_line` and `parse_hba_auth_opt`. `sspi` and `bsd` are for other
//! operating systems: no server on Linux accepts them.

use super::line::{HbaLine, Kind};

/// The methods without options, for both transports.
const PLAIN: [&str; 5] = ["trust", "reject", "password", "md5", "scram-sha-256"];

const LDAP: [&str; 12] = [
    "ldapserver",
    "ldapport",
    "ldapscheme",
    "ldaptls",
    "ldapurl",
    "ldapprefix",
    "ldapsuffix",
    "ldapbasedn",
    "ldapbinddn",
    "ldapbindpasswd",
    "ldapsearchattribute",
    "ldapsearchfilter",
];

impl HbaLine {
    /// Whether every server version accepts the line's method and options.
    pub(super) fn is_taken(&self) -> bool {
        let method = &*self.method;
        let is_known = match (method, self.kind) {
            ("gss" | "trust" | "reject", Kind::HostGss) => true,
            (_, Kind::HostGss) => false,
            ("peer", kind) => kind == Kind::Local,
            ("gss", kind) => kind != Kind::Local,
            ("cert", kind) => kind == Kind::HostSsl,
            ("ident" | "pam" | "ldap" | "radius" | "oauth", _) => true,
            _ => PLAIN.contains(&method),
        };
        let mut options = self.options.iter();
        is_known
            && options.all(|option| {
                let pair = option.split_once('=');
                pair.is_some_and(|(name, value)| self.takes(name, value))
            })
            && self.has_what_it_needs()
    }

    fn takes(&self, name: &str, value: &str) -> bool {
        let method = &*self.method;
        match name {
            "clientcert" => {
                self.kind == Kind::HostSsl && (value == "verify-full" || value == "verify-ca" && method != "cert")
            }
            "clientname" => self.kind == Kind::HostSsl && matches!(value, "CN" | "DN"),
            "map" => matches!(method, "ident" | "peer" | "gss" | "cert" | "oauth"),
            "krb_realm" | "include_realm" => method == "gss",
            "pamservice" | "pam_use_hostname" => method == "pam",
            "ldapport" => method == "ldap" && value.parse().is_ok_and(|port: u16| port > 0),
            // The server checks the parts of the URL separately.
            "ldapurl" => false,
            "radiusservers" | "radiussecrets" | "radiusidentifiers" | "radiusports" => {
                // The server looks up names and splits lists; looptax does neither.
                let is_one = !value.contains([',', '"', ' ']) && !value.is_empty();
                method == "radius"
                    && is_one
                    && match name {
                        "radiusservers" => value.parse::<std::net::IpAddr>().is_ok(),
                        "radiusports" => value.parse().is_ok_and(|port: u16| port > 0),
                        _ => true,
                    }
            }
            "issuer" | "scope" | "validator" => method == "oauth",
            name => method == "ldap" && LDAP.contains(&name),
        }
    }

    fn has_what_it_needs(&self) -> bool {
        let has = |wanted: &&str| {
            let mut options = self.options.iter();
            options.any(|it| it.split_once('=').is_some_and(|(name, _)| name == *wanted))
        };
        let has_any = |wanted: &[&str]| wanted.iter().any(has);
        match &*self.method {
            "ldap" => {
                let is_simple = has_any(&["ldapprefix", "ldapsuffix"]);
                let searches = has_any(&LDAP[7..]);
                let finds_twice = has(&"ldapsearchattribute") && has(&"ldapsearchfilter");
                has(&"ldapserver") && is_simple != searches && (is_simple || has(&"ldapbasedn")) && !finds_twice
            }
            "radius" => has(&"radiusservers") && has(&"radiussecrets"),
            "oauth" => has(&"issuer") && has(&"scope"),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hba;

    #[track_caller]
    fn check(line: &str, is_taken: bool) {
        let hba = Hba::parse(line);
        assert_eq!(hba.unread.is_empty(), is_taken, "{line}");
    }

    #[test]
    fn r18_a_line_that_the_server_refuses_is_not_taken_for_a_rule() {
        for (method, is_taken) in [
            ("ldap", false),
            ("ldap ldapserver=ldap.example.org", false),
            ("ldap ldapserver=a ldapprefix=cn=", true),
            ("ldap ldapserver=a ldapprefix=cn= ldapbasedn=dc=x", false),
            ("ldap ldapserver=a ldapbasedn=dc=x ldapsearchattribute=u", true),
            ("ldap ldapserver=a ldapbasedn=dc=x ldapport=0", false),
            ("ldap ldapserver=a ldapprefix=x ldapunknown=1", false),
            ("ldap ldapurl=ldap://a/dc=x", false),
            ("radius", false),
            ("radius radiusservers=127.0.0.1", false),
            ("radius radiusservers=127.0.0.1 radiussecrets=s", true),
            ("radius radiusservers=no.such.host radiussecrets=s", false),
            ("radius \"radiusservers=127.0.0.1,127.0.0.2\" radiussecrets=s", false),
            ("md5 map=a", false),
            ("md5 clientcert=verify-ca", false),
            ("pam pamservice=x", true),
            ("pam map=a", false),
            ("sspi", false),
            ("bsd", false),
            ("gss include_realm=1", true),
            ("oauth", false),
            ("md5 x", false),
        ] {
            check(&format!("host all all 127.0.0.1/32 {method}"), is_taken);
        }
        for (method, is_taken) in [
            ("cert", true),
            ("cert clientcert=verify-full", true),
            ("cert clientcert=verify-ca", false),
            ("cert clientcert=no-verify", false),
            ("md5 clientcert=verify-ca", true),
            ("md5 clientcert=no", false),
            ("md5 clientcert=1", false),
            ("md5 clientname=DN", true),
            ("md5 clientname=X", false),
        ] {
            check(&format!("hostssl all all 127.0.0.1/32 {method}"), is_taken);
        }
    }

    #[test]
    fn r18_a_host_or_a_name_that_the_server_refuses_is_no_rule() {
        for (line, is_taken) in [
            ("host all all db.example.org md5", true),
            ("host all all .example.org md5", true),
            ("host all all db_1.example.org md5", true),
            ("host all all 127.1 md5", false),
            ("host all all 127.0.0.1 md5", false),
            ("host all all 0x7f000001 md5", false),
            ("host all all db.example.org/32 md5", false),
            ("host all all a:b md5", false),
            ("local /^a all md5", true),
            ("local /( all md5", false),
            ("local all /*+ md5", false),
            ("local @names all md5", false),
            ("local \"@names\" all md5", true),
        ] {
            check(line, is_taken);
        }
    }
}
