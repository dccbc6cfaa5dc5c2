# The tools that compile and link wheels, in the form that EXECUTORCH_TOOLS asks for (xtask/tools): zig for C and for linking
# against the row's glibc, cmake and ninja for XNNPACK, and the licences of what compilers link in.
{ pkgs }:
pkgs.runCommand "executorch-tools" { } ''
  mkdir -p $out/bin $out/share/licenses
  ln -s ${pkgs.zig_0_15}/bin/zig ${pkgs.cmake}/bin/cmake ${pkgs.ninja}/bin/ninja $out/bin/
  ln -s ${pkgs.python3}/bin/python3 $out/bin/python
  cp ${pkgs.zig_0_15.src}/LICENSE $out/share/licenses/zig-compiler-rt
  cp ${pkgs.zig_0_15.src}/lib/libunwind/LICENSE.TXT $out/share/licenses/zig-libunwind
  rust=${pkgs.rustc.unwrapped.src}
  if [ -d $rust ]; then
    cp $rust/share/doc/rust/COPYRIGHT-library.html $out/share/licenses/rust-std
  else
    tar -xf $rust --wildcards --to-stdout '*/COPYRIGHT' '*/LICENSE-APACHE' '*/LICENSE-MIT' >$out/share/licenses/rust-std
  fi
''
