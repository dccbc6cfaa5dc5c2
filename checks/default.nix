# What `nix flake check` tries of one row. Each check is a derivation of its own: what has passed is not run again until
# something that it looks at changes.
{ row, built }:
let
  inherit (built)
    pkgs
    wheel
    workspace
    ;
  look = import ./look.nix { inherit pkgs row; };
in
{
  # The rules of docs/audit.md, on the finished file.
  audit = pkgs.runCommand "audit-${row.name}" {
    nativeBuildInputs = [ workspace.wheelhouse ];
  } "wheelhouse audit ${wheel}/*.whl --row ${row.name} --root ${workspace.sources.code} >$out";

  # The two rules that matter most, once more by programs that know nothing of this project.
  floor = look.floor wheel;
  exports = look.exports wheel;
}
