muffle_bench(features_bench SOURCES features_bench.cpp ROOMS features LINK benchmark::benchmark_main)
target_include_directories(features_bench PRIVATE "${PROJECT_SOURCE_DIR}/src")
muffle_bench(moments_bench SOURCES moments_bench.cpp ROOMS features LINK benchmark::benchmark_main)
