# Checks of the tree itself, registered with ctest under the label `lint`:
#   header_self_sufficiency  every header compiles alone
#   link_closure             every library links with nothing but the dependencies it declares
#   lint_*                   tools/dev/lint
# Their targets are no part of `all`; the tests build them. Included last, by the top CMakeLists.txt.

function(namdb_lint_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS lint TIMEOUT 600)
endfunction()

foreach(lint format layering banned_calls coroutines text lint_test)
  namdb_lint_test(lint_${lint} ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/tools/dev/lint/${lint}.py)
endforeach()

# One source a header that includes it twice and nothing else. Not optimised: only whether it compiles matters.
file(GLOB_RECURSE namdb_headers RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/common/*.h ${CMAKE_SOURCE_DIR}/memory/*.h ${CMAKE_SOURCE_DIR}/compute/*.h
  ${CMAKE_SOURCE_DIR}/workloads/*.h ${CMAKE_SOURCE_DIR}/tools/*.h)
set(namdb_header_sources "")
foreach(header IN LISTS namdb_headers)
  set(source ${CMAKE_BINARY_DIR}/header_check/${header}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "#include \"${header}\"\n#include \"${header}\"\n")
  endif()
  list(APPEND namdb_header_sources ${source})
endforeach()
add_library(namdb_header_check OBJECT EXCLUDE_FROM_ALL ${namdb_header_sources})
pkg_check_modules(LIBPQ REQUIRED IMPORTED_TARGET libpq)
target_link_libraries(namdb_header_check PRIVATE namdb_options namdb_proto PkgConfig::LIBPQ)
target_compile_options(namdb_header_check PRIVATE -O0 -g0 -Wno-unused)

# A shared library that holds the whole of one static library may have no undefined symbol left.
get_property(namdb_libraries GLOBAL PROPERTY NAMDB_LIBRARIES)
file(WRITE ${CMAKE_BINARY_DIR}/link_check/empty.cc "")
add_custom_target(namdb_link_check)
foreach(library IN LISTS namdb_libraries)
  add_library(${library}_link_check SHARED EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/link_check/empty.cc)
  target_link_libraries(${library}_link_check PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${library}> Threads::Threads)
  target_link_options(${library}_link_check PRIVATE -Wl,--no-undefined)
  add_dependencies(namdb_link_check ${library}_link_check)
endforeach()

# Both build with ninja in this build folder, so only one at a time.
if(NOT NAMDB_SANITIZE)
  namdb_lint_test(header_self_sufficiency ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target namdb_header_check)
  namdb_lint_test(link_closure ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target namdb_link_check)
  set_tests_properties(header_self_sufficiency link_closure PROPERTIES RUN_SERIAL ON)
endif()

# What clang-tidy needs to be there before it reads a source file.
add_custom_target(namdb_generated DEPENDS namdb_proto)
