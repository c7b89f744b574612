// The release path that an audit attacks: one round after another, as `muffle release` drives it.
#include "muffle/job/audit_paths.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/job/drive.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/entropy.hpp"

namespace muffle::job {

/// For releases of made-up records, which no ledger has, and which nobody gets to see.
struct Uncharged {
  static void draw_noise(Coordinator& coordinator, privacy::EntropySource& entropy) {
    coordinator.draw(&entropy, {});
  }
  static void go_on(Contributor& role) { role.go_on(); }
};

namespace {

using Released = std::vector<std::int64_t>;

/// A curious rank's entropy: the operating system's, remembered, to be given once more.
class CuriousEntropy final : public privacy::EntropySource {
 public:
  void fill(std::span<std::byte> out) override {
    if (replays_) {
      require(bytes_.size() >= out.size(), "recorded entropy ran out: this is a bug in muffle.");
      std::copy_n(bytes_.begin(), out.size(), out.begin());
      bytes_.erase(bytes_.begin(), bytes_.begin() + std::ssize(out));
    } else {
      source_->fill(out);
      bytes_.insert(bytes_.end(), out.begin(), out.end());
    }
  }
  bool is_secure() const override { return !replays_; }
  void replay(bool yes) {
    replays_ = yes;
    if (!yes) bytes_.clear();
  }

 private:
  std::unique_ptr<privacy::EntropySource> source_ = privacy::os_entropy();
  std::deque<std::byte> bytes_;
  bool replays_ = false;
};

/// One party's side of all releases of an audit.
class AuditedPath {
 public:
  AuditedPath(const embed::Embedder& embedder, std::unique_ptr<Together> together,
              const privacy::AggregationMode& mode)
      : embedder_(embedder),
        together_(std::move(together)),
        round_(agree_on_round({embedder.plan, mode, 1, "audit"}, *together_)),
        entropy_(privacy::os_entropy()) {
    require(privacy::ranks_of(mode) == together_->parties(),
            "an audit was planned for other ranks: this is a bug in muffle.");
  }

  Released release(data::RecordSource& records) {
    Released released = release_once(records);
    released.resize(embedder_.plan.size(), 0);
    if (round_.shares && round_.shares->colluding > 0) take_off_curious_shares(released);
    return released;
  }

 private:
  bool curious() const {
    return round_.shares && together_->party() >= round_.shares->ranks - round_.shares->colluding;
  }

  Released release_once(data::RecordSource& records) {
    Contributor role(round_, together_->party());
    agree_on_keys(role, *together_, nullptr);
    draw_shares(role, *together_, curious() ? static_cast<privacy::EntropySource&>(recorded_) : *entropy_,
                [](std::string_view) {});
    role.embed(embed::embed_shard(embedder_, records, 1, {}));
    role.close();
    std::optional<Coordinator> coordinator;
    if (together_->coordinates()) {
      Uncharged::draw_noise(coordinator.emplace(round_), *entropy_);
      Uncharged::go_on(role);
    }
    return sum_up(role, coordinator ? &*coordinator : nullptr, *together_).values;
  }

  void take_off_curious_shares(Released& released) {
    std::vector<std::uint64_t> mine(embedder_.plan.size(), 0);
    if (curious()) {
      recorded_.replay(true);
      const Released share = privacy::draw_noise(round_.shares->shares, recorded_);
      recorded_.replay(false);
      mine.assign(share.begin(), share.end());
    }
    const std::vector<std::uint64_t> all = together_->sum_to_coordinator(std::move(mine));
    for (std::size_t i = 0; i < all.size(); ++i)
      released[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(released[i]) - all[i]);
  }

  const embed::Embedder& embedder_;
  std::unique_ptr<Together> together_;
  const ProposedRound round_;
  std::unique_ptr<privacy::EntropySource> entropy_;
  CuriousEntropy recorded_;
};

}  // namespace

embed::ReleaseFunction real_release(const embed::Embedder& embedder, comm::HostComm& job,
                                    const privacy::AggregationMode& mode) {
  const auto path = std::make_shared<AuditedPath>(embedder, make_together(job), mode);
  return [path](data::RecordSource& records) { return path->release(records); };
}

}  // namespace muffle::job
