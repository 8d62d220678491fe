//! nginx and a pool of PHP-FPM are moved together, with the real programs: moved, proved, undone, and put back on
//! failure.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::{Finished, Looptax};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::shop::NGINX_MAIN;
use crate::application::php::program;
use crate::application::{Group, PATIENCE, Place, get};
use crate::check::queue::n_failed;
use crate::fixture::{exe, is_root};

const GLOBAL: &str = "[global]\nerror_log = «folder»/log\ndaemonize = no\ninclude = «folder»/pool.d/*.conf\n";
const POOL: &str = "; the shop\n[www]\n«account»listen = «behind» ; where nginx asks\nlisten.backlog = 64\npm = static\npm.max_children = 2\n";
const SITE: &str = "\
server {
    listen «http»;
    root «folder»/site;
    location /plain { return 200 'no PHP'; }
    location / {
        fastcgi_pass   «behind»;   # the pool
        fastcgi_param SCRIPT_FILENAME $document_root/index.php;
        fastcgi_param REQUEST_METHOD $request_method;
    }
}
";
const PAGE: &str = "<?php echo 'a page of ', get_current_user() === '' ? 'nobody' : 'PHP';\n";

const FPM_WORDS: [&str; 4] = ["-n", "-F", "-y", "«folder»/fpm.conf"];

/// nginx with a site, and PHP-FPM with its pool.
struct Shop {
    fpm: Group,
    nginx: Group,
    place: Place,
    behind: SocketAddr,
}

impl Shop {
    /// Starts both; prints a message and returns `None` if one is not installed.
    fn open() -> Option<Self> {
        Self::with(POOL, &[])
    }

    fn with(pool: &str, more: &[(&str, &str)]) -> Option<Self> {
        let (fpm, nginx) = (program("php-fpm")?, program("nginx")?);
        let behind = free_address();
        let [account, user] =
            if is_root() { ["user = www-data\ngroup = www-data\n", "user www-data;\n"] } else { ["", ""] };
        let place = Place::alone()
            .with("«behind»", behind.to_string())
            .with("«account»", account.to_owned())
            .with("«user_line»", user.to_owned());
        place.write(&[
            ("fpm.conf", GLOBAL),
            ("nginx.conf", NGINX_MAIN),
            ("pool.d/www.conf", pool),
            ("sites/shop", SITE),
            ("site/index.php", PAGE),
        ]);
        place.write(more);
        let fpm = place.start(&fpm, &FPM_WORDS);
        let nginx = place.start(&nginx, &["-e", "«folder»/log", "-c", "«folder»/nginx.conf"]);
        let shop = Self { fpm, nginx, place, behind };
        shop.expect_page();
        Some(shop)
    }

    /// Restarts PHP-FPM, because after a reload it keeps its socket with the old permissions.
    fn restart_fpm(&mut self) {
        let fpm = program("php-fpm").expect("it ran already");
        self.restart_fpm_by(&fpm, &FPM_WORDS);
    }

    fn restart_fpm_by(&mut self, program: &Path, words: &[&str]) {
        let idle = self.place.start("true", &[]);
        drop(std::mem::replace(&mut self.fpm, idle));
        self.fpm = self.place.start(program, words);
        self.expect_page();
    }

    #[track_caller]
    fn expect_page(&self) {
        let answer = || get(self.place.http, "/").ok().filter(|it| it.contains("a page of"));
        let told = || fs::read_to_string(self.place.path("log")).unwrap_or_default();
        assert!(patience::wait(PATIENCE, answer).is_some(), "no page\n{}", told());
    }

    fn socket(&self) -> PathBuf {
        self.place.path("php.sock")
    }

    fn looptax(&self) -> Looptax<'_> {
        let scratch = &self.place.scratch;
        Looptax::new(exe(), scratch).env("XDG_DATA_HOME", scratch.file("data"))
    }

    fn switching(&self, args: &[&str]) -> Looptax<'_> {
        let (site, pool, socket) = (self.path("sites/shop"), self.path("pool.d/www.conf"), self.path("php.sock"));
        let mut words = vec!["switch", &*site, &*pool, "--socket", &*socket, "--no-times"];
        words.extend(args);
        self.looptax().args(words)
    }

    fn path(&self, name: &str) -> String {
        self.place.path(name).display().to_string()
    }

    fn url(&self, page: &str) -> String {
        format!("http://{}{page}", self.place.http)
    }

    /// Runs the switch as a user who has read the plan.
    fn switch(&self, args: &[&str]) -> Finished {
        let url = self.url("/");
        let words = ["--yes", "--within", "20s", "--url", &*url];
        self.switching(&[&words, args].concat()).run()
    }

    /// Returns the contents, mode and owner of both files.
    fn files(&self) -> Vec<(Vec<u8>, u32, u32)> {
        let all = ["sites/shop", "pool.d/www.conf"].map(|name| {
            let path = self.place.path(name);
            let found = path.metadata().unwrap();
            (fs::read(&path).unwrap(), found.mode(), found.uid())
        });
        all.into()
    }

    fn is_port_open(&self) -> bool {
        TcpStream::connect(self.behind).is_ok()
    }

    fn workers(&self) -> Vec<String> {
        let masters = [self.fpm.pid(), self.nginx.pid()];
        let lists = masters.map(|it| fs::read_to_string(format!("/proc/{it}/task/{it}/children")));
        lists.map(Result::unwrap_or_default).into()
    }

    /// Undoes the last switch, and checks that everything is as before.
    #[track_caller]
    fn expect_undone(&self, files: &[(Vec<u8>, u32, u32)]) {
        let undo = self.looptax().args(["switch", "--undo", "--yes"]).run();
        undo.expect_code(0);
        self.expect_as_before(files);
    }

    /// Checks that the files are unchanged, that the page works, and that the port is open.
    #[track_caller]
    fn expect_as_before(&self, files: &[(Vec<u8>, u32, u32)]) {
        assert!(self.files() == files, "not the very files of before");
        self.expect_page();
        assert!(self.is_port_open());
    }
}

#[track_caller]
fn expect_said(run: &Finished, words: &str) {
    let said = run.words();
    if !said.contains(words) {
        run.fail(&format!("`{words}` was expected on stdout"));
    }
}

#[test]
fn nginx_and_its_pool_are_moved_together_proved_and_undone_to_the_very_bytes() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let run = shop.switch(&[]);
    run.expect_code(0);
    expect_said(&run, "moved and proved");
    shop.expect_page();
    assert!(!shop.is_port_open(), "somebody still listens at the port");
    let [site, pool] = ["sites/shop", "pool.d/www.conf"].map(|it| fs::read_to_string(shop.place.path(it)).unwrap());
    let (behind, socket) = (shop.behind.to_string(), shop.path("php.sock"));
    assert_eq!(site, shop.place.fill(SITE).replace(&behind, &format!("unix:{socket}")));
    let owner = if is_root() { "\nlisten.owner = www-data" } else { "" };
    let moved = format!("listen = {socket} ; where nginx asks{owner}\n");
    let old = format!("listen = {behind} ; where nginx asks\n");
    // The queue has to take all connections that nginx may open: 512 for its only worker.
    let longer = shop.place.fill(POOL).replace(&old, &moved).replace("backlog = 64", "backlog = 512");
    assert_eq!(pool, longer);

    let list = shop.looptax().args(["switch", "--list", "--json"]).run();
    assert_eq!(list.stdout.matches("\"standing\"").count(), 1, "one entry for both: {}", list.stdout);
    let undo = shop.looptax().args(["switch", "--undo", "--yes"]).run();
    undo.expect_code(0);
    // The page works immediately, because both programs have read their files.
    assert!(get(shop.place.http, "/").is_ok(), "{}", undo.stdout);
    shop.expect_as_before(&before);
}

#[test]
fn r49_the_pool_gets_a_queue_that_takes_all_that_nginx_may_send() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let enough = shop.switching(&["--dry-run", "-c", "65"]).run();
    assert!(!enough.stdout.contains("+ listen.backlog"), "{}", enough.stdout);
    let kernel: u32 = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().parse().unwrap();
    let too_many = (kernel + 2).to_string();
    let stays = shop.switch(&["-c", &too_many]);
    stays.expect_code(1);
    expect_said(&stays, &format!("sysctl net.core.somaxconn={too_many} (now {kernel})"));
    shop.expect_as_before(&before);
    let plan = shop.switching(&["--dry-run", "--json"]).run();
    let counted = "513 connections may wait, and 512 arrive together (worker_connections 512 (its default), of nginx's only worker)";
    assert!(plan.stdout.contains(counted), "{}", plan.stdout);
    let run = shop.switch(&[]);
    run.expect_code(0);
    expect_said(&run, "- listen.backlog = 64 + listen.backlog = 512");
    let children = shop.workers().swap_remove(0);
    let of_group = Pid::from_raw(i32::try_from(shop.fpm.pid()).unwrap()).unwrap();
    kill_process_group(of_group, Signal::STOP).unwrap();
    let is_stopped = |pid: &str| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|it| it.contains(") T "));
    patience::wait_for("all of them to stop", PATIENCE, || children.split_whitespace().all(is_stopped).then_some(()));
    let failed = n_failed(&shop.socket(), 514);
    kill_process_group(of_group, Signal::CONT).unwrap();
    assert_eq!(failed, 1, "one more than the queue waits");
    shop.expect_page();
    shop.expect_undone(&before);
}

#[test]
fn a_pool_whose_program_named_its_file_from_its_own_folder_is_tested_there() {
    let Some(mut shop) = Shop::open() else { return };
    let fpm = program("php-fpm").expect("it runs");
    shop.place.write(&[("etc/own.conf", GLOBAL)]);
    let line = format!("cd etc && exec {} -n -F -y own.conf", fpm.display());
    shop.restart_fpm_by(Path::new("/bin/sh"), &["-c", &line]);
    let page = shop.url("/");
    let run = shop.switching(&["--yes", "--url", &page]).run();
    run.expect_code(0);
    expect_said(&run, "-y own.conf");
}

#[test]
fn a_pool_is_tested_by_the_php_fpm_in_whose_folder_it_lies() {
    let Some(shop) = Shop::open() else { return };
    let pool = shop.place.path("pool.d/www.conf");
    let tests = looptax_switch::pool_tests([&*pool]);
    let [test] = &*tests else { panic!("{tests:?}") };
    let main = shop.path("fpm.conf");
    let test = test.text();
    assert!(test.contains("-t -R") && test.ends_with(&main), "{test}");
    let nobodys = Path::new("/nonexistent/www.conf");
    assert!(looptax_switch::pool_tests([nobodys]).is_empty());
}

#[test]
fn the_plan_has_the_lines_of_both_files_and_changes_nothing() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let run = shop.switching(&["--dry-run"]).run();
    run.expect_code(0);
    let (behind, socket) = (shop.behind, shop.path("php.sock"));
    expect_said(&run, &format!("- fastcgi_pass {behind} + fastcgi_pass unix:{socket}"));
    expect_said(&run, &format!("- listen = {behind} + listen = {socket}"));
    expect_said(&run, "-t -q -e");
    assert!(!run.stdout.contains("is also connected to"), "{}", run.stdout);
    // If another program is connected to the port, looptax names it. PHP-FPM closes a connection without a request
    // after five seconds.
    let behind_it = shop.behind;
    let is_over = Arc::new(AtomicBool::new(false));
    let is_told = Arc::clone(&is_over);
    let other = std::thread::spawn(move || {
        while !is_told.load(Ordering::Relaxed) {
            let mut stream = TcpStream::connect(behind_it).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            while !is_told.load(Ordering::Relaxed) && stream.read(&mut [0]).is_err() {}
        }
    });
    let own = format!("pid {}, is also connected to {behind}", std::process::id());
    let run = shop.switching(&["--dry-run"]).run();
    expect_said(&run, &own);
    let page = shop.url("/");
    let run = shop.switching(&["--yes", "--url", &page]).run();
    run.expect_code(1);
    let words = "--force writes the file anyway";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    is_over.store(true, Ordering::Relaxed);
    other.join().unwrap();
    let nowhere = format!("http://{}/", free_address());
    shop.switching(&["--dry-run", "--url", &nowhere])
        .run()
        .expect_error(2, &["does not answer", "pass a page that works now: only a page"]);
    // Without a page nothing could prove the move.
    shop.switching(&["--yes"]).run().expect_error(2, &["only a page can prove this"]);
    // A page that does not come from PHP proves nothing either.
    let plain = shop.url("/plain");
    let run = shop.switching(&["--yes", "--url", &plain]).run();
    run.expect_error(2, &["the page proves nothing"]);
    shop.expect_as_before(&before);
}

#[test]
fn r44_a_file_of_another_user_in_nginx_s_configuration_is_named_and_not_tested_as_root() {
    // Root's test of the configuration would load whatever the other user's file names.
    if !crate::fixture::is_root() {
        return;
    }
    let Some(shop) = Shop::with(POOL, &[("sites/other", "")]) else {
        return;
    };
    let other = shop.place.path("sites/other");
    std::os::unix::fs::chown(&other, Some(61_236), None).unwrap();
    let before = shop.files();
    let expected = [
        "looptax does not run /usr/sbin/nginx as root",
        "sites/other, which belongs to user 61236",
        "make root the owner of that file",
    ];
    shop.switch(&[]).expect_error(2, &expected);
    // Another nginx, whose files looptax cannot list either, does not replace this reason.
    let beside = Shop::with(POOL, &[("sites/other", "")]).expect("the programs are installed");
    fs::write(beside.place.path("sites/other"), "nonsense;").unwrap();
    shop.switch(&[]).expect_error(2, &expected);
    shop.expect_as_before(&before);
}

#[test]
fn files_that_nginx_refuses_are_back_before_anybody_has_read_them() {
    // Another program writes an invalid file next to the site when the page is requested: after the plan, before
    // looptax writes.
    let page = "<?php file_put_contents('«folder»/asked', 'x'); while (!filesize('«folder»/sites/other')) { clearstatcache(); usleep(1000); } echo 'a page of PHP';\n";
    let Some(shop) = Shop::with(POOL, &[("sites/other", ""), ("asked", "")]) else {
        return;
    };
    let (other, asked) = (shop.place.path("sites/other"), shop.place.path("asked"));
    fs::set_permissions(&asked, fs::Permissions::from_mode(0o666)).unwrap();
    shop.place.write(&[("site/index.php", page)]);
    let writer = std::thread::spawn(move || {
        while fs::metadata(&asked).unwrap().len() == 0 {
            std::thread::yield_now();
        }
        fs::write(other, "nonsense;").unwrap();
    });
    let (before, workers) = (shop.files(), shop.workers());
    let run = shop.switch(&[]);
    run.expect_code(1);
    writer.join().unwrap();
    expect_said(&run, "nonsense");
    expect_said(&run, "the old files are back");
    // A busy pool starts further workers, while a reload would end the old ones.
    let now = shop.workers().concat();
    let is_there = |pid: &str| now.split_whitespace().any(|it| it == pid);
    assert!(workers.concat().split_whitespace().all(is_there), "something was reloaded: {workers:?}, {now}");
    shop.expect_as_before(&before);
}

#[test]
fn a_page_that_fails_over_the_socket_brings_both_files_back() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    // The first reload breaks the page, and the second one repairs it.
    let (page, once) = (shop.path("site/index.php"), shop.path("once"));
    let reload = format!(
        "kill -USR2 {}; sleep 0.3; kill -HUP {}; if [ -e {once} ]; then mv {once} {page}; else mv {page} {once}; fi",
        shop.fpm.pid(),
        shop.nginx.pid()
    );
    let run = shop.switch(&["--reload", &reload]);
    run.expect_code(1);
    expect_said(&run, "status 404 instead of 200");
    expect_said(&run, "is as it was before");
    // The visitor got no page for more than five seconds.
    let (_, visits) = run.words().split_once("visits").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let n_failed =
        visits.split_once(" failed, within ").and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
    assert!(n_failed.is_some_and(|it: u32| it > 5), "{visits}");
    assert!(visits.contains("not moved: everything is as it was before"), "{visits}");
    shop.expect_as_before(&before);
}

#[test]
fn a_reload_that_fails_brings_both_files_back() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let run = shop.switch(&["--reload", "echo no such unit; exit 7"]);
    run.expect_code(1);
    expect_said(&run, "no such unit");
    shop.expect_as_before(&before);
}

/// Ends the program in a pid file when this value is dropped.
struct Background(PathBuf);

impl Drop for Background {
    fn drop(&mut self) {
        let pid = fs::read_to_string(&self.0).ok().and_then(|it| it.trim().parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// This PHP-FPM reads its files only as a new process.
#[test]
fn r52_a_php_fpm_in_the_background_is_moved_and_brought_back() {
    let Some(mut shop) = Shop::open() else { return };
    let global = GLOBAL.replace("daemonize = no", "daemonize = yes\npid = «folder»/fpm.pid");
    shop.place.write(&[("fpm.conf", &global)]);
    let fpm = program("php-fpm").expect("it runs");
    shop.restart_fpm_by(&fpm, &["-n", "-D", "-y", "«folder»/fpm.conf"]);
    let _background = Background(shop.place.path("fpm.pid"));
    let before = shop.files();
    // looptax may first see the end of the old process, or the socket of the new one.
    for _ in 0..4 {
        shop.switch(&[]).expect_code(0);
        shop.expect_undone(&before);
    }
    let url = shop.url("/");
    let mut running = shop.switching(&["--yes", "--url", &*url]).spawn();
    running.wait_for("the new process", || UnixStream::connect(shop.socket()).ok());
    running.signal(Signal::INT);
    running.wait().expect_code(130);
    shop.expect_as_before(&before);
}

#[test]
fn whoever_interrupts_it_has_both_files_back() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let url = shop.url("/");
    // No program reads the new files, so the proof sees nothing.
    let words = ["--yes", "--url", &*url, "--reload", "true"];
    let mut running = shop.switching(&words).spawn();
    running.wait_for("the new files", || (shop.files()[1] != before[1]).then_some(()));
    running.signal(rustix::process::Signal::INT);
    running.wait().expect_code(130);
    shop.expect_as_before(&before);
}

#[test]
fn an_nginx_of_somebody_else_is_not_run_for_its_files() {
    use std::os::unix::process::CommandExt;
    if !is_root() {
        return;
    }
    let Some(shop) = Shop::open() else { return };
    // A program with the name of nginx that any user may start.
    let theirs = shop.place.path("theirs/nginx");
    fs::create_dir(shop.place.path("theirs")).unwrap();
    // A separate program copies it, because no thread of the test may have the file open for writing when it is
    // started.
    shop.place.run("cp", &["/bin/sleep", &theirs.display().to_string()]);
    let mut command = std::process::Command::new(&theirs);
    let theirs = shop.place.start_logged(command.arg("60").uid(65_534));
    shop.place.write(&[("unread", SITE)]);
    let (site, pool) = (shop.path("unread"), shop.path("pool.d/www.conf"));
    let run = shop.looptax().args(["switch", &*site, &*pool]).run();
    // An nginx of another test may reject its own files, which are removed before it ends.
    let theirs = format!("process {}", theirs.pid());
    assert!(!run.expect_error(2, &[]).stderr.contains(&theirs), "its program was run");
}

#[test]
fn a_pool_that_would_keep_nginx_out_is_opened_in_the_plan() {
    if !is_root() {
        return;
    }
    let rights = "listen.backlog = 600\nlisten.group = www-data\nlisten.mode = 0600";
    let pool = POOL.replace("listen.backlog = 64", rights);
    let Some(shop) = Shop::with(&pool, &[]) else {
        return;
    };
    let before = shop.files();
    let run = shop.switch(&[]);
    run.expect_code(0);
    expect_said(&run, "- listen.mode = 0600 + listen.mode = 0660");
    let mode = shop.socket().metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o660);
    shop.expect_undone(&before);
}

#[test]
fn a_socket_whose_mode_keeps_nginx_out_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    // The pages of the site come from the pool on the port; the named pool is already on its socket.
    let named = POOL.replace("[www]", "[shut]").replace("«behind»", "«folder»/php.sock") + "listen.mode = 0600\n";
    let Some(mut shop) = Shop::with(&named, &[("pool.d/old.conf", POOL)]) else {
        return;
    };
    let before = shop.files();
    let run = shop.switch(&[]);
    run.expect_code(1);
    expect_said(&run, "write listen.owner = www-data into [shut] of");
    expect_said(&run, "write listen.backlog = 512 into [shut] of");
    expect_said(&run, "nothing was changed");
    assert!(!shop.place.path("data").exists(), "something is kept");
    shop.expect_as_before(&before);

    // After the advice is followed, only nginx's file has to change.
    let named = named.replace("backlog = 64", "backlog = 512");
    shop.place.write(&[("pool.d/www.conf", &format!("{named}listen.owner = www-data\n"))]);
    shop.restart_fpm();
    let before = shop.files();
    let run = shop.switch(&[]);
    run.expect_code(0);
    expect_said(&run, "no page has caused a connection to");
    assert!(shop.files()[1] == before[1] && shop.files()[0] != before[0]);
    shop.expect_undone(&before);
}

#[test]
fn a_folder_that_nginx_may_not_enter_is_found_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let folder = shop.place.path("shut");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let socket = folder.join("php.sock").display().to_string();
    let (site, pool) = (shop.path("sites/shop"), shop.path("pool.d/www.conf"));
    let run = shop.looptax().args(["switch", &*site, &*pool, "--socket", &*socket, "--yes"]).run();
    run.expect_code(1);
    expect_said(&run, &folder.display().to_string());
    expect_said(&run, "nothing was changed");
    shop.expect_as_before(&before);
}

#[test]
fn another_site_at_the_same_port_is_named_and_nothing_is_done() {
    let other =
        "server {\n    listen unix:«folder»/other.sock;\n    location / {\n        fastcgi_pass «behind»;\n    }\n}\n";
    let Some(shop) = Shop::with(POOL, &[("sites/other", other)]) else {
        return;
    };
    let before = shop.files();
    let run = shop.switch(&[]);
    run.expect_code(1);
    expect_said(&run, "sites/other line 4 leads to");
    shop.expect_as_before(&before);
}

#[test]
fn one_file_of_the_two_is_not_written_alone() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    for (name, application) in [("sites/shop", "nginx_fastcgi"), ("pool.d/www.conf", "php_fpm_pool")] {
        let file = shop.path(name);
        let socket = shop.path("php.sock");
        let words = ["switch", &*file, "--as", application, "--socket", &*socket, "--yes", "--no-times"];
        let run = shop.looptax().args(words).run();
        run.expect_code(1);
        assert!(run.stderr.contains("looptax switch SITE POOL"), "{}", run.stderr);
    }
    shop.expect_as_before(&before);
}

#[test]
fn a_looptax_that_is_killed_leaves_each_file_old_or_new_and_the_next_brings_both_back() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let url = shop.url("/");
    let site_is_new = || shop.files()[0] != before[0];
    let pool_is_new = || shop.files()[1] != before[1];
    let pool_has_moved = || shop.socket().exists() && !shop.is_port_open();
    let moments: [&dyn Fn() -> bool; 3] = [&site_is_new, &pool_is_new, &pool_has_moved];
    for is_now in moments {
        let mut running = shop.switching(&["--yes", "--url", &url]).spawn();
        running.wait_for("the moment", || is_now().then_some(()));
        running.signal(rustix::process::Signal::KILL);
        running.wait();
        for (name, old) in ["sites/shop", "pool.d/www.conf"].iter().zip(&before) {
            let text = fs::read_to_string(shop.place.path(name)).unwrap();
            let is_new = text.contains(&shop.path("php.sock")) && !text.contains(&shop.behind.to_string());
            assert!(text.as_bytes() == old.0 || is_new, "{text}");
        }
        let undo = shop.looptax().args(["switch", "--undo", "--yes"]).run();
        undo.expect_code(0);
        shop.expect_as_before(&before);
    }
}
