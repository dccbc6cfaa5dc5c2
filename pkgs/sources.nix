# Parts of the source tree: what a derivation does not see cannot make it build again.
let
  inherit (builtins)
    any
    match
    substring
    stringLength
    ;
  root = toString ../.;

  # The tree without what matches one of the expressions, which are about paths in it.
  without =
    expressions:
    builtins.path {
      path = ../.;
      name = "source";
      filter =
        path: _type:
        let
          relative = substring (stringLength root + 1) (-1) path;
        in
        !any (expression: match expression relative != null) expressions;
    };

  # What tells people and Nix, and no compiler.
  aside = [
    "[.]ci|[.]git|[.]github|docs|pkgs|target|dist"
    "flake[.](nix|lock)"
    "checks/[^/]*[.]nix"
  ];
in
{
  # What wheels and tools are made from.
  code = without (
    aside
    ++ [
      "examples"
      "[^/]*[.]md"
      "checks/(bench|sbom)"
      "checks/conformance/(programs|xnnpack|delegates|fixtures)"
      "checks/conformance/[^/]*[.](py|txt)"
      "runtime/(python|cpp)/tests"
    ]
  );

  # What tests are run on, and what the gate hands to its machine.
  all = without aside;
}
