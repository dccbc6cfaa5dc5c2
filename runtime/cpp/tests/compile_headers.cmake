# Compiles the headers below ${include} with ${compiler} (words separated by commas), warnings being errors: with
# ${alone}, each by itself; then all together, with exceptions and type information and without.
string(REPLACE "," ";" command "${compiler}")
file(GLOB_RECURSE headers RELATIVE "${include}" "${include}/*.h")
list(LENGTH headers count)
if(count LESS 60)
  message(FATAL_ERROR "only ${count} headers in ${include}")
endif()

function(compile what text)
  file(WRITE "${build}.cpp" "${text}")
  execute_process(
    COMMAND ${command} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror ${ARGN} -I "${include}"
      -c "${build}.cpp" -o "${build}.o"
    RESULT_VARIABLE code ERROR_VARIABLE errors)
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${what}:\n${errors}")
  endif()
endfunction()

set(all "")
foreach(header IN LISTS headers)
  # Twice: a header must guard itself.
  string(APPEND all "#include <${header}>\n#include <${header}>\n")
  if(alone)
    compile("${header}" "#include <${header}>\n")
  endif()
endforeach()
compile("all headers" "${all}")
compile("all headers without exceptions" "${all}" -fno-exceptions -fno-rtti)
message("${count} headers")
