# The build rules every module shares.
#
#   hekla_module(name DEPS other modules... LIBS third-party targets... [COLD rooms...] [TEST_DEPS ...])
#     builds hekla_<name> from every *.cpp below the calling directory except *_test.cpp, and, with
#     HEKLA_TESTS, one test program <name>_test from the *_test.cpp files. COLD names the folders whose
#     optimisation no benchmark notices ("." is the whole module): a release build takes -O1 for them,
#     a fifth less to compile.
#
#   hekla_table(target DIR d TYPE t PREFIX p HEADER h FUNCTION f)
#     one file per plugin and no list to edit: writes a source with `std::span<const T* const> f()`
#     over the symbols `p<file name>` of every *.cpp in d, in alphabetical order. A file that does
#     not export its symbol is a link error.
#
#   hekla_mutants(name [MODULE m] SOURCES s... MUTATED m... TESTS t... LIBS l...)
#     for `make mutants`.

find_package(Threads REQUIRED)

set(HEKLA_WARNINGS -w)  # clang builds for the sanitizers only; g++ is the judge
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(HEKLA_WARNINGS -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -Wno-psabi)
  # The flow-based warnings of g++ 12 have false alarms inside its own std::string and std::variant at -O2.
  list(APPEND HEKLA_WARNINGS -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overread
       -Wno-stringop-overflow -Wno-array-bounds)
  # In a unity build every .cpp is an included file, so this warning would forbid file-local types.
  if(CMAKE_UNITY_BUILD)
    list(APPEND HEKLA_WARNINGS -Wno-subobject-linkage)
  endif()
endif()

add_library(hekla_flags INTERFACE)
target_compile_options(hekla_flags INTERFACE ${HEKLA_WARNINGS})
target_include_directories(hekla_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(hekla_flags INTERFACE BOOST_ASIO_NO_DEPRECATED
                           BOOST_ASIO_DISABLE_BOOST_COROUTINE)
if(HEKLA_SANITIZE)
  # A finding ends the program: one that is only printed would not fail a test.
  target_compile_options(hekla_flags INTERFACE -fsanitize=${HEKLA_SANITIZE} -fno-sanitize-recover=undefined
                         -fno-omit-frame-pointer)
  target_link_options(hekla_flags INTERFACE -fsanitize=${HEKLA_SANITIZE})
endif()
find_program(HEKLA_MOLD mold)
if(HEKLA_MOLD)
  target_link_options(hekla_flags INTERFACE -fuse-ld=mold)
endif()
set(HEKLA_COMPILE_LOG "" CACHE FILEPATH "compile without ccache and write each object's cost there (make build-times)")
find_program(HEKLA_CCACHE ccache)
if(HEKLA_COMPILE_LOG)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/tools/build_times --compile ${HEKLA_COMPILE_LOG})
elseif(HEKLA_CCACHE)
  # ccache caches users of a precompiled header only when told that this is safe.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${HEKLA_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(hekla_flags INTERFACE -fpch-preprocess)
  endif()
endif()

# The standard headers, precompiled once and reused by every module; in a unity build, which is made from
# nothing and not again and again, also the third-party headers that most files see anyway.
set(HEKLA_PRECOMPILED
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <deque> <expected>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <tuple>
  <unordered_map> <unordered_set> <utility> <variant> <vector>)
if(CMAKE_UNITY_BUILD)
  list(APPEND HEKLA_PRECOMPILED <boost/json/value.hpp> <boost/json/object.hpp> <boost/json/array.hpp>
       <boost/json/string.hpp> <boost/unordered/unordered_flat_map.hpp>
       <boost/container/small_vector.hpp> <boost/container/static_vector.hpp> <boost/describe.hpp>)
endif()
function(hekla_precompiled name)
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp "")
  add_library(hekla_${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(hekla_${name} PRIVATE hekla_flags Threads::Threads)
  target_precompile_headers(hekla_${name} PRIVATE ${ARGN})
endfunction()
hekla_precompiled(pch ${HEKLA_PRECOMPILED})
# The crash tests of the store take ten times as long under a sanitizer, which is a quarter of an hour on a busy machine.
set(HEKLA_TEST_TIMEOUT 900)
if(HEKLA_SANITIZE)
  set(HEKLA_TEST_TIMEOUT 3600)
endif()
# Test code itself is not optimised, what it tests is: a third less to wait for. CMAKE_CXX_FLAGS_RELEASE has the
# level of everything else; -O0 there is meant for all.
set(HEKLA_TEST_OPTIONS "")
set(HEKLA_COLD_OPTIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(HEKLA_TEST_OPTIONS -O0)
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O2")
    set(HEKLA_COLD_OPTIONS -O1)
  endif()
endif()
if(CMAKE_UNITY_BUILD AND HEKLA_TESTS)
  find_package(GTest REQUIRED)
  hekla_precompiled(test_pch ${HEKLA_PRECOMPILED} <gtest/gtest.h>)
  target_link_libraries(hekla_test_pch PRIVATE GTest::gtest)
  target_compile_options(hekla_test_pch PRIVATE ${HEKLA_TEST_OPTIONS})
endif()

# With CMAKE_UNITY_BUILD: compiles the target's files in the groups that tools/unity_groups finds.
function(hekla_unity target)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "^\\$<")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/unity_groups ${sources}
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                  OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${groups}" groups)
  string(REPLACE "\n" "|" groups "${groups}")
  string(REPLACE ";" "," groups "${groups}")
  string(REPLACE "|" ";" groups "${groups}")
  foreach(entry ${groups})
    string(REPLACE "," ";" entry "${entry}")
    list(GET entry 0 file)
    list(GET entry 1 group)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

function(hekla_target target)
  hekla_unity(${target})
  target_link_libraries(${target} PUBLIC hekla_flags Threads::Threads)
  if(TARGET hekla_test_pch AND target MATCHES "_test$")
    target_compile_options(${target} PRIVATE ${HEKLA_TEST_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM hekla_test_pch)
  else()
    target_precompile_headers(${target} REUSE_FROM hekla_pch)
  endif()
endfunction()

function(hekla_module name)
  cmake_parse_arguments(M "" "" "DEPS;LIBS;COLD;TEST_DEPS;GENERATED" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)
    set(sources ${CMAKE_BINARY_DIR}/pch.cpp)
  endif()
  list(TRANSFORM M_DEPS PREPEND hekla_)
  set(cold_objects "")
  if(M_COLD AND NOT M_COLD STREQUAL "." AND HEKLA_COLD_OPTIONS)
    string(REPLACE ";" "|" rooms "${M_COLD}")
    set(cold ${sources})
    list(FILTER cold INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${rooms})/")
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${rooms})/")
    add_library(hekla_${name}_cold OBJECT ${cold})
    hekla_target(hekla_${name}_cold)
    target_compile_options(hekla_${name}_cold PRIVATE ${HEKLA_COLD_OPTIONS})
    target_link_libraries(hekla_${name}_cold PUBLIC ${M_DEPS} ${M_LIBS})
    set(cold_objects $<TARGET_OBJECTS:hekla_${name}_cold>)
  endif()
  add_library(hekla_${name} STATIC ${sources} ${M_GENERATED} ${cold_objects})
  hekla_target(hekla_${name})
  if(M_COLD STREQUAL ".")
    target_compile_options(hekla_${name} PRIVATE ${HEKLA_COLD_OPTIONS})
  endif()
  target_link_libraries(hekla_${name} PUBLIC ${M_DEPS} ${M_LIBS})
  if(HEKLA_TESTS AND tests)
    find_package(GTest REQUIRED)
    add_executable(${name}_test ${tests})
    hekla_target(${name}_test)
    target_link_libraries(${name}_test PRIVATE hekla_${name} ${M_TEST_DEPS} GTest::gtest GTest::gmock
                          GTest::gtest_main)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${HEKLA_TEST_TIMEOUT})
    add_dependencies(tests ${name}_test)
  endif()
endfunction()

# The program <name>_mutants, built only when asked for: the tests over the sources, in which MUTATED ones
# can be crippled one place at a time (tools/mutate).
function(hekla_mutants name)
  cmake_parse_arguments(M "" "MODULE" "SOURCES;MUTATED;TESTS;LIBS" ${ARGN})
  if(NOT HEKLA_TESTS)
    return()
  endif()
  if(NOT M_MODULE)
    set(M_MODULE ${name})
  endif()
  set(mutants "")
  foreach(source ${M_MUTATED})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    set(mutant ${CMAKE_BINARY_DIR}/mutants/${path})
    add_custom_command(OUTPUT ${mutant} COMMAND ${CMAKE_SOURCE_DIR}/tools/mutate ${path} ${mutant}
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                       DEPENDS ${source} ${CMAKE_SOURCE_DIR}/tools/mutate)
    list(APPEND mutants ${mutant})
  endforeach()
  # Without unity the module's library fills in the other files; with it a member holds several.
  set(others hekla_${M_MODULE})
  if(CMAKE_UNITY_BUILD)
    set(others "")
    list(REMOVE_ITEM M_SOURCES ${M_MUTATED})
    list(APPEND mutants ${M_SOURCES})
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name}_mutants EXCLUDE_FROM_ALL ${mutants} ${M_TESTS})
  target_link_libraries(${name}_mutants PRIVATE hekla_flags Threads::Threads ${others} ${M_LIBS} GTest::gtest
                        GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name}_mutants REUSE_FROM hekla_pch)
  set_target_properties(${name}_mutants PROPERTIES UNITY_BUILD OFF
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

function(hekla_table)
  cmake_parse_arguments(T "" "OUTPUT;DIR;TYPE;PREFIX;HEADER;FUNCTION;NAMESPACE" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${T_DIR} ${T_DIR}/*.cpp)
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$")
  list(SORT files)
  set(externs "")
  set(entries "")
  set(count 0)
  foreach(file ${files})
    string(REGEX REPLACE "\\.cpp$" "" stem ${file})
    string(APPEND externs "extern const ${T_TYPE} ${T_PREFIX}${stem};\n")
    string(APPEND entries "    &${T_PREFIX}${stem},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${T_OUTPUT} CONTENT
"// Generated by cmake/HeklaModule.cmake from the file names in @T_DIR@.
#include <array>
#include \"@T_HEADER@\"
namespace @T_NAMESPACE@ {
@externs@
std::span<const @T_TYPE@* const> @T_FUNCTION@() {
  static constexpr std::array<const @T_TYPE@*, @count@> table{{
@entries@  }};
  return table;
}
}  // namespace @T_NAMESPACE@
" @ONLY)
endfunction()

# The documents of api/FOLDER as raw string literals, in FOLDER.cpp: `FUNCTION`() of HEADER, in NAMESPACE.
function(hekla_documents folder header function namespace)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/api/${folder}/*.yaml)
  list(SORT files)
  set(literals "")
  set(count 0)
  foreach(path ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    string(APPEND literals "    R\"hekla(${text})hekla\",\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${folder}.cpp CONTENT
"// Generated from api/@folder@.
#include \"@header@\"
#include <array>
namespace @namespace@ {
std::span<const std::string_view> @function@() {
  static constexpr std::array<std::string_view, @count@> documents{{
@literals@  }};
  return documents;
}
}  // namespace @namespace@
" @ONLY)
endfunction()

enable_testing()
add_custom_target(tests)  # every program that ctest runs, and nothing else
