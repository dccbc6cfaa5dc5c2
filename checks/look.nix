# What binutils see in the libraries of a wheel.
{ pkgs, row }:
let
  tool =
    name: wheel: script:
    pkgs.runCommand "${name}-${row.name}" { nativeBuildInputs = [ pkgs.python3 ]; } ''
      python3 -m zipfile -e ${wheel}/*.whl wheel
      find wheel -name '*.so' -o -name '*.so.*' >libraries
      [ -s libraries ] || { echo 'the wheel holds no library' >&2; exit 1; }
      fail=
      while read -r library; do
        ${script}
      done <libraries
      [ -z "$fail" ] || exit 1
      touch $out
    '';
in
{
  # No library needs a glibc newer than the row's floor, and none a C++ library.
  floor =
    wheel:
    tool "floor" wheel ''
      newest=$(objdump -T $library | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
      echo "$library: glibc ''${newest:-none}"
      if [ "$(printf '%s\n' "''${newest:-0}" ${row.glibc} | sort -V | tail -n 1)" != ${row.glibc} ]; then
        echo "$library needs glibc $newest, and row ${row.name} promises ${row.glibc}" >&2
        fail=1
      fi
      if objdump -T $library | grep -E 'GLIBCXX_|CXXABI_|GCC_'; then
        echo "$library needs a C++ runtime" >&2
        fail=1
      fi
    '';

  # Python finds its module, and no library exports what is not the project's.
  exports =
    wheel:
    tool "exports" wheel ''
      nm -D --defined-only --format=posix $library | cut -d ' ' -f 1 | sed 's/@.*//' | grep -v '^ET_' >symbols || true
      echo "$library: $(wc -l <symbols) symbols"
      case $library in
        *.abi3.so)
          module=$(basename $library .abi3.so)
          grep -qx "PyInit_$module" symbols || { echo "$library has no PyInit_$module: Python cannot import it" >&2; fail=1; }
          strange='^PyInit_'
          ;;
        *) strange='^(et|aoti_torch|aoti_record_function)_' ;;
      esac
      if grep -vE "$strange" symbols; then
        echo "$library exports what it should not" >&2
        fail=1
      fi
    '';
}
