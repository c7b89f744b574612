muffle_bench(secure_sum_bench SOURCES secure_sum_bench.cpp ROOMS round LINK muffle_test_support)
