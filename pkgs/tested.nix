# What clippy and the tests look at: the crates of the components of all `rows`, and those of this workspace that they need,
# in the profile of development, on dependencies that both share. A crate is the same in every row.
{
  rows,
  workspace,
  xnnpack,
  components,
}:
let
  inherit (builtins)
    attrNames
    concatMap
    genericClosure
    readFile
    ;
  inherit (workspace) crane common sources;
  manifest = folder: fromTOML (readFile (../. + "/${folder}/Cargo.toml"));
  # The folder of each crate of the workspace.
  folders = builtins.listToAttrs (
    map (folder: {
      name = (manifest folder).package.name;
      value = folder;
    }) (manifest ".").workspace.members
  );

  # The crates of the workspace that a crate is built with.
  needs =
    package:
    let
      declared = manifest folders.${package};
    in
    builtins.filter (name: folders ? ${name}) (
      attrNames (declared.dependencies or { } // declared.build-dependencies or { })
    );

  named = packages: toString (map (package: "--package ${package}") packages);

  all = map (item: item.key) (genericClosure {
    startSet = map (component: { key = components.${component}.package; }) (
      concatMap (row: row.components) rows
    );
    operator = item: map (key: { inherit key; }) (needs item.key);
  });
in
rec {
  # As arguments for cargo: what clippy looks at, and what is tested. The compilers of device code are compared with the
  # matrix by a test that downloads all of them; here, audit reads what they have left in the wheels.
  packages = named all;
  tests = named (builtins.filter (package: package != "executorch-cuda-native") all);

  arguments = common // {
    pname = "executorch";
    src = sources.all;
    CARGO_PROFILE = "dev";
    doCheck = true;
    EXECUTORCH_NATIVE_CACHE = xnnpack;
  };

  artifacts = crane.buildDepsOnly (
    arguments
    // {
      pname = "executorch-tests";
      # Manifests and names of files are all that counts.
      src = sources.code;
      cargoExtraArgs = "--locked ${packages}";
      # For clippy; tests build what they need themselves.
      buildPhaseCargoCommand = "cargoWithProfile check --locked ${packages} --all-targets";
      cargoTestExtraArgs = "--no-run";
    }
  );
}
