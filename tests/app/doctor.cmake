muffle_test(doctor_test LABEL unit SOURCES doctor_test.cpp ROOMS app core)
target_include_directories(doctor_test PRIVATE "${PROJECT_SOURCE_DIR}/src/app")
muffle_test(doctor_thread_test LABEL thread SOURCES doctor_thread_test.cpp
  ROOMS app comm core LINK muffle_test_support nlohmann_json::nlohmann_json)
target_include_directories(doctor_thread_test PRIVATE "${PROJECT_SOURCE_DIR}/src/app")
