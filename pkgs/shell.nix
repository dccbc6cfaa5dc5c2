# Everything that a contributor needs: `nix develop`, then `cargo xtask …`.
{
  pkgs,
  tools,
  workspace,
  row,
  ...
}:
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
  ]
  ++ (if row ? cuda then [ pkgs.cudaPackages.cuda_nvcc ] else [ ]);
  EXECUTORCH_TOOLS = tools;
}
