#!/usr/bin/env bash
# Tests the alert rules: runs promtool's tests, checks that Prometheus can read the files that looptax writes, and checks
# that looptax or the node exporter writes every metric in the rules.
#
# usage: packaging/prometheus/test.sh LOOPTAX
# Exit status: 0 all tests passed, 1 a test failed (stderr shows the first failure).
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
  # Status 3: promtool objects to OpenMetrics' end mark and to units of gauges that it does not know.
  promtool check metrics <"$scratch/$file.prom" >"$scratch/lint" 2>&1 || [ "$?" -eq 3 ] || stop "$file.prom: $(cat "$scratch/lint")"
  ! grep -q 'error while linting' "$scratch/lint" || stop "$file.prom: $(cat "$scratch/lint")"
done
for metric in $(sed -n 's/.*expr: //p' looptax.rules.yml | grep -o '\(looptax\|node\)_[a-z_]*' | sort -u); do
  case $metric in
    node_textfile_mtime_seconds) ;;
    *) grep -q "^# TYPE $metric gauge" "$scratch/find.prom" "$scratch/compare.prom" || stop "neither file has the metric $metric" ;;
  esac
done
# Each rule needs a test, and promtool does not check this.
for alert in $(sed -n 's/.*alert: //p' looptax.rules.yml); do
  grep -q "alertname: $alert" looptax.rules.test.yml || stop "no test of $alert"
done
echo "prometheus: $(grep -c 'alert:' looptax.rules.yml) rules"
