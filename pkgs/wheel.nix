# The wheel of a row: its libraries, packed and audited.
{
  row,
  workspace,
  tools,
  xnnpack,
  libraries,
}:
let
  inherit (workspace) crane common;
in
crane.mkCargoDerivation (
  common
  // {
    pname = "wheel-${row.name}";
    cargoArtifacts = null;
    doInstallCargoArtifacts = false;
    nativeBuildInputs = [ workspace.xtask ];
    EXECUTORCH_TOOLS = tools;
    buildPhaseCargoCommand = ''
      export CARGO_MANIFEST_DIR=$PWD/xtask
      mkdir -p stage/licenses
      cp ${toString (map (name: "${libraries.${name}}/*") row.components)} stage/
      cp ${xnnpack}/xnnpack-*/licenses/* stage/licenses/
      xtask assemble ${row.name} --stage stage --out dist
    '';
    # What `wheelhouse provenance make` states of the wheel stands beside it.
    installPhaseCommand = "install -Dm644 dist/*.whl stage/toolchain.json -t $out";
    passthru = { inherit libraries; };
  }
)
