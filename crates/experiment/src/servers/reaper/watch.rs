//! Lists the processes, threads and folders that messages have named, and cleans them up after the pipe has closed.
//!
//! Runs only in the reaper's process, and touches nothing that is not in this list.

use looptax_host::lent::Lent;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::time::Duration;

use looptax_host::read;

use super::message::Message;
use crate::servers::process::{self, Process};
use crate::servers::scratch::{is_scratch_path, open_lock, remove_folder};

/// How long a server may take to end before it is killed.
///
/// The data are not needed, so a kill loses nothing. A clean end would only leave less to remove.
const GRACE: Duration = Duration::from_secs(2);

/// The processes, threads and folders to clean up.
#[derive(Debug, Default)]
pub(super) struct Watch {
    processes: Vec<Process>,
    threads: Vec<Lent>,
    /// Each folder with its lock. The reaper holds the lock so that no sweep removes the folder before the reaper does.
    folders: Vec<(PathBuf, Option<File>)>,
}

impl Watch {
    /// Reads messages until the pipe closes. Unknown lines are skipped, because a reaper that stops early would clean
    /// up nothing.
    pub(super) fn follow(mut input: impl BufRead) -> Self {
        let mut watch = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return watch,
                // A line without a line break was cut when looptax ended.
                Ok(_) if line.last() != Some(&b'\n') => {}
                Ok(_) => {
                    if let Ok(message) = String::from_utf8_lossy(&line[..line.len() - 1]).parse() {
                        watch.note(message);
                    }
                }
            }
        }
    }

    fn note(&mut self, message: Message) {
        match message {
            Message::Server(process) => self.processes.push(process),
            Message::Lent(lent) => self.threads.push(lent),
            Message::Returned(tid) => self.threads.retain(|it| it.tid != tid),
            Message::Gone(pid) => self.processes.retain(|process| process.pid != pid),
            Message::Removed(path) => self.folders.retain(|(folder, _)| *folder != path),
            Message::Folder(path) if is_scratch_path(&path) => {
                // Each folder is reported twice: before the folder is made, when it has no lock yet, and again after it
                // was made.
                self.folders.retain(|(folder, _)| *folder != path);
                let lock = open_lock(&path).ok().filter(|lock| lock.try_lock_shared().is_ok());
                self.folders.push((path, lock));
            }
            Message::Folder(_) => {}
        }
    }

    /// Ends the processes, then removes the folders. Returns whether all folders have been removed.
    pub(super) fn clean_up(self) -> bool {
        // Threads are restored first, because they may already serve other clients. The last change is undone first: if
        // a thread was changed twice, the second message contains the cores that the first change had set.
        self.threads.iter().rev().for_each(Lent::give_back);
        // All servers are asked to end at the same time, so that they share one grace period.
        process::end(&self.processes, GRACE);
        let mut is_clean = true;
        for (folder, _lock) in &self.folders {
            is_clean &= remove_folder(folder).is_ok() || !read::may_exist(folder);
        }
        is_clean
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::servers::process::StopSignal;

    /// Makes a folder as `Scratch` does, which is then left behind.
    fn abandoned_folder(root: &Path, name: &str) -> PathBuf {
        let folder = root.join(name);
        fs::create_dir_all(folder.join("srv")).unwrap();
        File::create(folder.join("lock")).unwrap();
        folder
    }

    #[test]
    fn forgets_what_is_gone_and_passes_over_a_cut_line() {
        let text = "server 12 34 term\nserver 13 35 quit\nnonsense\ngone 12\nserver 14 3";
        let watch = Watch::follow(text.as_bytes());
        assert_eq!(watch.processes, [Process { pid: 13, start_ticks: 35, stop: StopSignal::Quit }]);
    }

    #[test]
    fn removes_the_folders_it_was_given_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let known = abandoned_folder(root.path(), "looptax-00000001");
        let unknown = abandoned_folder(root.path(), "looptax-00000002");
        let foreign = abandoned_folder(root.path(), "precious");
        let text = format!("folder {}\nfolder {}\nfolder /\n", known.display(), foreign.display());
        assert!(Watch::follow(text.as_bytes()).clean_up());
        assert!(!known.exists());
        assert!(unknown.exists() && foreign.exists());
    }

    #[test]
    fn ends_the_processes_it_was_told() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::with_pid(child.id(), StopSignal::Term).unwrap();
        let text = format!("server {process}\n");
        Watch::follow(text.as_bytes()).clean_up();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn gives_back_the_threads_that_were_lent_and_no_others() {
        let mut children = [(); 2].map(|()| Command::new("cat").stdin(Stdio::piped()).spawn().unwrap());
        let lent = children.each_ref().map(|it| Lent::now(it.id()).unwrap());
        let first = vec![lent[0].cores[0]];
        for it in &lent {
            looptax_host::processes::let_use(it.tid, &first).unwrap();
        }
        let text = format!("lent {}\nlent {}\nreturned {}\n", lent[0], lent[1], lent[1].tid);
        Watch::follow(text.as_bytes()).clean_up();
        assert_eq!(Lent::now(lent[0].tid).unwrap().cores, lent[0].cores);
        assert_eq!(Lent::now(lent[1].tid).unwrap().cores, first);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn holds_the_lock_of_a_folder_while_it_follows() {
        let root = tempfile::tempdir().unwrap();
        let folder = abandoned_folder(root.path(), "looptax-00000003");
        let watch = Watch::follow(format!("folder {}\n", folder.display()).as_bytes());
        assert!(open_lock(&folder).unwrap().try_lock().is_err());
        drop(watch);
        assert!(open_lock(&folder).unwrap().try_lock().is_ok());
    }
}
