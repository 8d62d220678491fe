//! php-fpm next to a private server: writes its configuration, starts it, and waits until it listens.
//!
//! The pool has one process, which is enough for one visitor at a time. If `looptax run` starts php-fpm, php-fpm
//! connects to the server's port as usual, but `looptax run` moves the connection to the socket. As root, php-fpm
//! itself changes to the server's account.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Installed;
use crate::servers::child::{ChildGuard, Waited};
use crate::servers::process::StopSignal;
use crate::servers::scratch::Scratch;
use crate::servers::spawn::Program;
use crate::servers::{PrivateServer, ServerError};

/// Time limit until php-fpm listens: at its first start it reads its extensions from the disk.
const READY_LIMIT: Duration = Duration::from_secs(20);

/// PHP functions that could send data to other machines or start a program; a site does not need them.
const DISABLED: &str = "mail,exec,passthru,shell_exec,system,proc_open,popen,fsockopen,pfsockopen,\
                        stream_socket_client,socket_connect,curl_exec,curl_multi_exec";

/// Starts php-fpm as a companion of the server. If `redirector` is the path of looptax, php-fpm is started through
/// `looptax run`. Returns the socket on which php-fpm listens.
pub(super) fn start(
    server: &mut PrivateServer,
    installed: &Installed,
    redirector: Option<&Path>,
) -> Result<PathBuf, ServerError> {
    let name = if redirector.is_some() { "moved" } else { "php" };
    let scratch = server.scratch();
    let socket = scratch.socket_path(&format!("{name}.sock"))?;
    let config = scratch.write(&format!("{name}.conf"), &configuration(scratch, &socket))?;
    // opcache must be enabled on the command line: a pool's configuration is read too late to enable opcache.
    let words = ["--nodaemonize", "--define", "opcache.enable=1", "--fpm-config"];
    let words = words.map(str::to_owned);
    let mut args: Vec<String> = words.into_iter().chain([shown(&config)]).collect();
    let mut path = installed.php_fpm.clone();
    if let Some(looptax) = redirector {
        let mut all = moving(server.tcp, &server.socket, &path);
        all.append(&mut args);
        (path, args) = (looptax.to_owned(), all);
    }
    let program = Program::new(path, args);
    let mut guard = ChildGuard::spawn_as_us(&program, StopSignal::Term, scratch)?;
    wait_until_ready(&mut guard, &socket, scratch)?;
    let child = guard.keep();
    server.accompany("php-fpm", child);
    Ok(socket)
}

/// Returns the command line of `looptax run` up to the program, without the program's arguments. With `--strict`,
/// php-fpm does not fall back to TCP if a connection cannot be moved: TCP is measured as a separate transport already.
fn moving(from: SocketAddr, to: &Path, program: &Path) -> Vec<String> {
    let map = format!("{from}={}", to.display());
    let words = ["run", "--strict", "--map", &map, "--", &shown(program)];
    words.map(str::to_owned).to_vec()
}

fn wait_until_ready(guard: &mut ChildGuard<'_>, socket: &Path, scratch: &Scratch) -> Result<(), ServerError> {
    let failed = |how| ServerError::Pool { how, log_tail: scratch.log_tail() };
    match guard.wait(READY_LIMIT, |_| UnixStream::connect(socket).is_ok())? {
        Waited::Ready => Ok(()),
        Waited::Ended(status) => Err(failed(format!("ended ({status})"))),
        Waited::TooLong => Err(failed(format!("does not listen after {READY_LIMIT:?}"))),
    }
}

/// # Source
/// PHP manual, "php-fpm.conf directives" and "List of php.ini directives".
fn configuration(scratch: &Scratch, socket: &Path) -> String {
    let site = shown(&scratch.path("site"));
    let account = scratch
        .account()
        .map_or_else(String::new, |account| format!("user = {}\ngroup = {}\n", account.uid, account.gid));
    format!(
        "[global]\n\
         error_log = /proc/self/fd/2\n\
         [site]\n\
         {account}\
         listen = {}\n\
         listen.mode = 0600\n\
         pm = static\n\
         pm.max_children = 1\n\
         chdir = {site}\n\
         catch_workers_output = yes\n\
         php_admin_flag[log_errors] = on\n\
         php_admin_flag[display_errors] = off\n\
         php_admin_flag[allow_url_fopen] = off\n\
         php_admin_flag[mysqli.allow_persistent] = off\n\
         php_admin_value[auto_prepend_file] = none\n\
         php_admin_value[auto_append_file] = none\n\
         php_admin_value[disable_functions] = {DISABLED}\n\
         php_admin_value[max_execution_time] = 0\n\
         php_admin_value[memory_limit] = 256M\n\
         php_admin_value[sendmail_path] = /bin/false\n\
         php_admin_value[sys_temp_dir] = {}\n",
        shown(socket),
        shown(&scratch.path("tmp")),
    )
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
