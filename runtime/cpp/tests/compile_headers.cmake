# Compiles every header below ${include} alone with ${compiler} (words separated by commas), warnings being errors.
string(REPLACE "," ";" command "${compiler}")
file(GLOB_RECURSE headers RELATIVE "${include}" "${include}/*.h")
list(LENGTH headers count)
if(count LESS 60)
  message(FATAL_ERROR "only ${count} headers in ${include}")
endif()
set(source "${build}/header.cpp")
foreach(header IN LISTS headers)
  # Twice: a header must guard itself.
  file(WRITE "${source}" "#include <${header}>\n#include <${header}>\n")
  foreach(options IN ITEMS "-fexceptions" "-fno-exceptions;-fno-rtti")
    execute_process(
      COMMAND ${command} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror ${options} -fsyntax-only
        -I "${include}" "${source}"
      RESULT_VARIABLE code ERROR_VARIABLE errors)
    if(NOT code EQUAL 0)
      message(SEND_ERROR "${header} with ${options}:\n${errors}")
    endif()
  endforeach()
endforeach()
message("${count} headers")
