muffle_test(moments_release_test LABEL unit
  SOURCES moments_release_test.cpp
  ROOMS embed features data privacy comm
  LINK muffle_test_support)
