#!/usr/bin/env bash
# The package as a release has it, for tests: the program, its units and their drop-ins, and nothing that is enabled.
#
# usage: packaging/ansible/tests/pack.sh LOOPTAX FOLDER     writes FOLDER/looptax_0.0.1-1.deb
set -euo pipefail
looptax=$1
scratch=$2
packaging=$(realpath "$(dirname "$0")/../..")
tree=$scratch/tree
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/lib/systemd/system" "$tree/usr/lib/sysusers.d" "$tree/usr/share/doc/looptax/examples"
cp "$looptax" "$tree/usr/bin/looptax"
cp "$packaging"/systemd/*.service "$packaging"/systemd/*.timer "$tree/usr/lib/systemd/system/"
cp "$packaging/sysusers.d/looptax.conf" "$tree/usr/lib/sysusers.d/"
cp "$packaging"/looptax-{connections,containers}.conf "$tree/usr/share/doc/looptax/examples/"
install -m 755 "$packaging/debian/postinst" "$packaging/debian/postrm" "$tree/DEBIAN/"
printf '%s\n' 'Package: looptax' 'Version: 0.0.1-1' "Architecture: $(dpkg --print-architecture)" \
  'Maintainer: The looptax authors <looptax@users.noreply.github.com>' 'Description: for a test' >"$tree/DEBIAN/control"
dpkg-deb --root-owner-group -Znone --build "$tree" "$scratch/looptax_0.0.1-1.deb" >/dev/null
