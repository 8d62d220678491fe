#!/usr/bin/env bash
# Tries the units under a systemd of their own, on a machine that is namespaces of this one: what systemd-analyze says of
# each, that their user sees whose the sockets of others are and can write nowhere else, that containers and short
# connections are seen with the drop-ins and missed aloud without them, and that a measurement needs no capability.
# Needs root, dpkg-deb, systemd, redis-server, mariadbd, postgres.
#
# usage: packaging/tests/units.sh LOOPTAX     the program that is packed, installed and run
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: $0 LOOPTAX" >&2; exit 1; }
looptax=$(realpath "$1")
cd "$(dirname "$0")/.."
packaging=$PWD
scratch=$(mktemp -d /tmp/looptax-units.XXXXXX)
cgroup=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET)/looptax-${scratch##*.}
pid=

# The most that systemd-analyze may say of a unit.
most_exposure=2.5

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

end_machine() {
  [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
  wait
  find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  rm -rf "$scratch"
}
trap end_machine EXIT
trap 'exit 1' INT TERM HUP

inside() {
  nsenter --target "$pid" --mount --pid --net --uts --ipc --cgroup --root --wd env -i HOME=/root \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Runs a unit to its end.
run() { inside systemctl start "$1" || stop "$1: $(inside journalctl --no-pager --unit "$1" | tail -n 30)"; }

echo "== what systemd-analyze says"
for unit in looptax-find.service systemd/looptax-{report,metrics,compare}.service; do
  exposure=$(systemd-analyze security --offline=true "$unit" | sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
  awk -v exposure="$exposure" -v most=$most_exposure 'BEGIN { exit !(exposure != "" && exposure <= most) }' ||
    stop "$unit: systemd-analyze security says $exposure, and $most_exposure is the most"
  echo "${unit##*/}: $exposure"
done

echo "== a machine"
ansible/tests/pack.sh "$looptax" "$scratch"
mkdir "$scratch/machine" "$cgroup"
(
  echo "$BASHPID" >"$cgroup/cgroup.procs"
  exec setsid unshare --mount --net --uts --ipc --pid --cgroup --fork --kill-child ansible/tests/host.sh "$scratch/machine" units systemd
) >"$scratch/log" 2>&1 &
starter=$!
for _ in $(seq 150); do
  pid=$(pgrep --parent "$starter" || true)
  if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm")" = systemd ] && inside systemctl is-active --quiet timers.target 2>/dev/null; then break; fi
  sleep 0.2
done
inside systemctl is-active --quiet timers.target || stop "the machine did not start: $(cat "$scratch/log")"
inside sh -c 'cat >/tmp/looptax.deb && dpkg --install /tmp/looptax.deb' <"$scratch/looptax_0.0.1-1.deb" >"$scratch/install" 2>&1 ||
  stop "the package: $(cat "$scratch/install")"
inside id looptax >/dev/null || stop "the package makes no user"
inside sh -c 'cat >/etc/systemd/system/looptax-find.service' <looptax-find.service
inside systemctl daemon-reload
inside systemd-analyze verify --man=no looptax-{find,report,metrics,compare}.service looptax-{report,metrics,compare}.timer \
  >"$scratch/verify" 2>&1 || stop "$(cat "$scratch/verify")"
[ ! -s "$scratch/verify" ] || stop "$(cat "$scratch/verify")"

homes=/home
# Servers of another user: a socket in /tmp that only this user can reach, one in a home, and one in a network of its own.
inside env homes=$homes sh -c 'install -d -m 700 -o redis /tmp/private "$homes/redis"
  redis="setpriv --reuid=redis --regid=redis --clear-groups redis-server --daemonize yes --dir /tmp/private --save"
  $redis "" --port 6400 --unixsocket /tmp/private/one.sock
  $redis "" --port 6402 --unixsocket "$homes/redis/two.sock"
  unshare --net sh -c "ip link set lo up && $redis \"\" --port 6401"' >/dev/null
cat >"$scratch/client.sh" <<'CLIENT'
exec 3<>/dev/tcp/127.0.0.1/6400
echo >&2 ready
read -r _ <&3
CLIENT
inside sh -c 'cat >/tmp/client.sh' <"$scratch/client.sh"
inside setpriv --reuid=daemon --regid=daemon --clear-groups bash /tmp/client.sh 2>"$scratch/client" &
until grep -q ready "$scratch/client"; do sleep 0.1; done

# A switch of root's: the folder is there to be seen.
inside sh -c 'install -d -m 700 ~/.local/share/looptax/switches/20260101-000000-1'

seen() { inside journalctl --no-pager --output=cat --unit looptax-find; }

echo "== find: owners of sockets, without a right to write"
run looptax-find
for words in 'redis-server' '/tmp/private/one.sock' "$homes/redis/two.sock" ':6400' ':6402'; do
  seen | grep -qF "$words" || stop "looptax-find.service does not see $words: $(seen)"
done
seen | grep -q 'cannot inspect .* processes of other users' && stop "looptax-find.service does not see all owners: $(seen)"
seen | grep -q '1 other network namespaces' || stop "looptax-find.service does not tell of the container: $(seen)"
! seen | grep -qF ':6401' || stop "looptax-find.service sees the container"

echo "== report and gauges"
inside install -d -m 755 /etc/looptax
inside sh -c 'echo LOOPTAX_DESTINATION=/var/lib/looptax/reports >/etc/looptax/report.env'
run looptax-report
inside sh -c 'cat /var/lib/looptax/reports/*' | grep '"table":"reports"' >"$scratch/seen" || stop "no row of the report"
grep -q '"sees_all":false' "$scratch/seen" && grep -q '"servers":3' "$scratch/seen" || stop "the report: $(cat "$scratch/seen")"
inside journalctl --no-pager --output=cat --unit looptax-report | grep -q 'network namespaces of containers' || stop "the report does not tell what it misses"
[ "$(inside stat --format '%U %a' /var/lib/looptax)" = 'looptax 700' ] || stop "/var/lib/looptax may be read"
inside install -d -o daemon /var/lib/prometheus/node-exporter
inside ln -s /var/lib/looptax-metrics/looptax-find.prom /var/lib/prometheus/node-exporter/
run looptax-metrics
inside setpriv --reuid=nobody --clear-groups grep -q '^looptax_find_sees_all 0' /var/lib/prometheus/node-exporter/looptax-find.prom ||
  stop "the node exporter may not read the gauges"

echo "== containers and short connections, with the drop-ins"
for unit in looptax-find looptax-report looptax-metrics; do
  inside install -d "/etc/systemd/system/$unit.service.d"
  for sight in containers connections; do
    inside sh -c "cat >/etc/systemd/system/$unit.service.d/$sight.conf" <looptax-$sight.conf
  done
done
inside systemctl daemon-reload
inside journalctl --quiet --rotate && inside journalctl --quiet --vacuum-time=1s
run looptax-find
seen | grep -qF ':6401' || stop "with the drop-in looptax-find.service does not see the container: $(seen)"
inside rm -r /var/lib/looptax/reports
run looptax-report
inside sh -c 'cat /var/lib/looptax/reports/*' >"$scratch/seen"
grep '"table":"reports"' "$scratch/seen" | grep -q '"sees_all":true' || stop "with the drop-ins the report: $(cat "$scratch/seen")"
run looptax-metrics
inside grep -q '^looptax_find_sees_all 1' /var/lib/looptax-metrics/looptax-find.prom || stop "with the drop-ins the gauges do not see all"

# looptax counts only among all processes of the kernel, which this machine does not see: so that the service may make a
# map for counting (bpf, command 0) is tried without looptax.
map='use strict; my $wish = pack("LLLLx104", 2, 4, 4, 1); my $made = syscall(321, 0, $wish, 120); print $made < 0 ? "no map\n" : "a map\n"'
inside sh -c 'cat >/tmp/map.pl' <<<"$map"
for drop_in in /etc/systemd/system/looptax-report.service.d /nowhere; do
  inside sh -c "cp --recursive $drop_in /etc/systemd/system/counted.service.d 2>/dev/null || rm -r /etc/systemd/system/counted.service.d
    sed 's|^ExecStart=.*|ExecStart=/usr/bin/perl /tmp/map.pl|; /^  /d; /^EnvironmentFile/d' /usr/lib/systemd/system/looptax-report.service >/etc/systemd/system/counted.service"
  inside systemctl daemon-reload
  inside journalctl --quiet --rotate && inside journalctl --quiet --vacuum-time=1s
  run counted
  expected=$([ $drop_in = /nowhere ] && echo 'no map' || echo 'a map')
  [ "$(uname -m)" != x86_64 ] || inside journalctl --no-pager --output=cat --unit counted | grep -qx "$expected" ||
    stop "with $drop_in: $(inside journalctl --no-pager --output=cat --unit counted)"
done

echo "== what the services' user can write"
for unit in looptax-find looptax-report looptax-metrics looptax-compare; do
  # The same sandbox around a shell: no file of the machine can be written but the service's own.
  inside sh -c "sed 's|^ExecStart=.*|ExecStart=/bin/sh -c \"for at in / /etc /usr /root /home /tmp /var /var/tmp /var/lib /run /dev/shm /etc/looptax; do if echo x >\$\$at/looptax-test; then echo wrote \$\$at; fi; done 2>/dev/null; ls /var/lib/looptax/switches; grep Cap /proc/self/status; grep NoNew /proc/self/status\"|; /^  /d; /^StandardOutput/d; /^EnvironmentFile/d; /^Condition/d' \$(systemctl show --property=FragmentPath --value $unit) >/etc/systemd/system/tried-$unit.service"
  inside systemctl daemon-reload
  run "tried-$unit"
  inside journalctl --no-pager --output=cat --unit "tried-$unit" >"$scratch/tried"
  wrote=$(sed -n 's/^wrote //p' "$scratch/tried" | sort | tr '\n' ' ')
  case $unit in
    # These are the service's own.
    looptax-compare) [ "$wrote" = '/dev/shm /tmp /var/tmp ' ] || stop "$unit can write to $wrote" ;;
    *) [ -z "$wrote" ] || stop "$unit can write to $wrote" ;;
  esac
  [ "$unit" = looptax-compare ] || grep -q '^20260101-000000-1$' "$scratch/tried" || stop "$unit does not see the journal of switches"
  grep -q '^NoNewPrivs:.*1$' "$scratch/tried" || stop "$unit: $(cat "$scratch/tried")"
  # By these a process with CAP_SYS_PTRACE writes into the memory of others, or takes their files.
  calls=$(inside systemctl show --property=SystemCallFilter --value "$unit")
  for call in ptrace pidfd_getfd process_vm_writev; do
    [ "$unit" = looptax-compare ] || ! grep -qw "$call" <<<"$calls" || stop "$unit may call $call"
  done
  # CAP_SYS_PTRACE is bit 19, CAP_DAC_READ_SEARCH bit 2.
  expected=$([ "$unit" = looptax-compare ] && echo 0000000000000000 || echo 0000000000080004)
  [ "$(sed -n 's/^CapBnd:\t//p' "$scratch/tried")" = $expected ] || stop "$unit: $(cat "$scratch/tried")"
done

echo "== a measurement, without a capability"
inside sh -c 'echo "LOOPTAX_TARGETS=private:redis private:mariadb private:postgres
LOOPTAX_COMPARE_OPTIONS=-c 1 --placement same --fixed 6 --slice-ms 10 --rows 100 --warm-up 0s" >/etc/looptax/compare.env'
# Neither a busy processor nor a battery keeps it from beginning here.
inside install -d /etc/systemd/system/looptax-compare.service.d
inside sh -c 'printf "[Unit]\nConditionCPUPressure=\nConditionACPower=\n" >/etc/systemd/system/looptax-compare.service.d/test.conf'
inside systemctl daemon-reload
run looptax-compare
inside sh -c 'ls /var/lib/looptax/runs/*/record.json' >"$scratch/records" || stop "no record: $(inside journalctl --no-pager --unit looptax-compare | tail -n 30)"
[ "$(inside stat --format %U "$(head -n 1 "$scratch/records")")" = looptax ] || stop "the record is another's"
inside rm -r /var/lib/looptax/reports
run looptax-report
inside sh -c 'cat /var/lib/looptax/reports/*' | grep -q '"table":"verdicts"' || stop "the report does not tell of the record"

echo "units: their user sees all owners of sockets, writes nowhere else, and measures without a capability"
