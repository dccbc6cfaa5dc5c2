# The flake's outputs of one system, each from the list of the system's rows.
{
  inputs,
  built,
  matrix,
}:
let
  inherit (builtins)
    concatMap
    filter
    head
    listToAttrs
    ;
  of = row: built.${row.name};
  named = name: value: { inherit name value; };

  # What is not of one row is made with the tools of the row without an accelerator.
  plain = rows: head (filter (row: !row ? cuda) rows);
  hasMachines = row: row.system == "x86_64-linux";
  testable = filter matrix.isBuilt;

  gate =
    image: row:
    import ../checks/gate.nix {
      inherit row image;
      built = of row;
      inherit (of row) pkgs;
    };
  gates =
    row:
    map (image: named "gate-${row.name}-${image}" (gate image row)) (
      if hasMachines row then row.gate-images else [ ]
    );
in
{
  packages =
    rows:
    let
      base = of (plain rows);
    in
    listToAttrs (
      map (row: named "wheel-${row.name}" (of row).wheel) rows
      ++ concatMap gates (testable rows)
      ++ [
        (named "default" base.wheel)
        (named "xnnpack" base.xnnpack)
        (named "wheelhouse" base.workspace.wheelhouse)
        (named "index" (
          import ./index.nix {
            inherit (base) pkgs workspace;
            rows = testable rows;
            wheel = row: (of row).wheel;
          }
        ))
      ]
    );

  checks =
    rows:
    let
      row = plain rows;
      base = of row;
      ofRow =
        row:
        let
          all = import ../checks {
            inherit row;
            built = of row;
          };
        in
        map (name: named "wheel-${row.name}-${name}" all.${name}) (builtins.attrNames all);
    in
    listToAttrs (
      concatMap ofRow (testable rows)
      ++ [
        # What takes long is tried on one row, and not where machines are emulated. Releases gate every row on all of its
        # images (packages.gate-ROW-IMAGE), and `nix build --rebuild` compares the bytes of any.
        (named "wheel-${row.name}-reproducible" (
          import ../checks/reproducible.nix {
            inherit row;
            built = base;
          }
        ))
      ]
      ++ (if hasMachines row then [ (named "wheel-${row.name}-gate" (gate "debian-12" row)) ] else [ ])
    )
    // import ../checks/refusals.nix {
      inherit row;
      built = base;
    }
    // import ../checks/tree.nix {
      inherit inputs;
      rows = testable rows;
      built = base;
    };

  shells =
    rows:
    let
      shell = import ./shell.nix;
      cuda = filter (row: row ? cuda && !row.tested ? jetpack) rows;
    in
    {
      default = shell (of (plain rows));
      # The newest train.
      cuda = shell (
        of (builtins.foldl' (a: b: if b.cuda.version > a.cuda.version then b else a) (head cuda) cuda)
      );
    };

  apps =
    rows:
    import ./apps.nix {
      inherit (inputs) self;
      built = of (plain rows);
      rows = testable rows;
    };

  formatter = rows: import ./format.nix (of (plain rows)).pkgs;
}
