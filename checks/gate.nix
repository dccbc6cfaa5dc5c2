# The gate (docs/gate.md): the wheel, installed and used in a clean machine of a distribution that knows nothing of Nix. The
# output holds the report, the logs, and the wheel itself: a wheel that is taken from here has passed.
{
  pkgs,
  row,
  built,
  image,
}:
let
  inherit (built) wheel workspace fakes;

  # nixpkgs' names of the images, which have dots in no name.
  images = {
    debian-11 = "debian11x86_64";
    debian-12 = "debian12x86_64";
    debian-13 = "debian13x86_64";
  };
  known = builtins.concatStringsSep ", " (builtins.attrNames images);
  attribute =
    images.${image}
      or (throw "row `${row.name}`: checks/gate.nix knows ${known}, and no gate image `${image}`");

  # What docs/vm.md says that every machine has.
  packages = [
    "binutils"
    "cmake"
    "file"
    "g++"
    "make"
    "pkg-config"
    "python3"
    "python3-numpy"
    "python3-pip"
    "python3-venv"
  ];

  # A row with CUDA is tried on these where there is no GPU.
  standIns = if row ? cuda then "--fakes ${fakes}" else "";

  # NVIDIA's wheels, as PyPI has them.
  pins = fromTOML (builtins.readFile ../wheels/nvidia.toml);
  arch = builtins.head (builtins.split "-" row.system);
  pin =
    dependency:
    let
      name = builtins.head (builtins.split "[=<>; ]" dependency);
    in
    pins.${name}.${arch}
      or (throw "row `${row.name}` depends on ${name}: pin [${name}.${arch}] in wheels/nvidia.toml");
  fetched =
    pin:
    let
      part = builtins.elemAt (builtins.match "([^-]+)-([^-]+)-([^-]+)-([^-]+)-([^-]+)[.]whl" pin.file);
    in
    pkgs.fetchPypi {
      format = "wheel";
      pname = part 0;
      version = part 1;
      dist = part 2;
      python = part 2;
      abi = part 3;
      platform = part 4;
      inherit (pin) sha256;
    };
  isNvidia = dependency: builtins.substring 0 7 dependency == "nvidia-";
  needed = map pin (builtins.filter isNvidia row.dependencies);

  input = pkgs.runCommand "gate-input" { nativeBuildInputs = [ workspace.xtask ]; } ''
    export CARGO_MANIFEST_DIR=${workspace.sources.all}/xtask
    # The store puts a digest before their names.
    ${toString (map (pin: "ln -s ${fetched pin} ${pin.file};") needed)}
    xtask gate-input ${row.name} --image ${image} --wheel ${wheel}/*.whl \
      --wheelhouse ${workspace.wheelhouse}/bin/wheelhouse ${standIns} ${
        toString (map (pin: "--dependency ${pin.file}") needed)
      } $out
    cp ${workspace.gate}/bin/executorch-gate $out/
  '';
in
pkgs.vmTools.runInLinuxImage (
  pkgs.runCommand "gate-${row.name}-${image}"
    {
      diskImage = pkgs.vmTools.diskImageFuns.${attribute} {
        extraPackages = packages;
        size = 8192;
      };
      memSize = 4096;
    }
    ''
      # The gate runs as users do: not as root, and with nothing of the builder's environment.
      mkdir -p $out
      become=
      if [ "$(id -u)" = 0 ]; then
        mkdir -p /home/user
        chown 1000:1000 /home/user $out
        become='setpriv --reuid 1000 --regid 1000 --clear-groups'
      fi
      home=$(if [ -w "''${HOME:-/nowhere}" ]; then echo $HOME; else echo /home/user; fi)
      cd $home
      $become env -i HOME=$home USER=user LOGNAME=user PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TMPDIR=/tmp \
        ${input}/executorch-gate run ${input} --out $out
      cp ${input}/index/staging/*.whl ${wheel}/toolchain.json $out/
    ''
)
