muffle_test(site_keys_test LABEL unit SOURCES site_keys_test.cpp ROOMS comm)
muffle_test(secure_sum_thread_test LABEL thread
  SOURCES secure_sum_thread_test.cpp secure_sum_exchange_test.cpp
  ROOMS comm
  LINK muffle_test_support)
muffle_test(secure_sum_stat_test LABEL stat SOURCES secure_sum_stat_test.cpp ROOMS comm LINK muffle_test_support)
muffle_mpi_test(secure_sum_mpi_test RANKS 1 2 3 4 SOURCES secure_sum_mpi_test.cpp ROOMS comm)
