muffle_bench(embed_bench SOURCES embed_bench.cpp ROOMS embed features data comm LINK muffle_fashion_mnist)
