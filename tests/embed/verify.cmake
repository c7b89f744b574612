muffle_test(verify_test LABEL unit
  SOURCES verification_test.cpp verification_ledger_test.cpp recompute_test.cpp signature_test.cpp
  ROOMS embed privacy comm)
target_include_directories(verify_test PRIVATE "${PROJECT_SOURCE_DIR}/src/embed")
