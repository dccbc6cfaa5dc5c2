# The release matrix, read from where it is declared: wheels/rows.toml and wheels/components.toml. `wheelhouse` checks
# rows in full; here only what the flake itself relies on.
{
  rows ? fromTOML (builtins.readFile ../wheels/rows.toml),
  components ? fromTOML (builtins.readFile ../wheels/components.toml),
}:
let
  inherit (builtins)
    attrNames
    concatMap
    concatStringsSep
    elem
    filter
    listToAttrs
    mapAttrs
    replaceStrings
    ;

  names = concatStringsSep ", ";

  # CUDA's versions that rows may ask for, by the attributes of nixpkgs.
  trains = {
    "12.6" = "cudaPackages_12_6";
    "13.0" = "cudaPackages_13_0";
  };

  systems = [
    "x86_64-linux"
    "aarch64-linux"
  ];

  # What is wrong with a row, each in one sentence that says what to change.
  faults =
    name: row:
    let
      unknown = filter (component: !components ? ${component}) row.components;
      arch = replaceStrings [ "-linux" ] [ "" ] row.system;
      platform = "manylinux_${replaceStrings [ "." ] [ "_" ] row.glibc}_${arch}";
      when = condition: text: if condition then [ "row `${name}`: ${text}" ] else [ ];
    in
    when (!elem row.system systems) "system = \"${row.system}\": expected one of ${names systems}"
    ++ when (
      row.platform != platform
    ) "platform = \"${row.platform}\": system and glibc call for ${platform}"
    ++ when (unknown != [ ]) "components.toml does not declare ${names unknown}"
    ++ when (
      row ? cuda && !trains ? ${row.cuda.version}
    ) "cuda.version = \"${row.cuda.version}\": pkgs/rows.nix knows ${names (attrNames trains)}"
    ++ when (
      row.tested ? jetpack && !row ? cuda
    ) "tested.jetpack is given: name its CUDA under [${name}.cuda]"
    ++ when (
      row.tested ? jetpack && row.system != "aarch64-linux"
    ) "tested.jetpack is given: JetPack runs on aarch64-linux only";

  checked = mapAttrs (
    name: row:
    let
      found = faults name row;
    in
    if found == [ ] then
      {
        project = "executorch-runtime";
      }
      // row
      // {
        inherit name;
      }
    else
      throw (concatStringsSep "\n" found)
  ) rows;

  unbuilt = row: filter (component: !(components.${component}.built or true)) row.components;

  arch = row: builtins.head (builtins.split "-" row.system);

  built = filter (row: unbuilt row == [ ] && row.project == "executorch-runtime") (
    map (name: checked.${name}) (attrNames checked)
  );
in
{
  inherit
    components
    trains
    unbuilt
    ;
  rows = checked;

  # One row, or a sentence that names all.
  find =
    name: checked.${name} or (throw "no row `${name}`: wheels/rows.toml has ${names (attrNames rows)}");

  # By system, what `make` gives for each of its rows.
  bySystem =
    make:
    listToAttrs (
      map (system: {
        name = system;
        value = make (filter (row: row.system == system) (map (name: checked.${name}) (attrNames checked)));
      }) systems
    );

  # The row without an accelerator that is otherwise built like this one.
  plain =
    row:
    builtins.head (
      filter (
        other:
        !other ? cuda
        && other.system == row.system
        && other.glibc == row.glibc
        && other.python == row.python
      ) (map (name: checked.${name}) (attrNames checked))
      ++ [ row ]
    );

  # Whether a row's wheel can be built today.
  isBuilt = row: elem row built;

  # The jobs of a CI system, as `cargo xtask rows --format ci` prints them.
  matrix = {
    build.include = map (row: {
      row = row.name;
      arch = arch row;
      inherit (row) index publish;
    }) built;
    gate.include = concatMap (
      row:
      map (image: {
        row = row.name;
        arch = arch row;
        inherit image;
      }) row.gate-images
    ) built;
  };
}
