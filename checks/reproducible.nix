# The row's libraries once more: from sources that lie in a folder of another name, without dependencies that were built
# before. Every byte has to be the same.
{
  pkgs,
  row,
  built,
}:
let
  inherit (built) libraries wheel workspace;
  elsewhere = pkgs.runCommand "a-folder-with-another-name" { } "cp -R ${workspace.sources.code} $out";
  again = built.link {
    src = elsewhere;
    cargoArtifacts = null;
  };
in
pkgs.runCommand "reproducible-${row.name}" { inherit wheel; } ''
  for pair in ${toString (map (name: "${libraries.${name}}:${again.${name}}") row.components)}; do
    diff -r "''${pair%:*}" "''${pair#*:}" && echo "''${pair%:*}: the same" >>$out
  done
''
