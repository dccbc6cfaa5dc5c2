# The libraries of a row: one derivation for each component, all on the same built dependencies, each linked to those that
# it needs. The compiler's and the linker's arguments are `cargo xtask component`'s, so that a wheel is the same without Nix.
{
  pkgs,
  row,
  workspace,
  tools,
  xnnpack,
  components,
}:
let
  inherit (workspace) crane common xtask;
  file = name: baseNameOf components.${name}.path;

  # What the row's components are built with, by what components.toml says of them.
  declared = map (name: components.${name}) row.components;
  some = test: builtins.any test declared;
  links = library: some (component: builtins.elem library (component.external or [ ]));
  given = condition: package: if condition then [ package ] else [ ];

  arguments = common // {
    nativeBuildInputs = [
      xtask
    ]
    ++ given (some (component: component.device-code or false)) pkgs.cudaPackages.cuda_nvcc;
    buildInputs =
      given (links "libcudart") pkgs.cudaPackages.cuda_cudart
      ++ given (links "libnvinfer") pkgs.cudaPackages.tensorrt;
    EXECUTORCH_TOOLS = tools;
    EXECUTORCH_NATIVE_CACHE = xnnpack;
    preBuild = ''
      export HOME=$PWD CARGO_TARGET_DIR=$PWD/target CARGO_MANIFEST_DIR=$PWD/xtask
      # Each registry has a folder of its own.
      EXECUTORCH_CRATES=$(find "$cargoVendorDir"/ -mindepth 1 -maxdepth 1 ! -name config.toml -printf '%p:')
      export EXECUTORCH_CRATES=''${EXECUTORCH_CRATES%:}
      mkdir -p stage
    '';
  };

  dependencies = crane.buildDepsOnly (
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
  );

  # All components of the row. `more` replaces arguments: sources, or dependencies that were built before.
  link =
    more:
    let
      add =
        earlier: name:
        let
          needs = map (need: "${earlier.${need}}/${file need}") (components.${name}.needs or [ ]);
        in
        earlier
        // {
          ${name} = crane.mkCargoDerivation (
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
            // more
          );
        };
    in
    builtins.foldl' add { } row.components;
in
{
  inherit arguments dependencies link;
  libraries = link { };
}
