// In builds without MPI: what the rooms ask of it there. No launcher started this process.
#include "muffle/comm/mpi.hpp"

namespace muffle::comm {

bool MpiSession::launched_by_mpi() { return false; }
int MpiSession::launched_processes() { return 1; }
std::string MpiSession::library() { return "none"; }

}  // namespace muffle::comm
