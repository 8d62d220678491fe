#!/usr/bin/env bash
# Reads the recipes of packages that cannot be built here: AUR's PKGBUILD, Homebrew's formula, the Nix flake.
# Needs shellcheck, ruby, rubocop and nix-instantiate (Debian: shellcheck, rubocop, nix-bin). Reaches no network.
#
# usage: packaging/tests/recipes.sh
# Exit status: 0 all is well, 1 the first thing that is not (said on stderr).
set -euo pipefail
cd "$(dirname "$0")/../.."

stop() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
home=$(sed -n '/^\[workspace.package\]/,/^\[/s/^homepage = "\(.*\)"/\1/p' Cargo.toml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Names that makepkg reads, and folders that it sets.
shellcheck --shell=bash --exclude=SC2034,SC2154,SC2164 packaging/aur/PKGBUILD || stop "PKGBUILD"
named=$(bash -c 'source packaging/aur/PKGBUILD && echo "$pkgname $pkgver $url"')
[ "$named" = "looptax $version $home" ] || stop "PKGBUILD is of $named"
# What it installs is there.
for pattern in packaging/sysusers.d/looptax.conf packaging/systemd/*.service packaging/systemd/*.timer \
  packaging/systemd/*.env LICENSE-MIT; do
  [ -f "$pattern" ] || stop "PKGBUILD installs $pattern"
done

ruby -c packaging/homebrew/looptax.rb >"$scratch/ruby" || stop "the formula"
# Homebrew's own rules, of those that RuboCop has without its gem: strings in double quotes, lines of 118.
cat >"$scratch/rubocop.yml" <<'YML'
AllCops:
  NewCops: enable
  SuggestExtensions: false
Layout/LineLength:
  Max: 118
Style/StringLiterals:
  EnforcedStyle: double_quotes
Style/FrozenStringLiteralComment:
  Enabled: false
Style/Documentation:
  Enabled: false
# Paths are written as bin/"looptax".
Layout/SpaceAroundOperators:
  Enabled: false
YML
rubocop --config "$scratch/rubocop.yml" --cache false packaging/homebrew/looptax.rb >"$scratch/rubocop" ||
  stop "the formula: $(cat "$scratch/rubocop")"
grep --quiet "/v$version\.tar\.gz\"" packaging/homebrew/looptax.rb || stop "the formula is of another version"

# A stand-in for nixpkgs has what the recipes ask of it, and hands back what they say.
nix=(nix-instantiate --eval --strict --json --store "dummy://" --option substituters "")
for file in flake.nix packaging/nix/package.nix; do
  nix-instantiate --parse --store "dummy://" "$file" >"$scratch/parsed" || stop "$file"
done
"${nix[@]}" --expr '
  let
    lib = {
      genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
      importTOML = file: builtins.fromTOML (builtins.readFile file);
      licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
      platforms.linux = [ "x86_64-linux" ];
    };
    tools = [ "cargo" "clippy" "rustfmt" "mariadb" "postgresql" "valkey" "memcached" ];
    pkgs = lib.genAttrs tools (name: name) // {
      callPackage = file: more: import file ({ inherit lib; installShellFiles = "hook"; rustPlatform.buildRustPackage = it: it; } // more);
      mkShell = it: it;
    };
    flake = (import ./flake.nix).outputs {
      self = "source";
      nixpkgs = { inherit lib; legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (_: pkgs); };
    };
  in
  { names = builtins.attrNames flake.packages; package = flake.packages.x86_64-linux.default; shell = flake.devShells.aarch64-linux.default; }
' >"$scratch/flake.json" || stop "the flake"
grep --quiet "\"version\":\"$version\"" "$scratch/flake.json" || stop "the flake: $(cat "$scratch/flake.json")"
echo "PKGBUILD, formula and flake are read"
