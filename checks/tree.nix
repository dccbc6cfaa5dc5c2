# What `nix flake check` tries of the tree itself, once per system. `rows` are those whose wheels can be built.
{
  inputs,
  rows,
  built,
}:
let
  inherit (built) pkgs workspace;
  inherit (workspace) crane common sources;
  matrix = import ../pkgs/rows.nix { };
  tested = import ../pkgs/tested.nix {
    inherit rows workspace;
    inherit (built) xnnpack;
    inherit (matrix) components;
  };
in
{
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
      cargoExtraArgs = "--locked ${tested.tests}";
      doInstallCargoArtifacts = false;
    }
  );
  format = crane.cargoFmt (
    common
    // {
      src = sources.all;
      cargoExtraArgs = "--all";
    }
  );
  advisories = crane.cargoAudit {
    inherit (common) pname version src;
    inherit (inputs) advisory-db;
  };

  # Nix and Rust read the same rows, and make the same matrix for CI of them.
  rows =
    pkgs.runCommand "rows"
      {
        nativeBuildInputs = [
          workspace.xtask
          pkgs.python3
        ];
        rows = builtins.toJSON matrix.rows;
        matrix = builtins.toJSON matrix.matrix;
        passAsFile = [
          "rows"
          "matrix"
        ];
      }
      ''
        export CARGO_MANIFEST_DIR=${sources.code}/xtask
        xtask rows --format json >rust-rows
        xtask rows --format ci >rust-matrix
        python3 ${./rows.py} $rowsPath rust-rows $matrixPath rust-matrix
        touch $out
      '';

  # Nix files are formatted, and hold nothing that is not used.
  nix-files =
    pkgs.runCommand "nix-files"
      {
        nativeBuildInputs = [
          pkgs.nixfmt
          pkgs.deadnix
        ];
      }
      ''
        cd ${inputs.self}
        files="flake.nix pkgs checks"
        nixfmt --check $(find $files -name '*.nix')
        deadnix --fail $files
        touch $out
      '';
}
