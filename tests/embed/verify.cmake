muffle_test(verify_test LABEL unit
  SOURCES verification_test.cpp signature_test.cpp
  ROOMS embed privacy comm)
target_include_directories(verify_test PRIVATE "${PROJECT_SOURCE_DIR}/src/embed")
