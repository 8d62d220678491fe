//! A journal of switches that the attacker wrote, in the data folder that root uses: `sudo -E`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::ground::{Ground, clear};
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::{Shop, copy};
use crate::coin::Coin;

pub(super) const JOURNAL: Kind = Kind {
    name: "journal",
    about: "XDG_DATA_HOME or HOME of the attacker with forged switches: root's paths, names with ../, links in place of files",
    share: 60,
    prepare,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forgery {
    /// The file to be restored belongs to root; its content is what the journal expects.
    File,
    /// The name of the temporary file leads out of the folder, to a file that is to be removed.
    Staged,
    /// A file is to be created in one of root's folders.
    Created,
    /// The text to be restored is a link to a file that only root may read.
    OldText,
    Link,
    /// The lock is a link to a file that does not exist.
    Lock,
    /// The folder of all switches is a link.
    Folder,
}

const ALL: [Forgery; 7] =
    [Forgery::File, Forgery::Staged, Forgery::Created, Forgery::OldText, Forgery::Link, Forgery::Lock, Forgery::Folder];

struct Journals<'a>(Shop<'a>);

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    match Shop::open(ground)? {
        None => Ok(Readiness::Skipped("Redis is not installed".to_owned())),
        Some(shop) => Readiness::ready(Journals(shop)),
    }
}

impl Attack for Journals<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let Self(shop) = self;
        let ground = shop.ground;
        shop.restore()?;
        shop.lay_out_switched()?;
        let home = ground.folder_of_hers("home")?;
        let data = home.join(".local/share");
        fs::create_dir_all(home.join(".local"))?;
        copy(&ground.data(), &data)?;
        let forgery = any(coin, &ALL);
        let is_finished = coin.flip();
        forge(shop, forgery, &data, is_finished)?;
        ground.give_all(&home)?;
        let run = match forgery {
            Forgery::Lock => {
                shop.lay_out_new()?;
                shop.switch(&["--within", "1s", "--reload", "false"])
            }
            _ if is_finished => ground.looptax(["switch", "--finish", &shop.id]),
            _ => ground.looptax(["switch", "--undo", &shop.id, "--yes"]),
        };
        let run = match coin.number() % 3 {
            0 => run.env("XDG_DATA_HOME", &data),
            1 => run.env("HOME", &home).env("XDG_DATA_HOME", ""),
            _ => run.env("HOME", &home).env("XDG_DATA_HOME", &data),
        };
        run.end()
    }
}

fn forge(shop: &Shop<'_>, forgery: Forgery, data: &Path, is_finished: bool) -> Result<()> {
    let ground = shop.ground;
    let journal = shop.journal_in(data);
    let folder = journal.parent().context("it lies in a folder")?;
    let evil = b"* * * * * root true\n";
    let set = |change: &dyn Fn(&mut Value)| set(&journal, is_finished, change);
    match forgery {
        Forgery::File => {
            let victim = ground.victim("cron.d/daily");
            set(&|file| {
                file["path"] = json!(victim);
                file["old"] = json!(digest(evil));
                file["new"] = json!(digest_of(&victim));
                if is_finished {
                    file["old"] = file["new"].clone();
                    file["new"] = json!(digest(evil));
                }
            })?;
            fs::write(folder.join("0.old"), evil)?;
            fs::write(folder.join("0.new"), evil)?;
        }
        Forgery::Staged => {
            let victim = ground.victim("cron.d/daily");
            set(&|file| {
                file["staged"] = json!("../../victims/cron.d/daily");
                file["old"] = json!(digest_of(&victim));
            })?;
        }
        Forgery::Created => {
            set(&|file| {
                file["path"] = json!(ground.victim("cron.d/evil"));
                file["new"] = json!(digest(evil));
                file["created"] = json!({"mode": 0o644, "owner": 0, "group": 0, "with_folder": false});
            })?;
            fs::write(folder.join("0.new"), evil)?;
        }
        Forgery::OldText => {
            set(&|_| {})?;
            for name in ["0.old", "0.new"] {
                clear(&folder.join(name))?;
                std::os::unix::fs::symlink(ground.victim("shadow"), folder.join(name))?;
            }
        }
        Forgery::Link => {
            let elsewhere = folder.join("elsewhere");
            fs::rename(&journal, &elsewhere)?;
            std::os::unix::fs::symlink(ground.victim("motd"), &journal)?;
        }
        Forgery::Lock => {
            let lock = data.join("looptax/switches/lock");
            clear(&lock)?;
            std::os::unix::fs::symlink(ground.victim("cron.d/lock"), lock)?;
        }
        Forgery::Folder => {
            let switches = data.join("looptax/switches");
            fs::remove_dir_all(&switches)?;
            std::os::unix::fs::symlink(ground.victim("cron.d"), &switches)?;
        }
    }
    Ok(())
}

/// Changes the journal's entry about its file. An interrupted journal ends before the file is written.
fn set(journal: &Path, is_interrupted: bool, change: &dyn Fn(&mut Value)) -> Result<()> {
    let text = fs::read_to_string(journal)?;
    let mut lines = text.lines();
    let mut planned: Value = serde_json::from_slice(lines.next().context("a plan")?.as_bytes())?;
    change(&mut planned["files"][0]);
    let rest = lines.take_while(|it| !is_interrupted || !it.contains("\"written\""));
    let mut text = format!("{planned}\n");
    text.extend(rest.flat_map(|line| [line, "\n"]));
    Ok(fs::write(journal, text)?)
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("a String takes all");
    }
    text
}

fn digest_of(path: &PathBuf) -> String {
    digest(&fs::read(path).unwrap_or_default())
}
