muffle_bench(noise_bench SOURCES noise_bench.cpp ROOMS privacy)
