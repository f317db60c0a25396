# One library per folder of src/. A folder can only include what it names here, directly or through
# what it names; tools/check/layers.py checks that, and that the names point down the list in
# docs/ARCHITECTURE.md.
#
#   belljar_module(policy LINK config execution)
#   belljar_module(transport LINK api mcp PRECOMPILED service JOINED)
#
# Sources are every *.cpp beside the CMakeLists.txt; *_test.cpp go into one test program per folder.
# PRECOMPILED names a set of headers of precompiled.cmake; without, it is `plain`. JOINED is for
# what only the server links: a small program would get more than it needs with a file it needs.
# ONE_THREAD is for what runs in processes that have one and must not have more.
function(belljar_module name)
  cmake_parse_arguments(MODULE "JOINED;ONE_THREAD" "PRECOMPILED" "LINK" ${ARGN})
  if(NOT MODULE_PRECOMPILED)
    set(MODULE_PRECOMPILED plain)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

  if(sources)
    set(scope PUBLIC)
    add_library(belljar_${name} STATIC ${sources})
  else()
    set(scope INTERFACE)
    add_library(belljar_${name} INTERFACE)
  endif()
  target_include_directories(belljar_${name} ${scope} "${CMAKE_SOURCE_DIR}/src")
  belljar_link(belljar_${name} ${scope} ${MODULE_LINK})
  if(sources)
    belljar_use_precompiled(belljar_${name} ${MODULE_PRECOMPILED})
  endif()
  if(sources AND MODULE_JOINED)
    belljar_join(belljar_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY BELLJAR_MODULES ${name})

  if(MODULE_ONE_THREAD AND BELLJAR_SANITIZE STREQUAL "thread")
    set(tests "")
  endif()
  if(tests AND BELLJAR_TESTS)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE belljar_${name} GTest::gtest GTest::gtest_main)
    set_target_properties(${name}_test PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    belljar_use_precompiled_in_test(${name}_test ${MODULE_PRECOMPILED})
    set_property(GLOBAL APPEND PROPERTY BELLJAR_UNIT_TESTS ${name}_test)
  endif()
endfunction()

# Links a program that has one thread with folders of src/. The thread sanitizer starts a thread of
# its own in each process, and who has two gets no user namespace: there it goes without.
function(belljar_link_one_thread program)
  if(NOT BELLJAR_SANITIZE STREQUAL "thread")
    belljar_link(${program} PRIVATE ${ARGN})
    return()
  endif()
  set(sources "")
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp")
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(${program}-parts STATIC ${sources})
  target_include_directories(${program}-parts PUBLIC "${CMAKE_SOURCE_DIR}/src")
  target_compile_options(${program}-parts PUBLIC -fno-sanitize=thread)
  target_link_options(${program} PRIVATE -fno-sanitize=thread)
  target_link_libraries(${program}-parts PUBLIC fmt::fmt Boost::json)
  target_link_libraries(${program} PRIVATE ${program}-parts)
endfunction()

# Compiles several files of a target as one where the preset wants a quick build of everything:
# half of the time of a file goes into templates that its neighbours need as well. Names in their
# unnamed namespaces must differ.
function(belljar_join target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${BELLJAR_JOIN}
    UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Links folders of src/ by their short name and everything else by its own.
function(belljar_link target scope)
  foreach(link IN LISTS ARGN)
    if(TARGET belljar_${link})
      target_link_libraries(${target} ${scope} belljar_${link})
    else()
      target_link_libraries(${target} ${scope} ${link})
    endif()
  endforeach()
endfunction()

# fuzz/<name>_fuzz.cpp becomes the program <name>_fuzz; its corpus is fuzz/corpus/<name>/.
#
#   belljar_fuzz(http_body LINK api access)
#   belljar_fuzz(http_head SOURCES src/transport/http_head.cpp LINK access)
function(belljar_fuzz name)
  cmake_parse_arguments(FUZZ "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM FUZZ_SOURCES PREPEND "${CMAKE_SOURCE_DIR}/")
  add_executable(${name}_fuzz "${name}_fuzz.cpp" ${FUZZ_SOURCES})
  belljar_link(${name}_fuzz PRIVATE ${FUZZ_LINK})
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY BELLJAR_FUZZ_TARGETS ${name}_fuzz)
endfunction()

# Tells tests/support/run_suites.py what there is to run, so that the program of a removed test is
# not run again.
function(belljar_write_test_lists)
  foreach(list IN ITEMS UNIT_TESTS FUZZ_TARGETS)
    get_property(names GLOBAL PROPERTY BELLJAR_${list})
    list(JOIN names "\n" lines)
    string(TOLOWER "${list}" file)
    file(WRITE "${CMAKE_BINARY_DIR}/${file}.txt" "${lines}\n")
  endforeach()
endfunction()
