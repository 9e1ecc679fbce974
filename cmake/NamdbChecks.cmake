# Checks of the tree itself, registered with ctest under the label `lint`:
#   link_closure             every library links with nothing but the dependencies it declares; the test builds it
#   lint_*                   tools/dev/lint
# That every header compiles alone is checked by the build. Included last, by the top CMakeLists.txt.

function(namdb_lint_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS lint TIMEOUT 600)
endfunction()

foreach(lint format layering circles banned_calls coroutines docs prose text lint_test)
  namdb_lint_test(lint_${lint} ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/tools/dev/lint/${lint}.py)
endforeach()
# Each header is checked by some compilation.
namdb_lint_test(batches_test ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/batches_test.py)
# tools/test counts passed, failed and skipped cases rightly.
namdb_lint_test(testing_test ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/tools/dev/testing/testing_test.py)

# Each header compiles alone: compiling the batches checks most headers, and checks of their own the others. Not optimised:
# only whether they compile matters.
get_property(namdb_batches GLOBAL PROPERTY NAMDB_BATCHES)
list(JOIN namdb_batches "\n" namdb_batches)
file(WRITE ${CMAKE_BINARY_DIR}/batches.txt "${namdb_batches}\n")
set(namdb_folders common memory compute workloads tools proto)
execute_process(
  COMMAND ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/batches.txt
    ${CMAKE_BINARY_DIR}/header_check ${namdb_folders}
  OUTPUT_VARIABLE namdb_header_sources COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n" ";" namdb_header_sources "${namdb_header_sources}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/batches.py)
# A header that comes or goes.
list(TRANSFORM namdb_folders APPEND "/*.h" OUTPUT_VARIABLE namdb_header_patterns)
file(GLOB_RECURSE namdb_headers CONFIGURE_DEPENDS ${namdb_header_patterns})
if(NAMDB_SANITIZE)
  add_library(namdb_header_check OBJECT EXCLUDE_FROM_ALL ${namdb_header_sources})
else()
  add_library(namdb_header_check OBJECT ${namdb_header_sources})
endif()
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

# It builds with ninja in this build folder, so nothing else may.
if(NOT NAMDB_SANITIZE)
  namdb_lint_test(link_closure ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target namdb_link_check)
  set_tests_properties(link_closure PROPERTIES RUN_SERIAL ON)
endif()

# The files that must be generated before clang-tidy reads a source file.
add_custom_target(namdb_generated DEPENDS namdb_proto)
