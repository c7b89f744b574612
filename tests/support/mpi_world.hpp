#pragma once

#include "muffle/comm/mpi.hpp"

namespace muffle::test {

/// All ranks of the running MPI test (link muffle_mpi_test_main). One test's failed collective kills it for
/// the tests after it: a test that means to break a communicator makes its own from session().
comm::HostComm& world();

/// For further, independent communicators.
comm::MpiSession& session();

}  // namespace muffle::test
