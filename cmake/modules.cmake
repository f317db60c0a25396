# One library per folder of src/. A folder can only include what it names here, directly or through
# what it names; tools/check/layers.py checks that the names point down the list in docs/ARCHITECTURE.md.
#
#   belljar_module(policy LINK config execution)
#
# Sources are every *.cpp beside the CMakeLists.txt; *_test.cpp go into one test program per folder.
function(belljar_module name)
  cmake_parse_arguments(MODULE "" "" "LINK;PRECOMPILE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

  add_library(belljar_${name} STATIC ${sources})
  target_include_directories(belljar_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  foreach(link IN LISTS MODULE_LINK)
    if(TARGET belljar_${link})
      target_link_libraries(belljar_${name} PUBLIC belljar_${link})
    else()
      target_link_libraries(belljar_${name} PUBLIC ${link})
    endif()
  endforeach()
  if(MODULE_PRECOMPILE)
    target_precompile_headers(belljar_${name} PRIVATE ${MODULE_PRECOMPILE})
  endif()

  if(tests AND BELLJAR_TESTS)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE belljar_${name} GTest::gtest GTest::gtest_main)
    set_property(GLOBAL APPEND PROPERTY BELLJAR_UNIT_TESTS ${name}_test)
  endif()
endfunction()
