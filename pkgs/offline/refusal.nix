# testers.testBuildFailure': runs a derivation that has to fail, and succeeds if it does, with a log that says why.
{ mkDerivation }:
{
  drv,
  name ? "${drv.name}-refused",
  expectedBuilderExitCode ? 1,
  expectedBuilderLogEntries ? [ ],
}:
let
  quoted = text: "'${builtins.replaceStrings [ "'" ] [ "'\\''" ] text}'";
in
mkDerivation (
  drv.originalArgs
  // {
    inherit name;
    refused = drv.originalArgs.buildCommand;
    passAsFile = [ "refused" ];
    buildCommand = ''
      status=0
      out=$NIX_BUILD_TOP/out bash -eo pipefail "$refusedPath" >log 2>&1 || status=$?
      cat log
      if [ "$status" != ${toString expectedBuilderExitCode} ]; then
        echo "ended with status $status, and should have failed with ${toString expectedBuilderExitCode}" >&2
        exit 1
      fi
      for entry in ${toString (map quoted expectedBuilderLogEntries)}; do
        grep -qF -- "$entry" log || { echo "failed, but not because of: $entry" >&2; exit 1; }
      done
      mkdir -p $out
      cp log $out/testBuildFailure.log
    '';
  }
)
