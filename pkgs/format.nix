# `nix fmt`: formats the Nix files that it is given, or all.
pkgs:
pkgs.writeShellApplication {
  name = "format";
  runtimeInputs = [ pkgs.nixfmt ];
  text = ''
    if [ $# -eq 0 ]; then
      set -- flake.nix pkgs checks
    fi
    find "$@" -name '*.nix' -exec nixfmt {} +
  '';
}
