# Sanitizers keep freed memory for a while, so peaks mean nothing under them.
if(NOT MUFFLE_SANITIZE)
  muffle_test_executable(memory_test GTest::gtest SOURCES memory_test.cpp ROOMS embed features data privacy core LINK ZLIB::ZLIB)
  add_test(NAME memory_test COMMAND memory_test)
  set_tests_properties(memory_test PROPERTIES LABELS unit TIMEOUT 300)
endif()
