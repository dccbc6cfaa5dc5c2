{
  description = "ExecuTorch's runtime half as prebuilt wheels: every row of wheels/rows.toml, built, checked and promoted";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";
    crane.url = "github:ipetkov/crane";
    jetpack-nixos.url = "github:anduril/jetpack-nixos";
    jetpack-nixos.inputs.nixpkgs.follows = "nixpkgs";
    advisory-db.url = "github:rustsec/advisory-db";
    advisory-db.flake = false;

    # The releases of delegates/xnnpack/native/sources.toml; a test compares them.
    xnnpack.url = "github:google/XNNPACK/4ea82e595b36106653175dcb04b2aa532660d0d8";
    xnnpack.flake = false;
    cpuinfo.url = "github:pytorch/cpuinfo/877328f188a3c7d1fa855871a278eb48d530c4c0";
    cpuinfo.flake = false;
    pthreadpool.url = "github:google/pthreadpool/560c60d342a76076f0557a3946924c6478470044";
    pthreadpool.flake = false;
    fxdiv.url = "github:Maratyszcza/FXdiv/b408327ac2a15ec3e43352421954f5b1967701d1";
    fxdiv.flake = false;
  };

  outputs =
    inputs:
    let
      matrix = import ./pkgs/rows.nix { };
      built = builtins.mapAttrs (_: row: import ./pkgs { inherit inputs row; }) matrix.rows;
      outputs = import ./pkgs/outputs.nix { inherit inputs built matrix; };
    in
    {
      lib = { inherit (matrix) find matrix rows; };
      packages = matrix.bySystem outputs.packages;
      checks = matrix.bySystem outputs.checks;
      devShells = matrix.bySystem outputs.shells;
      apps = matrix.bySystem outputs.apps;
      formatter = matrix.bySystem outputs.formatter;
    };
}
