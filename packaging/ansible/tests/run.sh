#!/usr/bin/env bash
# Tries the role on twelve machines that are namespaces of this one, four of them with a systemd of their own: what
# `--check` leaves untouched, a first run, a second that changes nothing, the report that it has them send, measuring on one
# guest of each virtualisation host, the kill switch, what is refused, and that nothing is left in the end.
# Needs root, ansible-core, dpkg-deb, systemd: scripts/setup.sh fleet.
#
# usage: packaging/ansible/tests/run.sh LOOPTAX     the program that is packed, installed and run
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: $0 LOOPTAX" >&2; exit 1; }
looptax=$(realpath "$1")
cd "$(dirname "$0")"
packaging=$(realpath ../..)
scratch=$(mktemp -d /tmp/looptax-ansible.XXXXXX)
cgroups=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET | head -n 1)
# How many have systemd, and how many there are.
n_systemd=4
hosts=(h01 h02 h03 h04 h05 h06 h07 h08 h09 h10 h11 h12)
secret=pass-word-of-a-collector
declare -A pids=()

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

end_hosts() {
  local host
  for host in "${!pids[@]}"; do kill -KILL "${pids[$host]}" 2>/dev/null || true; done
  wait
  for host in "${!pids[@]}"; do
    find "$cgroups/looptax-${scratch##*.}-$host" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap end_hosts EXIT
trap 'exit 1' INT TERM HUP

# Starts a machine and notes the number of its first process, which is the one child of unshare.
start_host() {
  local host=$1 first=$2 cgroup=$cgroups/looptax-${scratch##*.}-$1 starter
  mkdir "$scratch/$host" "$cgroup"
  (
    # A systemd rules over what is below its own group alone.
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec setsid unshare --mount --net --uts --ipc --pid --cgroup --fork --kill-child ./host.sh "$scratch/$host" "$host" "$first"
  ) >"$scratch/$host.log" 2>&1 &
  starter=$!
  for _ in $(seq 100); do
    pids[$host]=$(pgrep --parent "$starter" || true)
    if [ -n "${pids[$host]}" ] && [ "$(cat "/proc/${pids[$host]}/comm")" = "$first" ] && is_up "$host" "$first"; then return; fi
    sleep 0.2
  done
  stop "$host did not start: $(cat "$scratch/$host.log")"
}

is_up() { [ "$2" != systemd ] || inside "$1" systemctl is-active --quiet timers.target 2>/dev/null; }

inside() {
  local host=$1
  shift
  nsenter --target "${pids[$host]}" --mount --pid --net --uts --ipc --cgroup --root --wd env -i HOME=/root \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Runs the role; further words are Ansible's. The first word names the log.
play() {
  local log=$scratch/$1
  shift
  ANSIBLE_CONFIG="$scratch/ansible.cfg" ANSIBLE_ROLES_PATH=../roles ANSIBLE_CONNECTION_PLUGINS=plugins ANSIBLE_PIPELINING=true \
    ANSIBLE_NOCOLOR=1 ANSIBLE_RETRY_FILES_ENABLED=false ANSIBLE_HOME="$scratch/ansible" ANSIBLE_INTERPRETER_PYTHON=auto_silent \
    ANSIBLE_LOCALHOST_WARNING=false \
    ansible-playbook --forks 6 --inventory "$scratch/inventory.yml" --extra-vars "looptax_package_file=$scratch/looptax_0.0.1-1.deb" \
    play.yml "$@" >"$log" 2>&1
}
plays() { play "$@" || stop "$1: $(tail -n 60 "$scratch/$1")"; }

# How many tasks of a play changed something.
n_changed() { sed -n 's/.* changed=\([0-9]*\) .*/\1/p' "$scratch/$1" | awk '{ sum += $1 } END { print sum + 0 }'; }

# What was written to a machine's files: names, owners, modes and contents, without logs, what Python and apt keep for
# themselves, Ansible's own folder, and the list of users, which is written anew when one comes and goes.
written() {
  (cd "$scratch" && inside "$1" sh -c 'cd /run/looptax-test && find . \( -path ./var/log -o -path ./root/.ansible -o -path ./var/cache/apt \
    -o -path ./var/lib/apt -o -name __pycache__ -o -path "./var/lib/dpkg/*-old" -o -path ./var/lib/dpkg/lock\* \
    -o -path "./etc/*-" -o -path ./etc/.pwd.lock -o -path ./etc/passwd -o -path ./etc/group -o -path ./etc/shadow -o -path ./etc/gshadow -o -path ./etc/subuid -o -path ./etc/subgid \
    -o -path ./var/lib/dpkg/triggers -o -path ./var/lib/systemd -o -path ./var/lib/PackageKit -o -path ./var/cache/debconf -o -path ./var/cache/man \) -prune -o \
    -type f -printf "%P %u %m " -exec sh -c "md5sum <\"\$1\"" sh {} \; -o ! -type d -printf "%P %u %m %l\n"') | sort
}

same() { diff <(echo "$1") <(echo "$2") >&2 || stop "$3"; }

echo "== machines"
./pack.sh "$looptax" "$scratch"
: >"$scratch/ansible.cfg"
for idx in "${!hosts[@]}"; do
  start_host "${hosts[idx]}" "$([ "$idx" -lt $n_systemd ] && echo systemd || echo sleep)"
done
# One has neither.
inside h12 rm -r /etc/cron.d
{
  printf 'all:\n  vars:\n    ansible_connection: namespaces\n    ansible_python_interpreter: /usr/bin/python3\n    looptax_password: %s\n  hosts:\n' "$secret"
  for host in "${hosts[@]}"; do
    printf '    %s:\n      ansible_namespaces_pid: %s\n' "$host" "${pids[$host]}"
    case $host in
      h01 | h02 | h06 | h07) printf '      looptax_compare_enabled: true\n      looptax_virtualisation_host: metal%s\n' "$([ "$host" '<' h05 ] && echo 1 || echo 2)" ;;
      # The first guest of its host, and not one that is to measure.
      h05) printf '      looptax_compare_enabled: false\n      looptax_virtualisation_host: metal2\n' ;;
      h04 | h09) printf '      looptax_short_connections: true\n      looptax_containers: true\n' ;;
      h03) printf '      looptax_report_calendar: "*-*-* 04:00:00"\n      looptax_report_spread_s: 600\n' ;;
      h08) printf '      looptax_anonymous: true\n      looptax_key: 0123456789abcdef0123\n      looptax_destination: /var/lib/looptax/a%%20b\n' ;;
    esac
  done
} >"$scratch/inventory.yml"
# Servers of another user on one with systemd: a socket in /tmp, and a second one in a network of its own.
inside h01 sh -c 'printf "save \"\"\ndir /tmp\ndaemonize yes\n" >/tmp/redis.conf
  redis="setpriv --reuid=redis --regid=redis --clear-groups redis-server /tmp/redis.conf"
  $redis --port 6400 --unixsocket /tmp/one.sock && unshare --net sh -c "ip link set lo up && $redis --port 6401"' >/dev/null
declare -A before=()
for host in "${hosts[@]}"; do before[$host]=$(written "$host"); done
echo "${#hosts[@]} machines, $n_systemd with systemd"

echo "== --check on machines that have nothing"
plays check --check --diff
[ "$(n_changed check)" -gt 0 ] || stop "--check does not tell what it would change"
for host in "${hosts[@]}"; do same "${before[$host]}" "$(written "$host")" "--check wrote to $host"; done
! grep -F "$secret" "$scratch/check" || stop "--check shows the password"

echo "== a first run"
plays first --diff
! grep -F "$secret" "$scratch/first" || stop "the password is shown"
for host in "${hosts[@]}"; do
  [ "$(inside "$host" stat --format '%U:%G %a' /etc/looptax/password)" = 'root:root 600' ] || stop "$host: the password may be read"
  [ "$(inside "$host" cat /etc/looptax/password)" = "$secret" ] || stop "$host: another password"
  [ "$(inside "$host" sh -c "grep --recursive --files-with-matches '$secret' /etc/looptax /etc/cron.d 2>/dev/null")" = /etc/looptax/password ] ||
    stop "$host: the password stands elsewhere, too"
done

echo "== a second run changes nothing, and neither would a third"
plays second
[ "$(n_changed second)" = 0 ] || stop "the second run changes: $(grep -B 3 '^changed' "$scratch/second" | head -n 40)"
# Those that are left to a sibling do not begin because the play is not for it.
plays third --check --limit h02,h03,h07,h08,h12
[ "$(n_changed third)" = 0 ] || stop "--check after it changes: $(grep -B 3 '^changed' "$scratch/third" | head -n 40)"

echo "== who reports, and who measures"
measuring=()
for idx in "${!hosts[@]}"; do
  host=${hosts[idx]}
  if [ "$idx" -lt $n_systemd ]; then
    inside "$host" systemctl is-enabled --quiet looptax-report.timer || stop "$host: no timer"
    inside "$host" systemctl is-active --quiet looptax-report.timer || stop "$host: the timer does not run"
    if inside "$host" systemctl is-active --quiet looptax-compare.timer; then measuring+=("$host"); fi
    inside "$host" test ! -e /etc/cron.d/looptax || stop "$host: a crontab beside systemd"
    inside "$host" systemctl start looptax-report.service || stop "$host: $(inside "$host" journalctl --no-pager --unit looptax-report)"
  elif [ "$host" = h12 ]; then
    grep -q 'neither systemd nor /etc/cron.d is here' "$scratch/first" || stop "$host: no word on who starts it"
    continue
  else
    # As cron does: the words behind the user, `\%` for `%`, by sh.
    line=$(inside "$host" sed -n 's/^[0-9]* [0-9]* \* \* \* root \(.*\)/\1/p' /etc/cron.d/looptax | sed 's/\\%/%/g')
    inside "$host" sh -c "$line" >"$scratch/$host.cron" 2>&1 || stop "$host: $line: $(cat "$scratch/$host.cron")"
    if inside "$host" grep -q 'looptax compare' /etc/cron.d/looptax; then measuring+=("$host"); fi
  fi
  folder=$([ "$host" = h08 ] && echo /var/lib/looptax/a%20b || echo /var/lib/looptax/reports)
  [ "$(inside "$host" find "$folder" -type f | wc -l)" = 1 ] || stop "$host: $(inside "$host" find /var/lib/looptax) is not one report"
done
inside h01 sh -c 'cat /var/lib/looptax/reports/*' | grep '"table":"reports"' >"$scratch/seen" || stop "h01: no row of the report"
grep -q '"sees_all":false' "$scratch/seen" && grep -q '"servers":2' "$scratch/seen" || stop "h01: the service does not see the servers, or does not tell of the container: $(cat "$scratch/seen")"
inside h04 systemctl show looptax-report.service --property=AmbientCapabilities >"$scratch/capabilities"
grep -q cap_bpf "$scratch/capabilities" && grep -q cap_sys_admin "$scratch/capabilities" || stop "h04: $(cat "$scratch/capabilities")"
inside h09 grep -q '=-all,.*+bpf,+perfmon,+sys_admin' /etc/cron.d/looptax || stop "h09: $(inside h09 cat /etc/cron.d/looptax)"
[ "$(cat "$scratch"/h05.cron "$scratch"/h08.cron | grep -c '^')" -gt 0 ] || stop "nothing is said of a report"
[ "${measuring[*]}" = 'h01 h06' ] || stop "those that measure are ${measuring[*]}: not one guest of each virtualisation host"
inside h06 grep -q ' timeout 2h nice looptax compare .* --stop-file /etc/looptax/stop ' /etc/cron.d/looptax || stop "h06: a crontab whose waiting has no end"
moments=$(for host in h05 h06 h07 h08 h09 h10 h11; do inside "$host" sed -n 's/^\([0-9]* [0-9]*\) \* \* \* root .*/\1/p' /etc/cron.d/looptax; done | sort -u | wc -l)
[ "$moments" -ge 4 ] || stop "seven crontabs have $moments moments: a fleet comes at once"
inside h03 systemctl show looptax-report.timer --property=TimersCalendar,RandomizedDelayUSec >"$scratch/timer"
grep -q '04:00:00' "$scratch/timer" && grep -q 'RandomizedDelayUSec=10min' "$scratch/timer" || stop "h03: $(cat "$scratch/timer")"

echo "== gauges for a node exporter"
gauges=/var/lib/looptax-metrics/looptax-find.prom
inside h01 systemctl start looptax-metrics.service || stop "h01: $(inside h01 journalctl --no-pager --unit looptax-metrics)"
inside h01 setpriv --reuid=nobody --clear-groups grep -q '^looptax_find_sees_all 0' "$gauges" || stop "h01: $(inside h01 ls -l "$gauges") may not be read by all"
inside h01 systemctl enable --quiet --now looptax-metrics.timer

echo "== the kill switch"
plays stopped --limit h01,h05 --extra-vars looptax_stopped=true
for host in h01 h05; do
  inside "$host" sh -c 'rm --recursive --force /var/lib/looptax/reports'
done
inside h01 systemctl start looptax-report.service
inside h01 rm "$gauges"
inside h01 systemctl start looptax-metrics.service
inside h01 test ! -e "$gauges" || stop "h01 writes gauges although it is stopped"
inside h01 systemctl start looptax-compare.service
inside h01 systemctl show looptax-compare.service --property=ConditionResult | grep -q '=no$' || stop "h01 measures although it is stopped"
inside h05 sh -c "$(inside h05 sed -n 's/^[0-9]* [0-9]* \* \* \* root \(.*\)/\1/p' /etc/cron.d/looptax)" >"$scratch/stopped-cron" 2>&1
for host in h01 h05; do inside "$host" test ! -e /var/lib/looptax/reports || stop "$host reports although it is stopped"; done
plays released --limit h01,h05
for host in h01 h05; do inside "$host" test ! -e /etc/looptax/stop || stop "$host: the switch stays"; done

echo "== what is taken back, and what is refused"
plays less --limit h03,h08 --extra-vars '{"looptax_password": "", "looptax_anonymous": false, "looptax_report_calendar": "", "looptax_report_spread_s": "", "looptax_report_enabled": false}'
inside h03 sh -c '! [ -e /etc/systemd/system/looptax-report.timer.d ] && ! systemctl is-active --quiet looptax-report.timer' || stop "h03: the timer or its time stays"
inside h08 sh -c '! [ -e /etc/looptax/key ] && ! [ -e /etc/looptax/password ] && ! [ -e /etc/cron.d/looptax ]' || stop "h08: a secret or the crontab stays"
for wrong in 'clickhouse://user:pass@host/looptax' 'postgres://user@host/looptax?sslmode=require&password=pass' "/tmp/x'; touch /tmp/pwned; '" 'clickhouse://host/a b'; do
  if play refused --limit h09 --extra-vars "$(python3 -c 'import json, sys; print(json.dumps({"looptax_destination": sys.argv[1]}))' "$wrong")"; then
    stop "taken: $wrong"
  fi
  grep -q 'an address without' "$scratch/refused" || stop "refused without a reason: $(tail -n 20 "$scratch/refused")"
done
if play refused --limit h09 --extra-vars looptax_anonymous=true; then stop "anonymous without a key"; fi

echo "== nothing is left"
plays absent-check --check --limit h04,h05 --extra-vars looptax_state=absent
for host in h04 h05; do inside "$host" test -x /usr/bin/looptax || stop "--check removed the package of $host"; done
plays absent --extra-vars looptax_state=absent
plays absent-again --limit h02,h03,h09,h12 --extra-vars looptax_state=absent
[ "$(n_changed absent-again)" = 0 ] || stop "absent twice changes something: $(grep -B 3 '^changed' "$scratch/absent-again" | head -n 40)"
for host in "${hosts[@]}"; do
  # dpkg writes its list of packages anew, with other dates.
  same "$(grep -v '^var/lib/dpkg/' <<<"${before[$host]}")" "$(written "$host" | grep -v '^var/lib/dpkg/')" "$host is not what it was"
  ! inside "$host" getent passwd looptax >/dev/null || stop "$host: the user stays"
  if [[ $host < h05 ]]; then
    [ -z "$(inside "$host" systemctl list-units --all --no-legend 'looptax*')" ] || stop "$host: systemd still knows of it"
  fi
done
echo "ansible: ${#hosts[@]} machines report, two measure, the switch stops them, and nothing is left"
