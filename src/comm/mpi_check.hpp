#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "muffle/core/error.hpp"

namespace muffle::comm {

/// Every MPI return code goes through here. @throws CommError with MPI's own text.
inline void check_mpi(int code, std::string_view operation) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  std::string reason = "unknown error";
  if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS) {
    reason.assign(text.data(), static_cast<std::size_t>(length));
  }
  throw CommError(
      "MPI reports that " + std::string(operation) + " failed: " + reason +
      ". A peer or the network between the ranks is lost, or the ranks called it with different lengths; "
      "the other ranks' logs say which");
}

}  // namespace muffle::comm
