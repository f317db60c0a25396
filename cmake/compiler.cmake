# Language level, warnings, instrumentation and hardening for every target.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(BELLJAR_APPS "Build the programs" ON)
option(BELLJAR_TESTS "Build the unit tests" ON)
option(BELLJAR_FUZZ "Build the fuzz targets" OFF)
option(BELLJAR_HARDEN "Compile and link with the hardening flags of a release" OFF)
option(BELLJAR_JOIN "Compile several files as one: quicker for all, slower for one" OFF)
option(BELLJAR_COVERAGE "Instrument for coverage" OFF)
set(BELLJAR_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize takes them")

set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Werror)
add_compile_definitions(_GLIBCXX_ASSERTIONS)

# There are no shared libraries: everything is position-independent code of one executable. One
# setting for libraries and programs also lets a test share the precompiled header of its folder.
add_compile_options(-fPIE)
add_link_options(-pie -fuse-ld=lld -Wl,--as-needed)

find_program(BELLJAR_CCACHE ccache)
if(BELLJAR_CCACHE)
  # ccache takes a precompiled header only if the compiler leaves the time out of it and ccache
  # may ignore the macros that are defined but not used in it.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${BELLJAR_CCACHE})
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

if(BELLJAR_HARDEN)
  add_compile_options(
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
    -fstack-protector-strong
    -fstack-clash-protection
    -ftrivial-auto-var-init=zero)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    add_compile_options(-fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    add_compile_options(-mbranch-protection=standard)
  endif()
  add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)
endif()

if(BELLJAR_SANITIZE)
  add_compile_options(-fsanitize=${BELLJAR_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BELLJAR_SANITIZE})
endif()
if(BELLJAR_FUZZ AND NOT BELLJAR_APPS)
  # The programs cannot be linked with this: it needs libFuzzer's main().
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(BELLJAR_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
