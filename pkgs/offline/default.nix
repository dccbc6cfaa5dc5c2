# nixpkgs, as far as the flake calls it: `import nixpkgs { system; config; overlays; }`.
{
  system,
  config ? { },
  overlays ? [ ],
  host ? builtins.fromJSON (builtins.readFile ./host.json),
}:
let
  # The settings that rows make: none changes what the stand-in offers, but a misspelt one should not pass.
  known = [
    "allowUnfree"
    "cudaCapabilities"
    "cudaSupport"
  ];
  unknown = builtins.filter (name: !builtins.elem name known) (builtins.attrNames config);
  extend = prev: overlay: prev // overlay (prev // { inherit system; }) prev;
in
if unknown != [ ] then
  throw "nixpkgs' config: the flake should set nothing but ${toString known}, not ${toString unknown}"
else
  builtins.foldl' extend (import ./packages.nix { inherit system host; }) overlays
