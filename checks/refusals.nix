# Wheels and tables that the checks must refuse. Each derivation here succeeds only if another one fails, for its reason.
{ row, built }:
let
  inherit (built) pkgs wheel workspace;
  look = import ./look.nix { inherit pkgs row; };
  refused =
    name: drv: entries:
    pkgs.testers.testBuildFailure' {
      inherit name drv;
      expectedBuilderLogEntries = entries;
    };

  # The wheel with one thing changed in its unpacked files.
  changed =
    name: script:
    pkgs.runCommand name { nativeBuildInputs = [ pkgs.python3 ]; } ''
      python3 -m zipfile -e ${wheel}/*.whl wheel
      cd wheel
      ${script}
      mkdir $out
      python3 -m zipfile -c $out/$(basename ${wheel}/*.whl) *
    '';

  # A library that calls a function of glibc 2.34, in the place of the runtime.
  tooNew = changed "too-new-glibc" ''
    echo 'extern int pthread_create(void *, void *, void *, void *);
      int et_start(void *t) { return pthread_create(t, 0, 0, 0); }' >new.c
    cc -shared -fPIC -o executorch_runtime/lib/libexecutorch.so.1 new.c
    rm new.c
  '';

  # What the empty sources of a build of dependencies would link: a library without the module's entry.
  noModule = changed "without-module" ''
    echo 'static int nothing;' >nothing.c
    cc -shared -fPIC -o executorch_runtime/_executorch_runtime.abi3.so nothing.c
    rm nothing.c
  '';

  audit =
    of:
    pkgs.runCommand "audit" {
      nativeBuildInputs = [ workspace.wheelhouse ];
    } "wheelhouse audit ${of}/*.whl --row ${row.name} --root ${workspace.sources.code}";
in
{
  floor-refuses = refused "floor-refuses-a-newer-glibc" (look.floor tooNew) [ "needs glibc 2.34" ];
  audit-refuses = refused "audit-refuses-a-newer-glibc" (audit tooNew) [ "2.34" ];
  exports-refuses = refused "exports-refuses-a-wheel-without-its-module" (look.exports noModule) [
    "has no PyInit__executorch_runtime"
  ];
}
