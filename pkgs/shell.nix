# Everything that a contributor needs: `nix develop`, then `cargo xtask …`.
{
  pkgs,
  tools,
  workspace,
  row,
  ...
}:
let
  nvrtc = pkgs.cudaPackages.cuda_nvrtc;
in
workspace.crane.devShell {
  packages = [
    tools
    pkgs.clippy
    pkgs.rustfmt
    pkgs.cargo-nextest
    pkgs.deadnix
    pkgs.git
    pkgs.nixfmt
    pkgs.python3
  ];
  EXECUTORCH_TOOLS = tools;
  EXECUTORCH_NVRTC = if row ? cuda then "${nvrtc.lib or nvrtc}/lib" else "";
}
