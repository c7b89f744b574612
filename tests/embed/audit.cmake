muffle_test(audit_stat_test LABEL stat
  SOURCES audit_stat_test.cpp
  ROOMS embed privacy features data comm core
  TIMEOUT 900)
muffle_test(audit_paths_stat_test LABEL stat
  SOURCES audit_paths_stat_test.cpp
  ROOMS embed privacy features data comm core
  LINK muffle_test_support
  TIMEOUT 900)
