# The package of the flake; nixpkgs could take it as it is.
{ lib, rustPlatform, installShellFiles, source }:

rustPlatform.buildRustPackage {
  pname = "looptax";
  version = (lib.importTOML ../../Cargo.toml).workspace.package.version;
  src = source;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "--package" "looptax" ];

  nativeBuildInputs = [ installShellFiles ];

  # The tests start servers, and want namespaces that the build has none of.
  doCheck = false;

  postInstall = ''
    $out/bin/looptax internal documents made
    installManPage made/man/*.1
    installShellCompletion made/completions/looptax.{bash,fish} made/completions/_looptax
  '';

  meta = {
    description = "Measure, split and remove the loopback tax of local databases";
    homepage = "https://github.com/looptax/looptax";
    license = with lib.licenses; [ mit asl20 ];
    platforms = lib.platforms.linux;
    mainProgram = "looptax";
  };
}
