# Everything that belongs to one row.
{ inputs, row }:
let
  matrix = import ./rows.nix { };
  pkgs = import ./set.nix { inherit inputs row; };
  workspace = import ./workspace.nix { inherit inputs pkgs; };
  tools = import ./toolchain.nix { inherit pkgs; };
  arch = builtins.head (builtins.split "-" row.system);
  xnnpack = import ./xnnpack.nix {
    inherit
      inputs
      pkgs
      workspace
      tools
      arch
      ;
  };
  inherit
    (import ./components.nix {
      inherit
        pkgs
        row
        workspace
        tools
        xnnpack
        ;
      inherit (matrix) components;
      shared =
        if matrix.plain row == row then
          { }
        else
          import ./. {
            inherit inputs;
            row = matrix.plain row;
          };
    })
    dependencies
    libraries
    again
    fakes
    ;
  unbuilt = matrix.unbuilt row;

  # A row whose crates are not there yet has a name, so that it can be evaluated, and says what is missing when it is built.
  absent = pkgs.runCommand "wheel-${row.name}" { } ''
    echo 'row `${row.name}` has no wheel yet: ${toString unbuilt} in wheels/components.toml is declared and not built' >&2
    exit 1
  '';
in
{
  inherit
    row
    pkgs
    workspace
    tools
    xnnpack
    dependencies
    libraries
    again
    fakes
    ;
  wheel =
    if unbuilt != [ ] then
      absent
    else
      import ./wheel.nix {
        inherit
          row
          workspace
          tools
          xnnpack
          libraries
          ;
      };
}
