# Headers that most files include are parsed once and not once for each file: `plain` for every
# folder, `service` for those that wait for things and speak JSON. Tests have the same with
# GoogleTest. They are not optimised, since each is compiled more often than it runs.
#
# A file still includes what it uses: ./dev check compiles without these.
set(BELLJAR_PLAIN <algorithm> <array> <cerrno> <chrono> <cstdint> <functional> <map> <memory>
  <optional> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
set(BELLJAR_SERVICE ${BELLJAR_PLAIN} <boost/asio/any_io_executor.hpp> <boost/asio/awaitable.hpp>
  <boost/asio/redirect_error.hpp> <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>
  <boost/json.hpp>)
set(BELLJAR_FOR_TESTS <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp> <gtest/gtest.h>)
set(BELLJAR_TEST_OPTIONS "")
if(NOT BELLJAR_SANITIZE AND NOT BELLJAR_COVERAGE)
  set(BELLJAR_TEST_OPTIONS -O0 -U_FORTIFY_SOURCE)
endif()

# belljar_precompile(plain_tests <algorithm> ...)
function(belljar_precompile name)
  add_library(belljar_precompiled_${name} OBJECT "${CMAKE_SOURCE_DIR}/cmake/precompiled.cpp")
  target_link_libraries(belljar_precompiled_${name} PRIVATE fmt::fmt Boost::json)
  target_precompile_headers(belljar_precompiled_${name} PRIVATE ${ARGN})
endfunction()

# belljar_use_precompiled(belljar_api service)
function(belljar_use_precompiled target name)
  target_precompile_headers(${target} REUSE_FROM belljar_precompiled_${name})
endfunction()

# belljar_use_precompiled_in_test(api_test service): the flags have to be those of the headers.
function(belljar_use_precompiled_in_test target name)
  target_compile_options(${target} PRIVATE ${BELLJAR_TEST_OPTIONS})
  belljar_use_precompiled(${target} ${name}_tests)
endfunction()

belljar_precompile(plain ${BELLJAR_PLAIN})
belljar_precompile(service ${BELLJAR_SERVICE})
if(BELLJAR_TESTS)
  find_package(GTest REQUIRED)
  belljar_precompile(plain_tests ${BELLJAR_PLAIN} <gtest/gtest.h>)
  belljar_precompile(service_tests ${BELLJAR_SERVICE} ${BELLJAR_FOR_TESTS})
  foreach(name IN ITEMS plain_tests service_tests)
    target_link_libraries(belljar_precompiled_${name} PRIVATE GTest::gtest)
    target_compile_options(belljar_precompiled_${name} PRIVATE ${BELLJAR_TEST_OPTIONS})
  endforeach()
endif()
