# vmTools: builds in a clean machine. Debian is the distribution that the registries have, and checks/vm makes and starts the
# machines; `cargo xtask nix` brings them into the store.
#
# Unlike nixpkgs', the command runs as an ordinary user, finds the store below /job instead of /nix, and leaves in $out what
# comes back.
{
  host,
  mkDerivation,
  absent,
}:
let
  # `cargo xtask nix` has it made for checks, and for gates that it is asked for by name.
  image = name: _: {
    machine =
      if host.machines ? ${name} then stored host.machines.${name} else absent "clean-machine-${name}";
    inherit name;
  };

  # A path of the store that was read as a text: what names it depends on it.
  stored = path: builtins.appendContext path { ${path}.path = true; };
in
{
  diskImageFuns = {
    debian11x86_64 = image "debian-11";
    debian12x86_64 = image "debian-12";
    debian13x86_64 = image "debian-13";
  };

  runInLinuxImage =
    drv:
    let
      inherit (drv.originalArgs) diskImage buildCommand;
    in
    mkDerivation (
      removeAttrs drv.originalArgs [
        "diskImage"
        "memSize"
      ]
      // {
        machine = diskImage.machine;
        command = ''
          set -eu
          out=/results/out
          ${buildCommand}
          touch /results/ended
        '';
        passAsFile = [ "command" ];
        buildCommand = ''
          # Of the store, the sandbox has what the derivation names. The machine itself stays outside.
          mkdir -p job/nix/store images
          for path in /nix/store/*; do
            case $path in
              $machine | $stdenv) ;;
              *) cp -R $path job/nix/store/ ;;
            esac
          done
          sed 's,/nix/store/,/job/nix/store/,g' "$commandPath" >job/command
          cp -R --no-preserve=mode $machine/images/. images/
          export EXECUTORCH_VM_CACHE=$PWD/images EXECUTORCH_VM_ACCEL=tcg EXECUTORCH_DEBIAN_MIRROR=http://offline.invalid
          $machine/machine ${diskImage.name} job results 'bash /job/command' ended || {
            cat results/console.log
            exit 1
          }
          mv results/results/out $out
        '';
      }
    );
}
