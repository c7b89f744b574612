muffle_bench(train_bench TORCH
  SOURCES train_bench.cpp
  ROOMS train)
