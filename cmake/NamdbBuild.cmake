# How a namdb target is built: flags, sanitizers, compiler cache, and the two functions that every
# folder's CMakeLists.txt uses. Nothing here depends on the machine that builds (no -march=native).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
# Debian's own, which has python3-psycopg: lints and end-to-end tests.
find_program(NAMDB_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)

set(NAMDB_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")

# The compiler cache works across clones: paths below the source folder are relative to it (base_dir), and the build
# folder's name does not count. Its keys come from the files that the compiler names as dependencies (depend mode) and not
# from the preprocessor's output, which saves a run of the preprocessor for each file that is not in the cache.
find_program(NAMDB_CCACHE ccache)
find_program(NAMDB_ENV env REQUIRED)
if(NAMDB_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${NAMDB_ENV} CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=true CCACHE_DEPEND=true
    ${NAMDB_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

add_library(namdb_options INTERFACE)
target_include_directories(namdb_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(namdb_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wnon-virtual-dtor -Werror)
# Debuggers and reports find sources relative to the source folder, whichever clone filled the compiler cache.
target_compile_options(namdb_options INTERFACE $<$<CONFIG:Release>:-g1> -fno-omit-frame-pointer
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
# cmpxchg16b is not needed; AVX2 dispatch is left to the libraries that do it at run time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives of these in inlined standard-library code.
  target_compile_options(namdb_options INTERFACE -fcoroutines -Wno-maybe-uninitialized -Wno-array-bounds
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -Wno-free-nonheap-object)
endif()
if(NAMDB_SANITIZE)
  # Reports name functions and lines; more for a debugger costs a third of the time to compile.
  target_compile_options(namdb_options INTERFACE -fsanitize=${NAMDB_SANITIZE} -fno-sanitize-recover=all
    -gline-tables-only)
  if(NAMDB_SANITIZE MATCHES "address.*undefined")
    # The address sanitizer reports what these would, where the memory is touched. Files of the product compile up to a
    # quarter faster without them, test files no faster.
    target_compile_options(namdb_options INTERFACE -fno-sanitize=null,object-size,pointer-overflow)
  endif()
  target_link_options(namdb_options INTERFACE -fsanitize=${NAMDB_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(namdb_options INTERFACE -fuse-ld=lld)
endif()

# g++ links tests by lld as well, where it is there: a program takes a tenth of a second rather than one to three. The
# system's linker links all that users run.
set(NAMDB_TEST_LINKER "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(NAMDB_LLD ld.lld PATHS /usr/lib/llvm-19/bin NO_DEFAULT_PATH)
  if(NAMDB_LLD)
    cmake_path(GET NAMDB_LLD PARENT_PATH namdb_lld_folder)
    set(NAMDB_TEST_LINKER -B${namdb_lld_folder}/ -fuse-ld=lld)
  endif()
endif()

# Most of the time to compile goes into headers. So the files of a target are compiled together, some at a time: more of
# a library in sanitizer builds, which are made whole and seldom. Files that define
# names which others of their target define as well, each for itself, are named after APART and compiled alone; test files
# rather have a namespace each, named after the file. The debug preset compiles all files alone: clang-tidy looks at its
# list of them.
option(NAMDB_COMPILE_TOGETHER "Compile files of a target together" ON)
set(NAMDB_TOOLS ${CMAKE_SOURCE_DIR}/tools)
set(NAMDB_BATCH 8)
set(NAMDB_SANITIZED_BATCH 16)
set(NAMDB_PARTITION release)
if(NAMDB_SANITIZE)
  set(NAMDB_PARTITION sanitized)
endif()

# For tests and programs whose speed does not matter: two thirds of the time to compile. Chains of coroutines need tail calls.
set(NAMDB_LESS_OPTIMISED "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(NAMDB_LESS_OPTIMISED $<$<CONFIG:Release>:-O1;-foptimize-sibling-calls>)
endif()

# For code that runs once and is full of templates. Files of flags in all builds; whole libraries under sanitizers only, where
# it is a third of the time to compile.
set(NAMDB_FLAGS_OPTIMISED -O1)
set(NAMDB_UNOPTIMISED "")
if(NAMDB_SANITIZE)
  set(NAMDB_FLAGS_OPTIMISED -O0)
  set(NAMDB_UNOPTIMISED -O0)
endif()

# All test programs; those in which sanitizers may find something; those that the thread sanitizer runs; and those that run
# in the virtual machine.
add_custom_target(namdb_tests)
add_custom_target(namdb_sanitized_tests)
add_custom_target(namdb_threaded_tests)
add_custom_target(namdb_verbs_tests)

# Adds `sources` to `target`: those of `apart` alone, and for each `size` of the others a file that includes them; a second
# number in `sizes` is for sanitizer builds. cmake/batches.py writes these files when all targets are known
# (NamdbChecks.cmake), from the lines of the property NAMDB_BATCHES: `PARTITION|TARGET|FILE|SOURCE|SOURCE...`, without FILE
# for a source that is compiled alone. Every build has the lines of both partitions, `release` and `sanitized`, since
# headers that one checks need no check in the other. The lines name sources by their paths in the tree, so that the
# compiler cache knows them in every clone (those of CMake's UNITY_BUILD have the clone's path in them).
function(namdb_sources target sizes sources apart)
  set(files ${sources})
  list(REMOVE_ITEM files ${apart})
  if(NAMDB_COMPILE_TOGETHER)
    target_sources(${target} PRIVATE ${apart})
  else()
    target_sources(${target} PRIVATE ${apart} ${files})
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
  list(TRANSFORM files PREPEND ${folder}/)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE built_folder)
  list(LENGTH files count)
  foreach(partition release sanitized)
    foreach(source IN LISTS apart)
      set_property(GLOBAL APPEND PROPERTY NAMDB_BATCHES "${partition}|${target}||${folder}/${source}")
    endforeach()
    if(partition STREQUAL "release")
      list(GET sizes 0 size)
    else()
      list(GET sizes -1 size)
    endif()
    set(number 0)
    set(begin 0)
    while(begin LESS count)
      list(SUBLIST files ${begin} ${size} batch)
      set(file ${built_folder}/${target}.batch/${number}.cc)
      list(JOIN batch "|" line)
      set_property(GLOBAL APPEND PROPERTY NAMDB_BATCHES "${partition}|${target}|${file}|${line}")
      if(NAMDB_COMPILE_TOGETHER AND partition STREQUAL NAMDB_PARTITION)
        target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/${file})
      endif()
      math(EXPR number "${number} + 1")
      math(EXPR begin "${begin} + ${size}")
    endwhile()
  endforeach()
  if(NAMDB_COMPILE_TOGETHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes the anonymous namespaces of files that are compiled as one for those of a header.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# namdb_library(NAME SOURCES a.cc ... APART a.cc ... PUBLIC libs PRIVATE libs)
# PUBLIC holds only what the library's own headers include.
function(namdb_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART;PUBLIC;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC)
    cmake_path(IS_PREFIX NAMDB_TOOLS ${CMAKE_CURRENT_SOURCE_DIR} tool)
    set(sizes ${NAMDB_BATCH})
    if(NOT tool)
      list(APPEND sizes ${NAMDB_SANITIZED_BATCH})
    endif()
    namdb_sources(${name} "${sizes}" "${ARG_SOURCES}" "${ARG_APART}")
    set_property(GLOBAL APPEND PROPERTY NAMDB_LIBRARIES ${name})
    target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE namdb_options ${ARG_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_PUBLIC})
  endif()
endfunction()

# namdb_executable(NAME SOURCES main.cc ... APART a.cc ... LIBRARIES libs)
function(namdb_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART;LIBRARIES" ${ARGN})
  add_executable(${name})
  namdb_sources(${name} ${NAMDB_BATCH} "${ARG_SOURCES}" "${ARG_APART}")
  target_link_libraries(${name} PRIVATE namdb_options ${ARG_LIBRARIES})
endfunction()

# namdb_test(NAME SOURCES x_test.cc ... APART x_test.cc ... LIBRARIES libs LABELS labels PARTS SUFFIX=SPEC ... COST seconds)
# One Catch2 program per folder, registered with ctest under its name. Labels (docs/testing.md): `threaded` selects what
# the thread sanitizer runs, `plain` is of no use under sanitizers, `long` and `whole` are for `tools/test --all` only.
# A part is a share of the program's cases, by tag, that ctest runs by itself as NAME-without-_test_SUFFIX, beside others;
# the program's own name then has the rest. Expensive ones begin first: COST.
function(namdb_test name)
  cmake_parse_arguments(ARG "" "COST" "SOURCES;APART;LIBRARIES;LABELS;PARTS" ${ARGN})
  add_executable(${name})
  namdb_sources(${name} ${NAMDB_BATCH} "${ARG_SOURCES}" "${ARG_APART}")
  target_link_libraries(${name} PRIVATE namdb_options namdb_base_testing ${ARG_LIBRARIES})
  target_compile_options(${name} PRIVATE ${NAMDB_LESS_OPTIMISED})
  target_link_options(${name} PRIVATE ${NAMDB_TEST_LINKER})
  add_dependencies(namdb_tests ${name})
  if(NOT "plain" IN_LIST ARG_LABELS)
    add_dependencies(namdb_sanitized_tests ${name})
  endif()
  if("threaded" IN_LIST ARG_LABELS)
    add_dependencies(namdb_threaded_tests ${name})
  endif()
  set(tests "")
  set(rest "")
  if(ARG_PARTS)
    set(rest "~[.]")  # hidden cases are in the rest of anything, unless it says that they are not
  endif()
  string(REGEX REPLACE "_test$" "" stem ${name})
  foreach(part IN LISTS ARG_PARTS)
    string(REGEX MATCH "^([a-z_]+)=(.+)$" matched "${part}")
    set(spec "${CMAKE_MATCH_2}")
    add_test(NAME ${stem}_${CMAKE_MATCH_1} COMMAND ${name} ${spec} --durations yes)
    list(APPEND tests ${stem}_${CMAKE_MATCH_1})
    string(APPEND rest "~${spec}")
  endforeach()
  add_test(NAME ${name} COMMAND ${name} ${rest} --durations yes)
  list(APPEND tests ${name})
  set_tests_properties(${tests} PROPERTIES TIMEOUT 600 LABELS "${ARG_LABELS}")
  if(ARG_COST)
    set_tests_properties(${tests} PROPERTIES COST ${ARG_COST})
  endif()
  if(NAMDB_SANITIZE)
    # Sanitizers make everything longer, and look for mistakes that most seeds would show: of many seeds they run a share.
    set_tests_properties(${tests} PROPERTIES TIMEOUT 1200 ENVIRONMENT NAMDB_SEED_DIVISOR=5)
  endif()
endfunction()

# A test that needs RDMA runs in a virtual machine of its own (verbs-vm). It is skipped, with the reason printed, where the
# machine is not available.
# namdb_verbs_vm_test(NAME COMMAND-IN-THE-MACHINE...)
function(namdb_verbs_vm_test name)
  # Sanitizers make everything longer, and larger.
  set(timeout 900)
  set(size --timeout 800)
  if(NAMDB_SANITIZE)
    set(timeout 1800)
    set(size --timeout 1700 --memory 3072)
  endif()
  add_test(NAME ${name} COMMAND ${NAMDB_PYTHON} ${CMAKE_SOURCE_DIR}/tools/dev/verbs-vm --skip-unavailable
    ${size} --logs ${CMAKE_BINARY_DIR}/verbs-vm/${name} ${ARGN})
  # Emulation takes whole cores, and two machines beside each other take longer than one after the other.
  set_tests_properties(${name} PROPERTIES LABELS verbs TIMEOUT ${timeout} SKIP_RETURN_CODE 77 PROCESSORS 2 RESOURCE_LOCK verbs_vm)
endfunction()
