# muffle::flags: what every target of ours is compiled with.
add_library(muffle_flags INTERFACE)
add_library(muffle::flags ALIAS muffle_flags)
target_compile_options(muffle_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor>
  # GCC 12 warns of overlapping copies inside std::string operator+ (GCC bug 105329).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>
  # The same bits on every machine: a multiply and an add are fused only where the code says fma.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${MUFFLE_WERROR}>>:-Werror>)
if(MUFFLE_SANITIZE)
  string(REPLACE "," ";" sanitizers "${MUFFLE_SANITIZE}")
  foreach(s IN LISTS sanitizers)
    target_compile_options(muffle_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${s}>)
    target_link_options(muffle_flags INTERFACE -fsanitize=${s})
  endforeach()
  target_compile_options(muffle_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  # Of clang's, the preset of every day: without what another check finds, too (a null pointer's use ends the program), or what finds nothing
  # without optimisation; a quarter of the build's time. GCC's (asan-all) are whole.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND "undefined" IN_LIST sanitizers)
    target_compile_options(muffle_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,vptr>
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/support/others.ignore>)
  endif()
  target_compile_definitions(muffle_flags INTERFACE MUFFLE_SANITIZED=1)
endif()
if(MUFFLE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MUFFLE_FUZZ needs clang and its libFuzzer: cmake --preset asan (packages clang, libclang-rt-dev)")
  endif()
  target_compile_options(muffle_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  target_include_directories(muffle_flags BEFORE INTERFACE "${PROJECT_SOURCE_DIR}/tests/fuzz/clang14")
endif()

find_program(MUFFLE_CCACHE ccache)
if(MUFFLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${MUFFLE_CCACHE})
endif()

if(NOT MUFFLE_TORCH)
  return()
endif()

# muffle::torch: LibTorch with its headers as system headers; one precompiled header shared by all users.
add_library(muffle_torch INTERFACE)
add_library(muffle::torch ALIAS muffle_torch)
# LibTorch 2.x ships headers of an fmt of its own; spdlog's and ours must come first.
get_target_property(muffle_fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
list(GET muffle_fmt_include 0 muffle_fmt_include)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/fmt_first")
file(CREATE_LINK "${muffle_fmt_include}/fmt" "${CMAKE_BINARY_DIR}/fmt_first/fmt" SYMBOLIC)
target_include_directories(muffle_torch BEFORE INTERFACE "${CMAKE_BINARY_DIR}/fmt_first")
target_include_directories(muffle_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# PyTorch's wheels export parts of an old std::filesystem (remove_all calls a null pointer): the system's must come first.
if(Torch_VERSION VERSION_GREATER_EQUAL 2)
  target_link_options(muffle_torch INTERFACE "LINKER:--no-as-needed" -lstdc++ "LINKER:--as-needed")
endif()
target_link_libraries(muffle_torch INTERFACE ${TORCH_LIBRARIES})
separate_arguments(muffle_torch_cxx_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(muffle_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${muffle_torch_cxx_flags}>)
if(MUFFLE_PCH)
  target_compile_options(muffle_torch INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>)
  file(WRITE "${CMAKE_BINARY_DIR}/muffle_pch.cpp" "// carries the precompiled torch header\n")
  add_library(muffle_pch OBJECT "${CMAKE_BINARY_DIR}/muffle_pch.cpp")
  target_link_libraries(muffle_pch PRIVATE muffle::flags muffle::torch OpenMP::OpenMP_CXX)
  target_precompile_headers(muffle_pch PRIVATE <torch/torch.h>)
endif()

# muffle_use_torch(target [sources that do not include it...]): compile the target's sources against LibTorch
# (private: torch stays out of the interface of rooms that hide it). Loading the precompiled header takes seconds.
# A program with the property MUFFLE_WITHOUT_TORCH needs none of these sources, and is linked without.
function(muffle_use_torch target)
  target_link_libraries(${target} PRIVATE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MUFFLE_WITHOUT_TORCH>>>:muffle::torch> OpenMP::OpenMP_CXX)
  if(MUFFLE_PCH)
    target_precompile_headers(${target} REUSE_FROM muffle_pch)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Debian's LibTorch asks for OpenCV and FFmpeg, and calls nothing of them. With what they need they are 190 of the 300 libraries that a
# program with LibTorch loads, and nearly half of the second of processor time that its start takes. Tests start hundreds: theirs find an
# empty library by those names first. What is installed has the real ones, and e2e.install runs it so.
find_library(muffle_torch_cpu torch_cpu HINTS "${TORCH_INSTALL_PREFIX}/lib" NO_CACHE)
if(MUFFLE_TESTS AND muffle_torch_cpu AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  execute_process(COMMAND ldd -u "${muffle_torch_cpu}" OUTPUT_VARIABLE unused ERROR_QUIET)
  string(REGEX MATCHALL "lib(opencv_|av|sw)[a-z0-9_]+\\.so\\.[0-9]+" unused "${unused}")
  if(unused)
    set(MUFFLE_IDLE_LIBRARIES "${CMAKE_BINARY_DIR}/idle")
    file(MAKE_DIRECTORY "${MUFFLE_IDLE_LIBRARIES}")
    file(WRITE "${CMAKE_BINARY_DIR}/idle.cpp" "// empty\n")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -shared -o "${MUFFLE_IDLE_LIBRARIES}/empty.so" "${CMAKE_BINARY_DIR}/idle.cpp" COMMAND_ERROR_IS_FATAL ANY)
    foreach(library IN LISTS unused)
      file(CREATE_LINK empty.so "${MUFFLE_IDLE_LIBRARIES}/${library}" SYMBOLIC)
    endforeach()
  endif()
endif()
