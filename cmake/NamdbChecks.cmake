# Checks of the tree itself, registered with ctest under the label `lint`:
#   link_closure             every library links with nothing but the dependencies it declares; the test builds it
#   lint_*                   tools/dev/lint
# That every header compiles alone is checked by the builds of tools/test. Included last, by the top CMakeLists.txt.

function(namdb_lint_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS lint TIMEOUT 600)
endfunction()

foreach(lint format layering declarations circles banned_calls coroutines error_chains docs prose text lint_test)
  namdb_lint_test(lint_${lint} ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/tools/dev/lint/${lint}.py)
endforeach()
# Each header is checked by some compilation of tools/test.
namdb_lint_test(batches_test ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/batches_test.py)
# tools/test counts passed, failed and skipped cases rightly.
namdb_lint_test(testing_test ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/tools/dev/testing/testing_test.py)

# The targets that building `target` builds: its dependencies and the libraries that it links with, directly and through others.
function(namdb_built_with target result)
  set(built "")
  set(open ${target})
  while(open)
    list(POP_FRONT open one)
    if(NOT TARGET ${one} OR one IN_LIST built)
      continue()
    endif()
    list(APPEND built ${one})
    foreach(property MANUALLY_ADDED_DEPENDENCIES LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(others ${one} ${property})
      if(others)
        list(TRANSFORM others REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
        list(APPEND open ${others})
      endif()
    endforeach()
  endwhile()
  set(${result} ${built} PARENT_SCOPE)
endfunction()

# Each header compiles alone: compiling the batches of tools/test's default steps checks most headers, and checks of their
# own the others, not optimised: only whether they compile matters. The arrangement is the same in every build. So here are
# the batches of each of these steps, whichever this build is for, and whether the step builds their targets.
get_property(namdb_batches GLOBAL PROPERTY NAMDB_BATCHES)
namdb_built_with(namdb_sanitized_tests namdb_built_asan)
namdb_built_with(namdb_threaded_tests namdb_built_tsan)
set(namdb_plan "")
foreach(step release asan tsan)
  foreach(batch IN LISTS namdb_batches)
    string(REGEX MATCH "^([a-z]+)[|]([^|]+)[|](.*)$" matched "${batch}")
    set(target ${CMAKE_MATCH_2})
    set(sources ${CMAKE_MATCH_3})
    if(step STREQUAL "release" AND CMAKE_MATCH_1 STREQUAL "release")
      string(APPEND namdb_plan "release|built|${sources}\n")
    elseif(NOT step STREQUAL "release" AND CMAKE_MATCH_1 STREQUAL "sanitized")
      if(target IN_LIST namdb_built_${step})
        string(APPEND namdb_plan "${step}|built|${sources}\n")
      else()
        string(APPEND namdb_plan "${step}|other|${sources}\n")
      endif()
    endif()
  endforeach()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/batches.txt "${namdb_plan}")
# The step whose batches this build compiles; other presets compile those of their like, or none.
if(NOT NAMDB_COMPILE_TOGETHER)
  set(namdb_step none)
elseif(NOT NAMDB_SANITIZE)
  set(namdb_step release)
elseif(NAMDB_SANITIZE MATCHES "thread")
  set(namdb_step tsan)
else()
  set(namdb_step asan)
endif()
set(namdb_folders common memory compute workloads tools proto)
execute_process(
  COMMAND ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${namdb_step}
    ${namdb_folders}
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
  target_link_options(${library}_link_check PRIVATE -Wl,--no-undefined ${NAMDB_TEST_LINKER})
  add_dependencies(namdb_link_check ${library}_link_check)
endforeach()

# It builds with ninja in this build folder, so nothing else may.
if(NOT NAMDB_SANITIZE)
  namdb_lint_test(link_closure ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target namdb_link_check)
  set_tests_properties(link_closure PROPERTIES RUN_SERIAL ON)
endif()

# The files that must be generated before clang-tidy reads a source file.
add_custom_target(namdb_generated DEPENDS namdb_proto)
