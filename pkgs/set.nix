# From a row to its package set: nixpkgs, with the row's CUDA as the only one, and JetPack's packages for Jetson.
{ inputs, row }:
let
  nixpkgs = inputs.nixpkgs or (throw "the flake has no input `nixpkgs`: add it to flake.nix");
  jetpack =
    inputs.jetpack-nixos
      or (throw "the flake has no input `jetpack-nixos`: row `${row.name}` needs it");
  inherit (import ./rows.nix { }) trains;

  # 87 is capability 8.7.
  capability =
    architecture: "${toString (architecture / 10)}.${toString (architecture - architecture / 10 * 10)}";
  architectures = row.cuda.architectures or [ ];

  set = import nixpkgs {
    inherit (row) system;
    config = {
      allowUnfree = true;
      cudaSupport = true;
    }
    // (if architectures == [ ] then { } else { cudaCapabilities = map capability architectures; });
    overlays = if row.tested ? jetpack then [ jetpack.overlays.default ] else [ ];
  };
  attribute = trains.${row.cuda.version};
in
if row ? cuda then
  set.${attribute}.pkgs
    or (throw "row `${row.name}`: nixpkgs has no ${attribute}: choose another cuda.version, or another nixpkgs")
else
  nixpkgs.legacyPackages.${row.system}
