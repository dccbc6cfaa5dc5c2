# The XNNPACK C library, built by delegates/xnnpack/native alone, from the flake's inputs: a cache as
# EXECUTORCH_NATIVE_CACHE names it. Only a change of that crate, of its sources, of the tools or of Cargo.lock builds it again.
{
  inputs,
  pkgs,
  workspace,
  tools,
  arch,
}:
let
  inherit (workspace) crane common;
  source =
    name:
    inputs.${name}
      or (throw "the flake has no input `${name}`: add it to flake.nix as `flake = false`");

  # A workspace of the two crates that build it.
  crates = pkgs.runCommand "source" { } ''
    mkdir -p $out/delegates/xnnpack $out/xtask
    cp ${../Cargo.lock} $out/Cargo.lock
    sed '/^members = \[/,/^]/c members = ["delegates/xnnpack/native", "xtask/tools"]' ${../Cargo.toml} >$out/Cargo.toml
    cp -R ${../delegates/xnnpack/native} $out/delegates/xnnpack/native
    cp -R ${../xtask/tools} $out/xtask/tools
  '';
  builder = crane.buildPackage (
    common
    // {
      pname = "build-xnnpack";
      src = crates;
      cargoArtifacts = null;
      CARGO_PROFILE = "xtask";
      # Cargo.lock names crates that are not needed here.
      cargoExtraArgs = "--offline --bin build-xnnpack";
    }
  );
in
pkgs.runCommand "xnnpack-${arch}"
  {
    nativeBuildInputs = [ builder ];
    EXECUTORCH_TOOLS = tools;
    passthru = { inherit builder; };
  }
  ''
    mkdir sources
    ln -s ${source "xnnpack"} sources/xnnpack
    ln -s ${source "cpuinfo"} sources/cpuinfo
    ln -s ${source "pthreadpool"} sources/pthreadpool
    ln -s ${source "fxdiv"} sources/fxdiv
    export HOME=$PWD EXECUTORCH_XNNPACK_SOURCES=$PWD/sources EXECUTORCH_NATIVE_CACHE=$PWD/cache
    build-xnnpack ${arch}
    rm -f cache/*.lock
    mv cache $out
  ''
