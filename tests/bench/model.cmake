muffle_bench(moments_ablation TORCH SOURCES moments_ablation.cpp ROOMS evaluate synth model privacy features data LINK CLI11::CLI11 fmt::fmt)
target_include_directories(moments_ablation PRIVATE "${PROJECT_SOURCE_DIR}/src")
