# A stand-in for the flake's inputs nixpkgs, crane and jetpack-nixos, on the tools of a Debian machine: the same flake.nix
# evaluates, builds and checks with it where neither those inputs nor a binary cache can be reached.
#
# `cargo xtask nix` puts it in their place, beside a host.json that tells of the machine. By hand it is of no use.
#
# What it is: the functions that the flake calls, with the names, arguments and results that nixpkgs and crane have. Builds
# run in Nix's sandbox, offline, and see the machine's /usr and its Rust toolchain, zig, cmake and ninja below /nix/host.
# What it is not: pinned (a machine's tools are what they are; host.json's fingerprint makes other tools other builds), nor
# complete (what the flake does not call is not there). CUDA, TensorRT and JetPack are names without contents: rows
# that need them evaluate, and their builds say what is missing. aarch64 rows are built by the machine's own tools, which
# compile for both. cargo-audit has no advisories to look at: it checks what Cargo.lock pins.
{
  description = "What the flake calls of nixpkgs, crane and jetpack-nixos, on a Debian machine's own tools";

  outputs =
    _:
    let
      host = builtins.fromJSON (builtins.readFile ./host.json);
      packages = system: import ./. { inherit system host; };
    in
    {
      legacyPackages = {
        x86_64-linux = packages "x86_64-linux";
        aarch64-linux = packages "aarch64-linux";
      };
      mkLib = import ./crane.nix;
      overlays.default = _final: _prev: { };
    };
}
