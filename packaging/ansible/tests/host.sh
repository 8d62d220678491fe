#!/usr/bin/env bash
# A machine of run.sh and collectors.py, inside the namespaces that it was started in: a copy of this machine's files that is
# written to in memory alone, with a name and a number of its own, and a first process that does nothing, or systemd.
#
# usage: unshare --mount --net --uts --ipc --pid --cgroup --fork --kill-child host.sh FOLDER NAME sleep|systemd
set -euo pipefail
folder=$1
name=$2
first=$3

mount --make-rprivate /
mount -t tmpfs -o mode=755 looptax "$folder"
mkdir "$folder/written" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=/,upperdir=$folder/written,workdir=$folder/work" overlay "$folder/root"
root=$folder/root

# What the machine outside has of looptax, and what its services would do here, is no part of this one.
rm -rf "$root/etc/looptax" "$root/var/lib/looptax" "$root/etc/cron.d/looptax" "$root/root/.local/share/looptax"
find "$root/etc/systemd/system" -mindepth 1 -delete
for unit in systemd-{sysctl,modules-load,binfmt,udevd,tmpfiles-setup-dev,networkd,resolved,logind}.service \
  proc-sys-fs-binfmt_misc.automount systemd-journald-audit.socket; do
  ln -s /dev/null "$root/etc/systemd/system/$unit"
done
printf '%s\n' "$(printf '%s' "$name" | md5sum | cut -c1-32)" >"$root/etc/machine-id"
printf '%s\n' "$name" >"$root/etc/hostname"
printf '127.0.0.1 localhost %s\n' "$name" >"$root/etc/hosts"
hostname "$name"
ip link set lo up

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t sysfs -o ro sysfs "$root/sys"
# Nothing of the machine outside is set from here: its variables are not to be written, and devices are a handful of its own.
mount --bind -o ro "$root/proc/sys" "$root/proc/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mkdir "$root/run/lock"
mkdir -p "$root/run/looptax-test"
# What was written is looked at from inside, too.
mount --bind "$folder/written" "$root/run/looptax-test"
if [ "$first" = systemd ]; then mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"; fi
cd "$root"
mkdir run/old
pivot_root . run/old
umount --lazy run/old
rmdir run/old
# As systemd does where it is the machine's: it hands credentials on by mounts.
mount --make-rshared /
case $first in
  # Its own services are no part of the test: it goes as far as timers need.
  systemd) exec env --ignore-environment container=looptax PATH=/usr/sbin:/usr/bin /lib/systemd/systemd --system --unit=basic.target --log-target=journal ;;
  *) exec sleep infinity ;;
esac
