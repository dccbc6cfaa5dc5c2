# What `nix flake check` tries for one row. Each check is a derivation of its own: what has passed is not run again until
# something that it looks at changes.
{ row, built }:
let
  inherit (built)
    pkgs
    tested
    wheel
    workspace
    ;
  inherit (workspace) crane;
  look = import ./look.nix { inherit pkgs row; };
in
{
  # The rules of docs/audit.md, on the finished file.
  audit = pkgs.runCommand "audit-${row.name}" {
    nativeBuildInputs = [ workspace.wheelhouse ];
  } "wheelhouse audit ${wheel}/*.whl --row ${row.name} --root ${workspace.sources.code} | tee $out";

  # The two rules that matter most, once more by programs that know nothing of this project.
  floor = look.floor wheel;
  exports = look.exports wheel;

  clippy = crane.cargoClippy (
    tested.arguments
    // {
      cargoArtifacts = tested.artifacts;
      cargoClippyExtraArgs = "--all-targets -- --deny warnings";
      cargoExtraArgs = "--locked ${tested.packages}";
      doInstallCargoArtifacts = false;
    }
  );

  nextest = crane.cargoNextest (
    tested.arguments
    // {
      cargoArtifacts = tested.artifacts;
      cargoExtraArgs = "--locked ${tested.packages}";
      doInstallCargoArtifacts = false;
    }
  );

  # Linked again, from sources in a folder of another name and on nothing that was built before.
  reproducible = import ./reproducible.nix { inherit pkgs row built; };

  # In the machine that most users have; releases are gated on all of the row's (packages.gate-ROW-IMAGE).
  gate = import ./gate.nix {
    inherit pkgs row built;
    image = "debian-12";
  };
}
