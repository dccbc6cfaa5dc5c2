# crane, as far as the flake calls it: the same names, arguments and results.
pkgs:
let
  inherit (builtins)
    attrNames
    concatMap
    concatStringsSep
    filter
    isString
    match
    readDir
    readFile
    ;

  # The files below a folder, by their paths in it.
  filesIn =
    folder: prefix:
    let
      entries = readDir folder;
      file =
        name:
        if entries.${name} == "directory" then
          filesIn "${folder}/${name}" "${prefix}${name}/"
        else
          [ "${prefix}${name}" ];
    in
    concatMap file (attrNames entries);

  # A crate's archive.
  stored = import ./stored.nix { inherit (pkgs) system; };
  archive = package: stored "cargo-src-${package.name}-${package.version}" package.checksum;

  vendorCargoDeps =
    {
      src ? null,
      cargoLock ? "${src}/Cargo.lock",
      ...
    }:
    let
      locked = filter (package: package ? checksum) (fromTOML (readFile cargoLock)).package;
      folder = package: "$out/registry/${package.name}-${package.version}";
      unpack = package: ''
        tar -xzf ${archive package} -C ${folder package} --strip-components=1
        echo '{"files":{},"package":"${package.checksum}"}' >${folder package}/.cargo-checksum.json
      '';
    in
    pkgs.runCommand "vendor-cargo-deps" { } ''
      mkdir -p ${toString (map folder locked)}
      ${concatStringsSep "\n" (map unpack locked)}
      printf '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "%s"\n' \
        $out/registry >$out/config.toml
    '';

  # The tree with its manifests, and sources that say nothing: dependencies are built from it alone.
  mkDummySrc =
    {
      src,
      extraDummyScript ? "",
      ...
    }:
    let
      kept =
        path:
        match "(.*/)?Cargo[.]toml|Cargo[.]lock|[.]cargo/config[.]toml|rust-toolchain[.]toml" path != null;
      # Where cargo looks for what it compiles: modules come and go without a new build of dependencies.
      targets = "build|src/lib|src/main|src/bin/.*|(benches|examples|tests)/([^/]*|[^/]*/main)";
      source = path: match "(.*/)?(${targets})[.]rs" path != null;
      files = filesIn src "";
      copy =
        path:
        let
          text = builtins.unsafeDiscardStringContext (readFile "${src}/${path}");
        in
        "cp ${builtins.toFile "kept" text} $out/${path}";
      folders = attrNames (
        builtins.listToAttrs (
          map (path: {
            name = dirOf path;
            value = null;
          }) files
        )
      );
    in
    pkgs.runCommand "source" { dummy = "#![allow(dead_code, missing_docs)]\npub fn main() {}\n"; } ''
      mkdir -p $out
      cd $out
      # Few processes: starting one is what takes time.
      mkdir -p ${toString folders}
      for path in ${toString (filter source files)}; do
        printf %s "$dummy" >$path
      done
      ${concatStringsSep "\n" (map copy (filter kept files))}
      ${extraDummyScript}
    '';

  mkCargoDerivation =
    {
      buildPhaseCargoCommand,
      checkPhaseCargoCommand ? "",
      installPhaseCommand ? "mkdir -p $out",
      doInstallCargoArtifacts ? true,
      pnameSuffix ? "",
      ...
    }@args:
    pkgs.stdenv.mkDerivation (
      removeAttrs args [
        "buildPhaseCargoCommand"
        "cargoLock"
        "checkPhaseCargoCommand"
        "installPhaseCommand"
        "pnameSuffix"
      ]
      // {
        pname = "${args.pname}${pnameSuffix}";
        inherit doInstallCargoArtifacts;
        cargoVendorDir = args.cargoVendorDir or (vendorCargoDeps args);
        nativeBuildInputs = args.nativeBuildInputs or [ ] ++ [ pkgs.cargo ];
        CARGO_PROFILE = args.CARGO_PROFILE or "release";
        configurePhase = ''
          runHook preConfigure
          source ${./cargo.sh}
          configureCargo
          runHook postConfigure
        '';
        buildPhase = ''
          runHook preBuild
          ${buildPhaseCargoCommand}
          runHook postBuild
        '';
        checkPhase = ''
          runHook preCheck
          ${checkPhaseCargoCommand}
          runHook postCheck
        '';
        installPhase = ''
          runHook preInstall
          ${installPhaseCommand}
          if [ -n "$doInstallCargoArtifacts" ]; then
            installCargoArtifacts
          fi
          runHook postInstall
        '';
      }
    );

  # The arguments that belong to one of the functions below, and to no derivation.
  own = [
    "advisory-db"
    "cargoBuildCommand"
    "cargoCheckExtraArgs"
    "cargoClippyExtraArgs"
    "cargoExtraArgs"
    "cargoNextestExtraArgs"
    "cargoTestExtraArgs"
    "dummySrc"
    "extraDummyScript"
  ];

  buildDepsOnly =
    {
      cargoCheckExtraArgs ? "--all-targets",
      cargoExtraArgs ? "--locked",
      cargoTestExtraArgs ? "--no-run",
      ...
    }@args:
    mkCargoDerivation (
      {
        buildPhaseCargoCommand = ''
          cargoWithProfile check ${cargoExtraArgs} ${cargoCheckExtraArgs}
          cargoWithProfile build ${cargoExtraArgs}
        '';
        checkPhaseCargoCommand = "cargoWithProfile test ${cargoExtraArgs} ${cargoTestExtraArgs}";
        doCheck = true;
      }
      // removeAttrs args own
      // {
        src = args.dummySrc or (mkDummySrc args);
        cargoVendorDir = args.cargoVendorDir or (vendorCargoDeps args);
        cargoArtifacts = null;
        pnameSuffix = "-deps";
      }
    );
in
{
  inherit
    buildDepsOnly
    mkCargoDerivation
    mkDummySrc
    vendorCargoDeps
    ;

  buildPackage =
    {
      cargoBuildCommand ? "cargoWithProfile build",
      cargoExtraArgs ? "--locked",
      ...
    }@args:
    mkCargoDerivation (
      {
        cargoArtifacts = buildDepsOnly args;
        doInstallCargoArtifacts = false;
        buildPhaseCargoCommand = "${cargoBuildCommand} ${cargoExtraArgs}";
        doCheck = true;
        checkPhaseCargoCommand = "cargoWithProfile test ${cargoExtraArgs}";
        installPhaseCommand = "installPrograms";
      }
      // removeAttrs args own
    );

  cargoClippy =
    {
      cargoClippyExtraArgs ? "--all-targets",
      cargoExtraArgs ? "--locked",
      ...
    }@args:
    mkCargoDerivation (
      removeAttrs args own
      // {
        pnameSuffix = "-clippy";
        buildPhaseCargoCommand = "cargoWithProfile clippy ${cargoExtraArgs} ${cargoClippyExtraArgs}";
        doInstallCargoArtifacts = args.doInstallCargoArtifacts or true;
      }
    );

  # cargo's own runner: the machine need not have nextest.
  cargoNextest =
    {
      cargoExtraArgs ? "",
      ...
    }@args:
    mkCargoDerivation (
      removeAttrs args own
      // {
        pnameSuffix = "-nextest";
        doCheck = true;
        buildPhaseCargoCommand = "cargo --version";
        checkPhaseCargoCommand = "cargoWithProfile test --no-fail-fast ${cargoExtraArgs}";
      }
    );

  cargoFmt =
    {
      cargoExtraArgs ? "",
      ...
    }@args:
    mkCargoDerivation (
      removeAttrs args own
      // {
        cargoArtifacts = null;
        cargoVendorDir = null;
        pnameSuffix = "-fmt";
        doInstallCargoArtifacts = false;
        buildPhaseCargoCommand = "cargo fmt ${cargoExtraArgs} -- --check";
      }
    );

  # Every package comes from this tree or from the registry with a digest: what can be told without advisories.
  cargoAudit =
    { src, ... }@args:
    let
      packages = (fromTOML (readFile "${src}/Cargo.lock")).package;
      sound =
        package:
        !package ? source
        ||
          package.source == "registry+https://github.com/rust-lang/crates.io-index"
          && isString package.checksum or null;
      odd = filter (package: !sound package) packages;
    in
    if odd != [ ] then
      throw "Cargo.lock: ${
        toString (map (package: package.name) odd)
      } come from no registry with a digest"
    else
      pkgs.runCommand "${args.pname}-audit" { } "mkdir $out";

  devShell =
    {
      checks ? { },
      packages ? [ ],
      inputsFrom ? [ ],
      ...
    }@args:
    pkgs.mkShell (
      removeAttrs args [ "checks" ]
      // {
        packages = packages ++ [ pkgs.cargo ];
        inputsFrom = inputsFrom ++ builtins.attrValues checks;
      }
    );
}
