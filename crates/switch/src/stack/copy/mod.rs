//! Makes a private copy of a site for a trial. nginx's copy has only the servers of the site; PHP-FPM's copy has the
//! pool behind the site twice, or once if the pool already listens on a socket.
//!
//! Finds the running nginx that reads a file and the PHP-FPM that answers its pages, and makes the texts of both
//! copies. `expand` and `site` make the text for nginx, `pool` makes the text for PHP-FPM, and `found_pool` finds the
//! pool. Writes nothing: the caller writes the texts into a folder that it removes later, and then has this module test
//! them.

mod expand;
mod found_pool;
mod glob;
mod page;
mod pool;
mod site;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use looptax_advise::app::Rewrite;
use looptax_host::discover::Process;
use looptax_host::program::Variables;
use looptax_host::read;
use looptax_model::failure::Failure;

use super::connections;
use super::front::nginx::{Nginx, options};
use super::front::{Files, Front};
use super::program::unread;
use super::rights::User;
use crate::diagnose::check::Switchable;
use crate::line::{Question, file_of, line};
use found_pool::FoundPool;
pub use page::CopyPage;
use site::{Listen, SiteText};

/// The file names of the copies in their folder.
const NGINX_CONF: &str = "nginx.conf";
const FPM_CONF: &str = "fpm.conf";
const SOCKET: &str = "php.sock";
/// The name of this kind of site in the table of applications.
const APPLICATION: &str = "nginx_fastcgi";
/// The ports of a server block without `listen`: the first number if nginx runs as root, the second if nginx runs as
/// another user.
///
/// # Source
/// nginx.org, `listen`.
const USUAL_PORTS: [u16; 2] = [80, 8000];
/// The time limit for a program to test its copy.
const PATIENCE: Duration = Duration::from_secs(20);
const BY_HAND: &str = "copy the files of nginx and PHP-FPM by hand, and start the copies: looptax trial --also \
    ADDRESS=SOCKET --url URL -- CMD";

#[derive(Debug, Clone, Copy)]
pub struct CopyWish<'a> {
    /// A file that the running nginx reads.
    pub site: &'a Path,
    /// The folder in which the copies will be; its path needs no quotes.
    pub folder: &'a Path,
    /// How many pages are requested at the same time.
    pub at_once: u32,
}

/// The texts of the copies, and the data that is needed to start them.
#[derive(Debug)]
pub struct SiteCopy {
    folder: PathBuf,
    nginx: Process,
    fpm: Process,
    nginx_options: Vec<String>,
    site: SiteText,
    pool: String,
    also: Option<String>,
    enters: Option<u32>,
    plan: Vec<String>,
}

impl SiteCopy {
    /// Finds both programs, and makes the texts of their copies.
    ///
    /// # Errors
    /// If no nginx reads the file, if no PHP-FPM on this machine answers its pages, or if the files cannot be copied.
    pub fn plan(wish: CopyWish<'_>) -> Result<Self, Failure> {
        let shown = wish.site.display();
        let cannot = |why: String| Failure::usage(format!("cannot make a copy of {shown}: {why}"), BY_HAND);
        let site = read::real_path(wish.site).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Failure::usage(format!("there is no {shown}"), "pass a file that the running nginx reads")
            }
            _ => unread(wish.site, &error),
        })?;
        let mut front = Front::find(&Nginx, &site)?;
        refuse_roots(&front.master, "nginx")?;
        let nginx_options = options(&front.master.arguments().join(" "));
        refuse_forged(&front.files).map_err(cannot)?;
        prepend(&mut front, &nginx_options);
        let is_own = |path: &Path| read::real_path(path).is_ok_and(|it| it == site);
        let expanded = expand::expand(&front.files, &is_own).map_err(cannot)?;
        let text = site::only_site(&expanded).map_err(cannot)?;
        let main = front.files.first().map(|it| it.0.clone()).unwrap_or_default();
        let of_site = connections(&main, &text, APPLICATION, Path::new("/"))?;
        if of_site.is_empty() {
            return Err(no_pages(wish.site, &text));
        }
        let found = FoundPool::find(&of_site).map_err(cannot)?;
        refuse_roots(&found.master, "PHP-FPM")?;
        let mut ports = Ports::default();
        let socket = wish.folder.join(SOCKET);
        let address = if found.is_on_socket() {
            None
        } else {
            let port = ports.free().map_err(|it| cannot(it.to_string()))?;
            Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        };
        let place = address.map_or_else(|| format!("unix:{}", socket.display()), |it| it.to_string());
        let edits = of_site.iter().filter(|it| found.is_asked_by(it)).filter_map(|it| edit(&text, it, &place));
        let is_root = rustix::process::geteuid().is_root();
        let wanted = site::Wanted {
            folder: wish.folder,
            main: main.parent().unwrap_or(&main),
            pool: &place,
            usual_port: USUAL_PORTS[usize::from(!is_root)],
        };
        let copied = site::copied(&text, &edits.collect::<Vec<_>>(), &wanted, &mut || ports.free()).map_err(cannot)?;
        let user = is_root.then(|| User::of(&front.worker).name);
        let of_pool = pool::Wanted { pool: address, socket: &socket, user: user.as_deref(), at_once: wish.at_once };
        let pool = pool::copied(&found.text, &found.label, &of_pool).map_err(cannot)?;
        let plan = plan(wish, (&front, &copied), (&found, &pool), &of_pool);
        Ok(Self {
            folder: wish.folder.to_owned(),
            fpm: found.master,
            nginx_options,
            site: copied,
            pool: pool.text,
            also: address.map(|it| format!("{it}={}", socket.display())),
            enters: is_root.then_some(front.worker.gid),
            plan,
            nginx: front.master,
        })
    }

    /// Returns the names and texts of the files to write into the folder.
    pub fn files(&self) -> [(&'static str, &str); 2] {
        [(NGINX_CONF, &self.site.text), (FPM_CONF, &self.pool)]
    }

    /// Returns the names of the folders to make in the private folder, for nginx's temporary files.
    pub fn folders(&self) -> &[String] {
        &self.site.folders
    }

    /// Returns the group that needs access to the folder: the group of the web server's workers; `None` if access for
    /// the owner is enough.
    pub fn enters(&self) -> Option<u32> {
        self.enters
    }

    /// Returns the pool's address and socket as `ADDRESS=SOCKET`, the value of the option `--also`; `None` if the pool
    /// already listens on a socket.
    pub fn also(&self) -> Option<&str> {
        self.also.as_deref()
    }

    /// Returns the lines for the plan: both copies, and the files from which they were made.
    pub fn lines(&self) -> &[String] {
        &self.plan
    }

    /// Returns the command that starts both copies in the foreground.
    pub fn command(&self) -> Vec<OsString> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        // `-R` is left out: if the pool's file was changed to user root since PHP-FPM started, the copy must not run as
        // root.
        let words = ["-F", "-y", &path(FPM_CONF)].map(str::to_owned);
        let fpm = line(&file_of(&self.fpm).to_string_lossy(), &words);
        let nginx = line(&file_of(&self.nginx).to_string_lossy(), &self.words_of_nginx());
        ["sh", "-c", &format!("{fpm} & exec {nginx}")].map(OsString::from).into()
    }

    /// Makes both programs test the copies that the caller has written.
    ///
    /// # Errors
    /// The message of the program that rejects its copy, or the reason why the program was not run.
    pub fn test(&self) -> Result<(), Failure> {
        let of_fpm = ["-t", "-y", &*self.folder.join(FPM_CONF).display().to_string()].map(str::to_owned);
        let of_nginx = ["-t", "-q"].map(str::to_owned).into_iter().chain(self.words_of_nginx());
        test("PHP-FPM", &self.fpm, of_fpm.into())?;
        test("nginx", &self.nginx, of_nginx.collect())
    }

    fn words_of_nginx(&self) -> Vec<String> {
        let mut words = vec!["-c".to_owned(), self.folder.join(NGINX_CONF).display().to_string()];
        for pair in self.nginx_options.chunks_exact(2) {
            match &*pair[0] {
                "-p" => words.extend_from_slice(pair),
                "-e" => words.extend(["-e", "stderr"].map(str::to_owned)),
                _ => {}
            }
        }
        words
    }
}

/// Returns an error if `nginx -T` may print a forged text. It prints one file after another, so a quoted value in one
/// user's file could look like the beginning of a file of root.
///
/// # Errors
/// The path of a file whose printed text differs from its contents.
fn refuse_forged(files: &Files) -> Result<(), String> {
    let is_so = |path: &Path, text: &str| read::config(path).is_ok_and(|it| it.trim_end() == text.trim_end());
    match files.iter().find(|(path, text)| !is_so(path, text)) {
        Some((path, _)) => {
            Err(format!("`nginx -T` prints other contents for {} than looptax reads in that file", path.display()))
        }
        None => Ok(()),
    }
}

/// Adds the directives in the command line, which nginx also applies.
fn prepend(front: &mut Front, options: &[String]) {
    let of_line = options.chunks_exact(2).filter(|it| it[0] == "-g").map(|it| &*it[1]);
    let of_line: Vec<&str> = of_line.collect();
    if let Some((_, text)) = front.files.first_mut() {
        text.insert_str(0, &format!("{}\n", of_line.join(" ")));
    }
}

/// Returns an error if a program runs as root and looptax does not run as root: the program's copy could not do
/// everything that the original does.
fn refuse_roots(master: &Process, title: &str) -> Result<(), Failure> {
    if master.uid == 0 && !rustix::process::geteuid().is_root() {
        let words = format!("{title} {} belongs to root, and looptax does not run as root", master.pid);
        return Err(Failure::usage(words, "run looptax as root"));
    }
    Ok(())
}

fn no_pages(site: &Path, text: &str) -> Failure {
    let shown = site.display();
    if text.contains("fastcgi_pass") {
        return Failure::usage(format!("looptax cannot determine which PHP-FPM gets the pages of {shown}"), BY_HAND);
    }
    let others = ["proxy_pass", "uwsgi_pass", "grpc_pass"].into_iter().find(|it| text.contains(it));
    let why = others.map(|it| format!(", but to another program (`{it}`)")).unwrap_or_default();
    Failure::usage(
        format!("{shown} passes no page to PHP-FPM with `fastcgi_pass`{why}"),
        "start a second instance of the program on another port instead: looptax trial --url http://127.0.0.1:PORT/ \
         -- CMD",
    )
}

/// Returns the edit that makes a line lead to the copy of the pool.
fn edit(text: &str, found: &Switchable, to: &str) -> Option<Rewrite> {
    let at = found.at.clone()?;
    let own = text.get(at.clone())?;
    let name = own.split_whitespace().next()?;
    // The range of the setting ends before a closing quote.
    let quote = own[name.len()..].trim_start().chars().next().filter(|it| matches!(it, '"' | '\''));
    let quote = quote.map(String::from).unwrap_or_default();
    Some(Rewrite { at, text: format!("{name} {quote}{to}") })
}

/// Free ports of 127.0.0.1. looptax listens on each port until it has found all ports.
#[derive(Default)]
struct Ports(Vec<TcpListener>);

impl Ports {
    fn free(&mut self) -> std::io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        self.0.push(listener);
        Ok(port)
    }
}

fn test(title: &str, master: &Process, words: Vec<String>) -> Result<(), Failure> {
    let question = Question { process: master.clone(), name: None, words, variables: Variables::None };
    match question.answer(PATIENCE, None) {
        Ok(answer) if answer.code == Some(0) => Ok(()),
        Ok(answer) => {
            let said = format!("{}{}", answer.output, answer.errors);
            let words = format!("{title} rejects the copy of its files that looptax made: {}", said.trim());
            Err(Failure::usage(words, BY_HAND))
        }
        Err(error) => Err(Failure::usage(&error, error.hint())),
    }
}

fn plan(
    wish: CopyWish<'_>,
    (front, site): (&Front, &SiteText),
    (found, pool): (&FoundPool, &pool::PoolText),
    wanted: &pool::Wanted<'_>,
) -> Vec<String> {
    let main = front.files.first().map(|it| it.0.display().to_string()).unwrap_or_default();
    let mut lines = vec![
        format!("copies: in {}, removed at the end; the originals stay as they are", wish.folder.display()),
        format!("  {NGINX_CONF}: {main} with the files that it includes, only the servers of {}", wish.site.display()),
    ];
    for Listen { original, has_tls, private, .. } in &site.listens {
        let original = if *original == 0 { "its socket".to_owned() } else { format!("port {original}") };
        let tls = if *has_tls {
            ", in plain HTTP; its pages see the same $https, $scheme and $server_port as in the original"
        } else {
            ""
        };
        lines.push(format!("    127.0.0.1:{private} instead of {original}{tls}"));
    }
    if site.has_others {
        let others = "    pages that the web server passes to other programs (proxy_pass) still come from these programs: \
                      looptax makes no copy of them";
        lines.push(others.to_owned());
    }
    let (label, n) = (&found.label, pool.n_workers);
    let (file, socket) = (found.file.display(), wanted.socket.display());
    lines.push(match wanted.pool {
        Some(address) => {
            format!("  {FPM_CONF}: pool [{label}] of {file}, at {address}, and again as [{label}-socket] at {socket}")
        }
        None => {
            format!(
                "  {FPM_CONF}: pool [{label}] of {file}, at {socket}: the pool is on a socket already, and \
                stays there"
            )
        }
    });
    lines.push(format!("    pm = static with {n} workers each (original: {})", pool.was));
    if pool.has_variables {
        lines.push("    variables ($NAME) in the pool come from looptax's environment".to_owned());
    }
    lines
}
