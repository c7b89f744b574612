muffle_test(audit_bound_test LABEL unit
  SOURCES audit_test.cpp
  ROOMS privacy core)
