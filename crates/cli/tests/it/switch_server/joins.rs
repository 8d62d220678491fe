//! An application whose user is not in the server's group: the user joins the group, and leaves it when the switch is
//! undone. This happens in separate folders with a copy of `/etc`, so no user joins a group of this machine.

use std::fs;
use std::process::Command;

use looptax_testkit::ports::free_address;
use looptax_testkit::programs;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{exe, is_root, is_there};

const SCRIPT: &str = r#"
set -eu
cd "$1"; port=$2 looptax=$3
cp -a /etc "$1/etc-copy"
mount --bind "$1/etc-copy" /etc
gpasswd -d www-data redis > groups-before 2>&1 || true
scene() { "$1/scene.sh" "$1" redis "$port" "${@:2}"; }
finish() { scene "$PWD" end; scene "$PWD" stop; }
trap finish EXIT
scene "$PWD" make
scene "$PWD" begin www-data
until [ -s app/answers ]; do sleep 0.05; done
line="$PWD/scene.sh $PWD redis $port"
export XDG_DATA_HOME=$PWD/kept
"$looptax" switch app/.env etc/redis.conf --as sidekiq --socket "$PWD/run/server.sock" --yes --no-times --within 30s \
  --restart="$line restart" --reload "$line reload www-data" > moved 2>&1
id -nG www-data > groups-moved
"$looptax" switch --undo last --yes --restart="$line restart" --reload "$line reload www-data" > undone 2>&1
id -nG www-data > groups-undone

# A membership that was there before stays, also if the application runs without it.
scene "$PWD" end
rm -f app/answers
scene "$PWD" begin www-data
until [ -s app/answers ]; do sleep 0.05; done
gpasswd -a www-data redis > groups-before 2>&1
"$looptax" switch app/.env etc/redis.conf --as sidekiq --socket "$PWD/run/server.sock" --yes --no-times --within 30s \
  --restart="$line restart" --reload "$line reload www-data" > moved-again 2>&1
"$looptax" switch --undo last --yes --restart="$line restart" --reload "$line reload www-data" > undone-again 2>&1
id -nG www-data > groups-kept
"#;

#[test]
fn a_user_joins_the_servers_group_and_leaves_it_with_the_undo() {
    if !is_root() || !is_there("redis-server") || !is_there("usermod") {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.file("s");
    fs::create_dir(&folder).unwrap();
    for (name, text) in [("scene.sh", include_str!("scene.sh")), ("client.py", include_str!("client.py"))] {
        programs::write(folder.join(name), text);
    }
    let port = free_address().port().to_string();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c", SCRIPT, "bash"]);
    let ended = command.arg(&folder).arg(port).arg(exe()).output().unwrap();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let told: String = ["moved", "undone", "moved-again", "undone-again"].map(read).concat();
    let told = told + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{told}");
    assert!(told.contains("www-data joins the group redis") && told.contains("moved and proved"), "{told}");
    let in_group = |name: &str| read(name).split_whitespace().any(|it| it == "redis");
    assert!(in_group("groups-moved") && !in_group("groups-undone"), "{told}");
    assert!(told.contains("www-data is in the group redis") && in_group("groups-kept"), "{told}");
}
