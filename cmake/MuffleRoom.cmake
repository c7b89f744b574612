# muffle_room(NAME [ONE_BY_ONE] SOURCES ... [TORCH_SOURCES ...] [DEPENDS rooms...] [LINK libs...])
# One static library per room, alias muffle::NAME. TORCH_SOURCES are those that include LibTorch. DEPENDS names rooms below;
# LINK names outside libraries. ONE_BY_ONE: compiled file by file under the presets that compile several at once
# (CMAKE_UNITY_BUILD), where that gains little.
function(muffle_room name)
  cmake_parse_arguments(ARG "ONE_BY_ONE" "" "SOURCES;TORCH_SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(muffle_${name} STATIC ${ARG_SOURCES} ${ARG_TORCH_SOURCES})
  if(ARG_ONE_BY_ONE)
    set_target_properties(muffle_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  add_library(muffle::${name} ALIAS muffle_${name})
  # A room sees its own headers and those of the rooms that it links, no others: an include that goes elsewhere does not compile.
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/include/muffle/${name}")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/rooms/${name}/muffle")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/muffle/${name}" "${PROJECT_BINARY_DIR}/rooms/${name}/muffle/${name}" SYMBOLIC)
    target_include_directories(muffle_${name} PUBLIC "${PROJECT_BINARY_DIR}/rooms/${name}")
  endif()
  target_link_libraries(muffle_${name} PUBLIC muffle::flags)
  foreach(d IN LISTS ARG_DEPENDS)
    target_link_libraries(muffle_${name} PUBLIC muffle::${d})
  endforeach()
  target_link_libraries(muffle_${name} PRIVATE ${ARG_LINK})
  if(ARG_TORCH_SOURCES)
    muffle_use_torch(muffle_${name} ${ARG_SOURCES})
  endif()
endfunction()

# Runs of MPI programs under CTest: as root in a container, on fewer cores than ranks, on loopback only. Ranks that mpirun ends
# have 3 s for their last words, not 1 s: other tests share the cores. (Scripts: launch/local-flags.sh.)
set(MUFFLE_MPIEXEC_FLAGS --allow-run-as-root --oversubscribe --bind-to none
    --mca btl self,vader,tcp --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo
    --mca mpi_yield_when_idle 1 --mca odls_base_sigkill_timeout 3 CACHE STRING "flags for mpiexec in tests")

# muffle_test(NAME LABEL unit|thread|stat|e2e|gpu [TORCH] [TWO_GPUS] SOURCES ... ROOMS ... [LINK ...] [TIMEOUT s])
# TWO_GPUS: suites named ...OnTwoGpus are a test of their own, NAME.two_gpus, which is skipped where there are fewer.
function(muffle_test name)
  cmake_parse_arguments(ARG "TORCH;TWO_GPUS" "LABEL;TIMEOUT" "SOURCES;ROOMS;LINK" ${ARGN})
  if(ARG_LABEL STREQUAL gpu)  # says by exit code 77 that there is no GPU
    muffle_test_executable(${name} "muffle_gpu_test_main" ${ARGN})
  else()
    muffle_test_executable(${name} "GTest::gtest_main" ${ARGN})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  if(ARG_TWO_GPUS)
    add_test(NAME ${name} COMMAND ${name} --gtest_filter=-*OnTwoGpus.*)
    add_test(NAME ${name}.two_gpus COMMAND ${name} --gtest_filter=*OnTwoGpus.*)
    set_tests_properties(${name}.two_gpus PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
      ENVIRONMENT MUFFLE_TEST_GPUS=2)
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# muffle_mpi_test(NAME RANKS 1 2 3 4 [LABEL mpi|gpu] [TORCH] SOURCES ... ROOMS ... [TIMEOUT s]): one CTest per size, label mpi.
# tests/support/mpi_main.cpp is the main: it checks the rank count it was promised and tags failures by rank.
function(muffle_mpi_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL;TIMEOUT" "RANKS;SOURCES;ROOMS;LINK" ${ARGN})
  muffle_test_executable(${name} "muffle_mpi_test_main" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL mpi)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  foreach(n IN LISTS ARG_RANKS)
    add_test(NAME ${name}.np${n}
             COMMAND ${MPIEXEC_EXECUTABLE} ${MUFFLE_MPIEXEC_FLAGS} -n ${n} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.np${n} PROPERTIES
      LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} PROCESSORS 2 ENVIRONMENT "MUFFLE_TEST_RANKS=${n}" SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

function(muffle_test_executable name main)
  cmake_parse_arguments(ARG "TORCH;TWO_GPUS" "LABEL;TIMEOUT" "SOURCES;ROOMS;LINK;RANKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  # They compile faster so, and none is timed. (With LibTorch they share a precompiled header, whose level is the rooms'.)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(MUFFLE_SANITIZE AND NOT ARG_TORCH)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  foreach(r IN LISTS ARG_ROOMS)
    target_link_libraries(${name} PRIVATE muffle::${r})
  endforeach()
  target_link_libraries(${name} PRIVATE muffle::flags ${main} GTest::gmock ${ARG_LINK})
  if(ARG_TORCH)
    muffle_use_torch(${name})
  endif()
endfunction()

# muffle_kinds(ROOM FILE.inc SUFFIX [target]): a family's table. Each line MUFFLE_KIND(name) of FILE.inc adds name_SUFFIX.cpp to the
# room (or to the target named), so that a new kind is its file and its line.
function(muffle_kinds room file suffix)
  set(target muffle_${room})
  if(ARGC GREATER 3)
    set(target ${ARGV3})
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  file(STRINGS "${file}" lines REGEX "^MUFFLE_KIND\\([a-z0-9_]+\\)")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^MUFFLE_KIND\\(([a-z0-9_]+)\\).*" "\\1" kind "${line}")
    target_sources(${target} PRIVATE "${kind}_${suffix}.cpp")
  endforeach()
endfunction()
