# The cargo workspace under crane: arguments that all derivations share, and dependencies that are built once.
{ inputs, pkgs }:
let
  crane = (inputs.crane or (throw "the flake has no input `crane`: add it to flake.nix")).mkLib pkgs;
  sources = import ./sources.nix;
  inherit (fromTOML (builtins.readFile ../Cargo.toml)) workspace;

  common = {
    pname = "executorch";
    version = workspace.package.version;
    src = sources.code;
    strictDeps = true;
    cargoVendorDir = crane.vendorCargoDeps { src = sources.code; };
    # Files are shipped as they were linked.
    dontFixup = true;
    doCheck = false;
  };

  # A program that builds or tries wheels. It is not shipped, and compiled quickly.
  program =
    package: more:
    crane.buildPackage (
      common
      // {
        pname = package;
        CARGO_PROFILE = "xtask";
        cargoExtraArgs = "--locked --package ${package}";
        cargoArtifacts = programs;
        doInstallCargoArtifacts = false;
      }
      // more
    );

  # What they depend on, most of it in common.
  programs = crane.buildDepsOnly (
    common
    // {
      pname = "programs";
      CARGO_PROFILE = "xtask";
      buildPhaseCargoCommand = "cargoWithProfile build --locked --package xtask --package wheelhouse-cli";
    }
  );
in
{
  inherit crane common sources;
  xtask = program "xtask" { };
  wheelhouse = program "wheelhouse-cli" { meta.mainProgram = "wheelhouse"; };

  # Linked statically: it runs in machines that have another glibc, or none that it knows.
  gate = program "executorch-gate" {
    cargoArtifacts = null;
    CARGO_BUILD_TARGET = "${builtins.head (builtins.split "-" pkgs.system)}-unknown-linux-gnu";
    CARGO_BUILD_RUSTFLAGS = "-C target-feature=+crt-static";
    buildInputs = [ pkgs.glibc.static ];
  };
}
