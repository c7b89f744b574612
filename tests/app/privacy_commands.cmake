# account, plan and audit as they are typed; the tests reach the app's own headers.
muffle_test(privacy_commands_test LABEL unit
  SOURCES privacy_commands_test.cpp
  ROOMS app core LINK muffle_test_support CLI11::CLI11 nlohmann_json::nlohmann_json)
target_compile_definitions(privacy_commands_test PRIVATE MUFFLE_CONFIGS="${PROJECT_SOURCE_DIR}/configs")
target_include_directories(privacy_commands_test PRIVATE "${PROJECT_SOURCE_DIR}/src")

muffle_test(plan_model_test LABEL unit TORCH
  SOURCES plan_model_test.cpp
  ROOMS app model)
target_include_directories(plan_model_test PRIVATE "${PROJECT_SOURCE_DIR}/src")

if(NOT MUFFLE_SANITIZE)
  muffle_test(plan_memory_test LABEL unit
    SOURCES plan_memory_test.cpp
    ROOMS app train embed comm core LINK muffle_test_support)
  target_compile_definitions(plan_memory_test PRIVATE MUFFLE_CONFIGS="${PROJECT_SOURCE_DIR}/configs")
  target_include_directories(plan_memory_test PRIVATE "${PROJECT_SOURCE_DIR}/src")
endif()

# Stages, run folder and command line, by the app's own headers.
muffle_test(commands_test LABEL unit
  SOURCES stages_test.cpp command_line_test.cpp
  ROOMS app core LINK muffle_test_support CLI11::CLI11)
target_include_directories(commands_test PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(commands_test PRIVATE MUFFLE_CONFIGS="${PROJECT_SOURCE_DIR}/configs")
