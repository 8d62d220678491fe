# `nix run github:looptax/looptax`, `nix profile install github:looptax/looptax`.
# Untried: parsed and evaluated with a stand-in for nixpkgs, built on no machine; `nix flake lock` writes the lock file.
{
  description = "Measure, split and remove the loopback tax of local databases";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: rec {
        default = looptax;
        looptax = pkgs.callPackage ./packaging/nix/package.nix { source = self; };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = with pkgs; [ cargo clippy rustfmt mariadb postgresql valkey memcached ]; };
      });
    };
}
