# The libraries of a row: one derivation for each component, all on the same built dependencies, each linked to those that
# it needs. Dependencies, and what has nothing of an accelerator, are shared with the row that has none (`shared`). The
# compiler's and the linker's arguments are `cargo xtask component`'s, so that a wheel is the same without Nix.
{
  pkgs,
  row,
  workspace,
  tools,
  xnnpack,
  components,
  shared,
}:
let
  inherit (workspace) crane common xtask;
  file = name: baseNameOf components.${name}.path;

  # What a component is built with, by what components.toml says of it.
  device = name: components.${name}.device-code or false;
  links = library: name: builtins.elem library (components.${name}.external or [ ]);
  given = condition: package: if condition then [ package ] else [ ];
  some = test: builtins.any test row.components;
  nvrtc = pkgs.cudaPackages.cuda_nvrtc;

  arguments = common // {
    nativeBuildInputs = [ xtask ];
    buildInputs = given (some (links "libnvinfer")) pkgs.cudaPackages.tensorrt;
    EXECUTORCH_NVRTC = if some device then "${nvrtc.lib or nvrtc}/lib" else "";
    EXECUTORCH_TOOLS = tools;
    preBuild = ''
      export HOME=$PWD CARGO_TARGET_DIR=$PWD/target CARGO_MANIFEST_DIR=$PWD/xtask
      # Each registry has a folder of its own.
      EXECUTORCH_CRATES=$(find "$cargoVendorDir"/ -mindepth 1 -maxdepth 1 ! -name config.toml -printf '%p:')
      export EXECUTORCH_CRATES=''${EXECUTORCH_CRATES%:}
      # Device code goes into the same cache.
      mkdir -p stage native
      ln -s ${xnnpack}/* native/
      export EXECUTORCH_NATIVE_CACHE=$PWD/native
    '';
  };

  # What device code needs besides is little, and compiled where it is used.
  dependencies =
    shared.dependencies or (crane.buildDepsOnly (
      arguments
      // {
        pname = "executorch-${row.name}";
        buildPhaseCargoCommand = "xtask component ${row.name} --stage stage";
        # The tables that say what is built.
        extraDummyScript = ''
          mkdir -p $out/wheels
          cp ${../wheels/rows.toml} $out/wheels/rows.toml
          cp ${../wheels/components.toml} $out/wheels/components.toml
        '';
      }
    ));

  # All components, each beside those that it needs.
  libraries = builtins.foldl' (
    earlier: name:
    let
      needs = map (need: "${earlier.${need}}/${file need}") (components.${name}.needs or [ ]);
    in
    earlier
    // {
      ${name} =
        if isPlain name && shared ? libraries.${name} then
          shared.libraries.${name}
        else
          crane.mkCargoDerivation (
            arguments
            // {
              pname = "${components.${name}.package}-${row.name}";
              cargoArtifacts = dependencies;
              doInstallCargoArtifacts = false;
              buildPhaseCargoCommand = ''
                for library in ${toString needs}; do
                  ln -s $library stage/
                done
                xtask component ${row.name} ${name} --stage stage
              '';
              installPhaseCommand = "install -Dm755 stage/${file name} -t $out";
            }
          );
    }
  ) { } row.components;

  # All once more: in one go, from sources in another folder, on no dependencies that were built before.
  again = crane.mkCargoDerivation (
    arguments
    // {
      pname = "again-${row.name}";
      src = pkgs.runCommand "a-folder-with-another-name" { } "cp -R ${workspace.sources.code} $out";
      cargoArtifacts = null;
      doInstallCargoArtifacts = false;
      buildPhaseCargoCommand = ''
        for name in ${toString row.components}; do
          xtask component ${row.name} $name --stage stage
        done
      '';
      installPhaseCommand = "install -Dm755 -t $out ${
        toString (map (name: "stage/${file name}") row.components)
      }";
    }
  );

  # What stands in for NVIDIA's libraries in the gate.
  fakes = crane.mkCargoDerivation (
    arguments
    // {
      pname = "executorch-cuda-fakes-${row.name}";
      cargoArtifacts = dependencies;
      doInstallCargoArtifacts = false;
      buildPhaseCargoCommand = "xtask fakes ${row.name} stage/fakes";
      installPhaseCommand = "cp -r stage/fakes $out";
    }
  );

  # Neither device code, nor libraries that others bring.
  isPlain = name: !device name && components.${name}.external or [ ] == [ ];
in
{
  inherit
    dependencies
    libraries
    again
    fakes
    ;
}
