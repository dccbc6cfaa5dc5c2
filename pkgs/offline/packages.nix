# The packages: the machine's own tools under the names that they have in nixpkgs.
{ system, host }:
let
  mkDerivation = import ./derivation.nix { inherit system host; };

  runCommand =
    name: env: buildCommand:
    mkDerivation (env // { inherit name buildCommand; });

  # A package of links to programs of the machine.
  links =
    name: programs: more:
    let
      link = program: "ln -s ${program} $out/bin/${baseNameOf program}";
    in
    runCommand name { } ''
      mkdir -p $out/bin
      ${builtins.concatStringsSep "\n" (map link programs)}
    ''
    // more;

  # A package that is only a name here.
  absent =
    name:
    runCommand name { } ''
      echo '${name} is not on this machine: build this where the flake has its own inputs, by `nix build`' >&2
      exit 1
    '';

  # Compiled by cargo where they are called for.
  lint = name: if host.lints then links name [ "/nix/host/lints/${name}" ] { } else absent name;

  # Of CUDA, only the compiler of device code is there, from PyPI.
  cuda =
    version:
    let
      train = {
        cudaMajorMinorVersion = version;
        cuda_nvrtc =
          if builtins.elem version host.nvrtc then
            runCommand "cuda_nvrtc-${version}" { } ''
              mkdir $out
              ln -s /nix/host/nvrtc-${version} $out/lib
            ''
          else
            absent "cuda_nvrtc-${version}";
        tensorrt = absent "tensorrt-for-cuda-${version}";
        # The set in which this train is the only one.
        pkgs = pkgs // {
          cudaPackages = train;
        };
      };
    in
    train;

  # One derivation has all of Rust: its programs find each other and the standard library.
  rust = links "rust-${host.rust}" (map (name: "/nix/host/rust/bin/${name}") [
    "cargo"
    "cargo-clippy"
    "cargo-fmt"
    "clippy-driver"
    "rustc"
    "rustdoc"
    "rustfmt"
  ]) { version = host.rust; };

  pkgs = {
    inherit system runCommand;
    stdenv = {
      inherit mkDerivation;
      hostPlatform = { inherit system; };
    };
    mkShell =
      {
        packages ? [ ],
        inputsFrom ? [ ],
        ...
      }@args:
      let
        gathered = packages ++ builtins.concatMap (drv: drv.nativeBuildInputs or [ ]) inputsFrom;
        own = removeAttrs args [
          "inputsFrom"
          "packages"
        ];
      in
      mkDerivation (
        own
        // {
          name = args.name or "shell";
          nativeBuildInputs = gathered;
          buildCommand = "touch $out";
        }
      );
    writeShellApplication =
      {
        name,
        text,
        runtimeInputs ? [ ],
      }:
      runCommand name
        {
          inherit text;
          path = builtins.concatStringsSep ":" (map (drv: "${drv}/bin") runtimeInputs);
          passAsFile = [ "text" ];
          meta.mainProgram = name;
        }
        ''
          mkdir -p $out/bin
          {
            echo '#!/bin/bash'
            echo 'set -o errexit -o nounset -o pipefail'
            echo "export PATH=$path:\$PATH"
            cat $textPath
          } >$out/bin/${name}
          bash -n $out/bin/${name}
          chmod +x $out/bin/${name}
        '';
    # Wheels only.
    fetchPypi =
      {
        pname,
        version,
        python,
        abi,
        platform,
        sha256,
        ...
      }:
      import ./stored.nix {
        inherit system;
      } "${pname}-${version}-${python}-${abi}-${platform}.whl" sha256;
    testers.testBuildFailure' = import ./refusal.nix { inherit mkDerivation; };
    vmTools = import ./machine.nix { inherit host mkDerivation absent; };

    cargo = rust;
    clippy = rust;
    rustc = rust // {
      unwrapped.src = "/nix/host/rust";
    };
    rustfmt = rust;
    zig_0_15 = links "zig-${host.zig}" [ "/nix/host/zig/zig" ] {
      version = host.zig;
      src = "/nix/host/zig";
    };
    cmake = links "cmake" [ "/nix/host/cmake/bin/cmake" ] { };
    ninja = links "ninja" [ "/nix/host/ninja" ] { };
    python3 = links "python3" [ "/usr/bin/python3" ] { };
    git = links "git" [ "/usr/bin/git" ] { };
    bashInteractive = links "bash" [ "/usr/bin/bash" ] { };
    glibc.static = links "glibc-static" [ ] { };
    cargo-nextest = links "cargo-nextest" [ ] { };
    nixfmt = lint "nixfmt";
    deadnix = lint "deadnix";

    cudaPackages_12_6 = cuda "12.6";
    cudaPackages_13_0 = cuda "13.0";
  };
in
pkgs
