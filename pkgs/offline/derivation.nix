# stdenv.mkDerivation: nixpkgs' attributes and phases, with the machine's bash and tools.
{ system, host }:
let
  mkDerivation =
    args:
    let
      attributes =
        removeAttrs args [
          "env"
          "meta"
          "passthru"
        ]
        // args.env or { };
      drv = derivation (
        attributes
        // {
          inherit system;
          name = args.name or "${args.pname}-${args.version}";
          builder = "/bin/bash";
          args = [
            "-ec"
            "source $stdenv/setup; genericBuild"
          ];
          # `nix develop` wants to be told of these two.
          outputs = args.outputs or [ "out" ];
          stdenv = ./stdenv;
          # Other tools make other builds.
          fingerprint = host.fingerprint;
        }
      );
    in
    drv
    // args.passthru or { }
    // {
      meta = args.meta or { };
      nativeBuildInputs = args.nativeBuildInputs or [ ];
      # What the derivation was made from, for those that make another one like it.
      originalArgs = args;
    };
in
mkDerivation
