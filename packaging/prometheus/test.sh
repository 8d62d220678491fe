#!/usr/bin/env bash
# Tries the alert rules: promtool's tests, that what looptax writes is what Prometheus reads, and that every metric that a
# rule names is one that looptax writes or that the node exporter has.
#
# usage: packaging/prometheus/test.sh LOOPTAX
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
looptax=$(realpath "$1")
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

promtool check rules looptax.rules.yml >"$scratch/check" || stop "$(cat "$scratch/check")"
promtool test rules looptax.rules.test.yml >"$scratch/test" 2>&1 || stop "$(cat "$scratch/test")"

export HOME=$scratch XDG_DATA_HOME=$scratch/data
"$looptax" find --openmetrics "$scratch/find.prom" >/dev/null || stop "find --openmetrics"
"$looptax" compare echo -c 1 --placement same --fixed 6 --yes --quiet --no-history -o "$scratch/record.json" \
  --openmetrics "$scratch/compare.prom" >/dev/null || stop "compare --openmetrics"
for file in find compare; do
  # The check wants no word on OpenMetrics' own end, and says of gauges that their units are none that it knows.
  promtool check metrics <"$scratch/$file.prom" >"$scratch/lint" 2>&1 || [ "$?" -eq 3 ] || stop "$file.prom: $(cat "$scratch/lint")"
  ! grep -q 'error while linting' "$scratch/lint" || stop "$file.prom: $(cat "$scratch/lint")"
done
for metric in $(sed -n 's/.*expr: //p' looptax.rules.yml | grep -o '\(looptax\|node\)_[a-z_]*' | sort -u); do
  case $metric in
    node_textfile_mtime_seconds) ;;
    *) grep -q "^# TYPE $metric gauge" "$scratch/find.prom" "$scratch/compare.prom" || stop "nobody writes $metric" ;;
  esac
done
# Each rule has a test in which it is silent and one in which it is not: promtool counts neither.
for alert in $(sed -n 's/.*alert: //p' looptax.rules.yml); do
  grep -q "alertname: $alert" looptax.rules.test.yml || stop "no test of $alert"
done
echo "prometheus: $(grep -c 'alert:' looptax.rules.yml) rules"
