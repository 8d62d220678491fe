#!/usr/bin/env bash
# Tries the packaging for many machines: the units of systemd, the role of Ansible on machines that are namespaces of this
# one, a fleet of them from their clients to the page of two collectors, the chart of Kubernetes, the alert
# rules of Prometheus, and every query of Grafana's dashboards on collectors that are started for it. Needs root and what
# scripts/setup.sh fleet and applications and scripts/fleet-tools.sh bring.
#
# usage: scripts/try-fleet.sh LOOPTAX [units|ansible|collectors|kubernetes|prometheus|grafana…]     none: all of them
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
[ -x "${1:-}" ] || { echo "usage: scripts/try-fleet.sh LOOPTAX [units|ansible|collectors|kubernetes|prometheus|grafana…]" >&2; exit 1; }
looptax=$(realpath "$1")
shift
cd "$(dirname "$0")/../packaging"
for part in "${@:-units ansible collectors kubernetes prometheus grafana}"; do
  for one in $part; do
    case $one in
      units) tests/units.sh "$looptax" ;;
      ansible) ansible/tests/run.sh "$looptax" ;;
      collectors) ansible/tests/collectors.py "$looptax" ;;
      kubernetes) kubernetes/tests/run.sh ;;
      prometheus) prometheus/test.sh "$looptax" ;;
      grafana) grafana/test.sh "$looptax" ;;
      *) echo "error: no part $one" >&2 && exit 1 ;;
    esac
  done
done
