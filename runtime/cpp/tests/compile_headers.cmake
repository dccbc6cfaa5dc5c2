# Compiles every header below ${include} alone with ${compiler} (words separated by commas), warnings being errors, and
# all of them together without exceptions and type information.
string(REPLACE "," ";" command "${compiler}")
file(GLOB_RECURSE headers RELATIVE "${include}" "${include}/*.h")
list(LENGTH headers count)
if(count LESS 60)
  message(FATAL_ERROR "only ${count} headers in ${include}")
endif()
set(source "${build}/header.cpp")

function(compile what text)
  file(WRITE "${source}" "${text}")
  execute_process(
    COMMAND ${command} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror ${ARGN} -fsyntax-only -I "${include}" "${source}"
    RESULT_VARIABLE code ERROR_VARIABLE errors)
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${what}:\n${errors}")
  endif()
endfunction()

foreach(header IN LISTS headers)
  string(APPEND all "#include <${header}>\n")
  # Twice: a header must guard itself.
  compile("${header}" "#include <${header}>\n#include <${header}>\n")
endforeach()
compile("all headers without exceptions" "${all}" -fno-exceptions -fno-rtti)
message("${count} headers")
