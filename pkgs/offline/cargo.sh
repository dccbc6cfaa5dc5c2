# What crane's hooks do before and after cargo.

configureCargo() {
    export CARGO_HOME=$NIX_BUILD_TOP/cargo-home CARGO_BUILD_JOBS=$NIX_BUILD_CORES CARGO_INCREMENTAL=0
    mkdir -p "$CARGO_HOME"
    if [ -n "${cargoVendorDir:-}" ]; then
        cp "$cargoVendorDir/config.toml" "$CARGO_HOME/config.toml"
    fi
    if [ -n "${cargoArtifacts:-}" ]; then
        zstd -dq --stdout "$cargoArtifacts/target.tar.zst" | tar -x
    fi
    # The store's files are of 1970. cargo would take what was built from empty sources for newer than the real ones.
    find . -path ./target -prune -o -type f -exec touch {} +
}

# cargo with the derivation's profile.
cargoWithProfile() {
    cargo "$1" ${CARGO_PROFILE:+--profile "$CARGO_PROFILE"} "${@:2}"
}

# Moves the programs that were built to the output.
installPrograms() {
    local profile=$CARGO_PROFILE
    case $profile in dev | test) profile=debug ;; esac
    mkdir -p "$out/bin"
    find "target/$profile" "target/"*"/$profile" -maxdepth 1 -type f -executable ! -name '*.so' \
        -exec cp -t "$out/bin" {} + 2>/dev/null || true
    ls "$out/bin"
    [ -n "$(ls -A "$out/bin")" ] || { echo 'no program was built' >&2; return 1; }
}

installCargoArtifacts() {
    mkdir -p "$out" target
    tar -c --sort=name --mtime=@1 --owner=0 --group=0 --numeric-owner target | zstd -q -o "$out/target.tar.zst"
}
