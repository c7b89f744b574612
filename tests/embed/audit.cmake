muffle_test(audit_stat_test LABEL stat
  SOURCES audit_stat_test.cpp
  ROOMS round embed privacy features data comm core
  TIMEOUT 1800)
muffle_test(audit_paths_stat_test LABEL stat
  SOURCES audit_paths_stat_test.cpp
  ROOMS round embed privacy features data comm core
  LINK muffle_test_support
  TIMEOUT 1800)
set_tests_properties(audit_paths_stat_test PROPERTIES COST 190)  # begins early: see tests/e2e
