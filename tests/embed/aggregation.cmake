muffle_test(aggregation_test LABEL unit SOURCES aggregation_test.cpp ROOMS embed privacy)
muffle_test(secure_reduce_test LABEL thread SOURCES secure_reduce_test.cpp ROOMS embed privacy comm
  LINK muffle_test_support)
