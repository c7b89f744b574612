muffle_test(slurm_test LABEL unit SOURCES slurm_test.cpp ROOMS app core LINK muffle_test_support)
target_compile_definitions(slurm_test PRIVATE MUFFLE_CONFIGS="${PROJECT_SOURCE_DIR}/configs"
  MUFFLE_CLUSTER="${PROJECT_SOURCE_DIR}/cluster")
