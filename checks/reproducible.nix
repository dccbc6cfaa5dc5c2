# The row's libraries were built twice: each apart, and all in one go in a folder of another name. Every byte has to be the
# same.
{ row, built }:
let
  inherit (built) pkgs libraries again;
in
pkgs.runCommand "reproducible-${row.name}" { } ''
  for library in ${toString (map (name: "${libraries.${name}}") row.components)}; do
    for file in $library/*; do
      cmp $file ${again}/$(basename $file)
      echo "$(basename $file): the same" >>$out
    done
  done
  [ $(wc -l <$out) = ${toString (builtins.length row.components)} ]
''
