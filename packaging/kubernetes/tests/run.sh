#!/usr/bin/env bash
# Tries the chart without a Kubernetes: rendered by helm for several versions and settings, each object held against that
# version's schema with nothing that it does not know, what must never be rendered, what is refused.
# scripts/fleet-tools.sh brings helm and kubernetes-validate.
#
# usage: packaging/kubernetes/tests/run.sh
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${LOOPTAX_FLEET_TOOLS:-$PWD/../../target/fleet-tools}
versions=(1.25 1.29 1.30 1.33 1.37)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

stop() render 1.33 --set secret.password=PASSWORD >"$scratch/password.yaml"
# The password that is put in is read.
grep -A 1 -e '- --password-file' "$scratch/password.yaml" | grep -q /etc/looptax/collector/password && grep -q '  password: "PASSWORD"' "$scratch/password.yaml" ||
  stop "the chart has a place for the password, and does not read it"

n=0
for version in "${versions[@]}"; do
  render "$version" >"$scratch/plain.yaml"
  render "$version" "${everything[@]}" >"$scratch/everything.yaml"
  for file in plain everything; do
    "$tools/python/bin/kubernetes-validate" --strict --no-warn --kubernetes-version "$version" "$scratch/$file.yaml" >"$scratch/validated" 2>&1 ||
      stop "$file for $version: $(grep -v ' passed ' "$scratch/validated")"
    n=$((n + $(grep -c ' passed ' "$scratch/validated")))
  done
  # The field is known from 1.30 on; before that an annotation says it.
  case $version in
    1.25 | 1.29) ! grep -q appArmorProfile "$scratch/plain.yaml" && grep -q 'apparmor.*: unconfined' "$scratch/plain.yaml" ;;
    *) grep -q 'appArmorProfile: {type: Unconfined}' "$scratch/plain.yaml" && ! grep -q 'container.apparmor' "$scratch/plain.yaml" ;;
  esac || stop "$version: AppArmor is told in another version's words"
done

# Measuring is asked for, and never beside the kill switch; rights are the three that `find` needs.
! grep -q 'kind: Job' "$scratch/plain.yaml" || stop "a job by default"
grep -q 'suspend: true' "$scratch/everything.yaml" && grep -q '  stop: ' "$scratch/everything.yaml" || stop "stopped, and not stopped"
"$tools/python/bin/python" - "$scratch/plain.yaml" "$scratch/everything.yaml" <<'PYTHON' || stop "a container has other rights"
import sys, yaml
for path in sys.argv[1:]:
    for thing in filter(None, yaml.safe_load_all(open(path))):
        pod = thing.get("spec", {}).get("template", {}).get("spec")
        for container in pod["containers"] if pod else []:
            own = container["securityContext"]
            is_report = thing["kind"] == "DaemonSet"
            added = own["capabilities"].get("add", [])
            assert added == (["SYS_PTRACE", "DAC_READ_SEARCH", "SYS_ADMIN"] if is_report else []), added
            assert own["capabilities"]["drop"] == ["ALL"] and own["readOnlyRootFilesystem"] is True
            assert own["allowPrivilegeEscalation"] is False and own["privileged"] is False
            assert own["seccompProfile"] == {"type": "RuntimeDefault"}
            assert not any(v.get("hostPath", {}).get("path") not in (None, "/var/lib/looptax", "/etc/machine-id") for v in pod["volumes"])
            assert pod["automountServiceAccountToken"] is False
            mounts = {m["name"]: m.get("readOnly", False) for m in container["volumeMounts"]}
            assert all(is_ro for name, is_ro in mounts.items() if name not in ("kept", "scratch")), mounts
PYTHON
! render 1.33 --set report.seePods=false | grep SYS_ADMIN >/dev/null || stop "SYS_ADMIN although pods are not to be seen"

refused() {
  if render 1.33 "${@:2}" >"$scratch/refused" 2>&1; then stop "taken: ${*:2}"; fi
  grep -q "$1" "$scratch/refused" || stop "refused without a reason: $(cat "$scratch/refused")"
}
refused 'holds a password' --set report.destination=clickhouse://user:pass@host/looptax
refused 'holds a password' --set 'report.destination=postgres://user@host/looptax?password=pass'
refused 'wants secret.key' --set report.anonymous=true
refused 'a running server is not measured' --set compare.enabled=true --set 'compare.targets[0]=mysql://app@127.0.0.1/app'
echo "kubernetes: $n objects are valid for ${versions[*]}"
