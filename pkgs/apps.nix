# `nix run .#demo` and `nix run .#promote`.
{
  built,
  rows,
  self,
}:
let
  inherit (built) pkgs tools workspace;
  app = application: {
    type = "app";
    program = "${application}/bin/${application.name}";
    meta.description = application.meta.description or "";
  };
  known = toString (map (row: row.name) rows);
  origin = if self ? rev then "--revision ${self.rev}" else "--modified";
  images = toString (map (row: "[${row.name}]='${toString row.gate-images}'") rows);
in
{
  # The demo of the README, with the flake's tools.
  demo = app (
    pkgs.writeShellApplication {
      name = "demo";
      runtimeInputs = [
        pkgs.cargo
        pkgs.git
        pkgs.python3
      ];
      text = ''
        export EXECUTORCH_TOOLS=${tools} EXECUTORCH_NATIVE_CACHE=${built.xnnpack}
        exec cargo xtask demo "$@"
      '';
    }
  );

  # Promotes what comes out of the row's gates, whose outputs exist only if they passed: first the wheel, its statement and the
  # reports into a folder, to be signed and approved; then, with arguments for it, `wheelhouse promote` of exactly these.
  promote = app (
    pkgs.writeShellApplication {
      name = "promote";
      runtimeInputs = [ workspace.wheelhouse ];
      text = ''
        usage='usage: nix run .#promote -- ROW FOLDER [ARGUMENTS OF wheelhouse promote]'
        declare -A images=(${images})
        row=''${1:?$usage} folder=''${2:?$usage}
        [ -n "''${images[$row]:-}" ] || { echo "promote: no row $row with a wheel: there are ${known}" >&2; exit 1; }
        shift 2
        mkdir -p "$folder/dist" "$folder/reports"
        gate=
        for image in ''${images[$row]}; do
          gate=$(''${EXECUTORCH_NIX:-nix} build --no-link --print-out-paths ".#gate-$row-$image") ||
            { echo "promote: row $row has not passed its gate on $image" >&2; exit 1; }
          [ -e "$folder/reports/$image.json" ] || install -m644 "$gate/report.json" "$folder/reports/$image.json"
          cmp -s "$gate/report.json" "$folder/reports/$image.json" ||
            { echo "promote: $folder/reports/$image.json is not of this gate: name a new folder" >&2; exit 1; }
        done
        wheel=$(basename "$gate"/*.whl)
        if [ $# -gt 0 ]; then
          exec wheelhouse promote "$wheel" --reports "$folder/reports" "$@"
        fi
        install -m644 "$gate/$wheel" "$folder/dist/$wheel"
        wheelhouse provenance make "$folder/dist/$wheel" --row "$row" --libs "$gate" --builder "''${EXECUTORCH_BUILDER:-nix}" ${origin}
        echo "$folder/dist/$wheel"
      '';
    }
  );
}
