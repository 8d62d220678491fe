#!/usr/bin/env bash
# Tests the packaging for many machines: the systemd units, the Ansible role on machines that are namespaces of this
# machine, a fleet of such machines from their clients to the pages of two collectors, the Kubernetes chart, the alert
# rules of Prometheus, and every query of Grafana's dashboards on collectors that are started for the test. Needs root,
# and the tools that `scripts/setup.sh fleet`, `scripts/setup.sh applications` and scripts/fleet-tools.sh install.
#
# usage: scripts/try-fleet.sh LOOPTAX [units|ansible|collectors|kubernetes|prometheus|grafana…]     none: all of them
# Exit status: 0 all tests passed, 1 a test failed (stderr has the first failure).
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
