# The staging index with the wheels of a system's rows: what `wheelhouse promote` takes them from.
{
  pkgs,
  workspace,
  rows,
  wheel,
}:
pkgs.runCommand "index" { nativeBuildInputs = [ workspace.wheelhouse ]; } ''
  mkdir $out
  ${builtins.concatStringsSep "\n" (
    map (row: "wheelhouse index add --store $out --row ${row.name} ${wheel row}/*.whl") rows
  )}
''
