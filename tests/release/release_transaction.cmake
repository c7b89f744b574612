muffle_test(release_transaction_test LABEL unit
  SOURCES release_transaction_test.cpp
  ROOMS release)

# The transaction in a process of its own, whose system calls fail on demand.
add_executable(release_driver release_driver.cpp)
target_include_directories(release_driver PRIVATE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(release_driver PRIVATE muffle::release)
muffle_faulty_system(release_driver)
target_link_options(release_driver PRIVATE LINKER:--as-needed)  # it is started thousands of times
muffle_test(release_kill_test LABEL e2e
  SOURCES release_kill_test.cpp
  ROOMS release
  TIMEOUT 900)
target_compile_definitions(release_kill_test PRIVATE MUFFLE_RELEASE_DRIVER="$<TARGET_FILE:release_driver>")
add_dependencies(release_kill_test release_driver)
