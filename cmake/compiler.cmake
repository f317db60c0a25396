# Language level, warnings and hardening for every target.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(BELLJAR_TESTS "Build the unit tests" ON)
option(BELLJAR_FUZZ "Build the fuzz targets" OFF)
set(BELLJAR_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize takes them")
option(BELLJAR_COVERAGE "Instrument for coverage" OFF)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Werror)
