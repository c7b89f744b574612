muffle_test(audit_stat_test LABEL stat
  SOURCES audit_stat_test.cpp
  ROOMS embed privacy features data comm core
  TIMEOUT 900)
