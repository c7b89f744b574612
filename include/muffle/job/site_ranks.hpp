#pragma once

#include <functional>

#include "muffle/comm/host_comm.hpp"
#include "muffle/round/step.hpp"

namespace muffle::job {

/// The ranks of one site's own job (`mpirun -n R muffle site step`). Rank 0, root, is the site: it alone has
/// keys, ledger and exchange. The others do nothing but sum their parts of the site's records when root asks,
/// and give the sums to root, in the clear: all of this is inside one institution. Integer sums, so that root
/// has the same ones for every R.
class SiteRanks {
 public:
  /// Sums this rank's part of the records by the plan of one round. Collective, inside comm::agree() where it
  /// can fail.
  using SumPart = std::function<round::OwnSums(const release::ReleasePlan& plan)>;

  /// @param comm  outlives this object
  SiteRanks(comm::HostComm& comm, SumPart part);
  SiteRanks& operator=(SiteRanks&&) = delete;

  /// On all ranks at once: root carries out `step`, the others are at its service until it ends.
  /// @throws  on all ranks, as comm::agree(): what `step` threw at root.
  void run(const std::string& what, const std::function<void()>& step);
  /// At root, within its step: sums over all ranks, as often as there are rounds to contribute to.
  /// @throws  an error of any rank, agreed on by all. Nobody has lost anything then.
  /// @param plan  of a whole release. @param number  which of its rounds, from 1
  round::OwnSums sum(const release::ReleasePlan& plan, std::size_t number = 1);

 private:
  void serve();
  round::OwnSums sum_together(const release::ReleasePlan& plan, std::size_t number);

  comm::HostComm& comm_;
  SumPart part_;
};

}  // namespace muffle::job
