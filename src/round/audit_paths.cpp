// The release path that an audit attacks: one round after another, as `muffle release` drives it.
#include "muffle/round/audit_paths.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/round/drive.hpp"

namespace muffle::round {
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
              const privacy::AggregationMode& mode, const release::Charge* charge)
      : charge_(charge),
        embedder_(embedder),
        terms_(Terms::of(embedder.plan.noise, mode)),
        together_(std::move(together)),
        entropy_(privacy::os_entropy()) {
    require(privacy::ranks_of(mode) == together_->parties(),
            "an audit was planned for other ranks: this is a bug in muffle.");
  }

  Released release(data::RecordSource& records) {
    Released released = release_once(records);
    released.resize(embedder_.plan.size(), 0);
    if (terms_.shares && terms_.shares->colluding > 0) take_off_curious_shares(released);
    return released;
  }

 private:
  bool curious() const {
    return terms_.shares && together_->party() >= terms_.shares->ranks - terms_.shares->colluding;
  }

  Released release_once(data::RecordSource& records) {
    lockstep::Contributor role(terms_, together_->party());
    agree_on_keys(role, *together_, "audit", nullptr);
    draw_shares(role, *together_, curious() ? static_cast<privacy::EntropySource&>(recorded_) : *entropy_,
                [](std::string_view) {});
    role.embed(embed::embed_shard(embedder_, records, 1, {}));
    role.close();
    std::optional<lockstep::Coordinator> coordinator;
    if (together_->coordinates()) {
      coordinator.emplace(terms_).draw_noise(*charge_, entropy_.get(), {});
      role.note_charge(*charge_);
    }
    return sum_up(role, coordinator ? &*coordinator : nullptr, *together_).values;
  }

  void take_off_curious_shares(Released& released) {
    std::vector<std::uint64_t> mine(embedder_.plan.size(), 0);
    if (curious()) {
      recorded_.replay(true);
      const Released share = privacy::draw_noise(terms_.shares->shares, recorded_);
      recorded_.replay(false);
      mine.assign(share.begin(), share.end());
    }
    const std::vector<std::uint64_t> all = together_->sum_to_coordinator(std::move(mine));
    for (std::size_t i = 0; i < all.size(); ++i)
      released[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(released[i]) - all[i]);
  }

  const release::Charge* charge_;
  const embed::Embedder& embedder_;
  Terms terms_;
  std::unique_ptr<Together> together_;
  std::unique_ptr<privacy::EntropySource> entropy_;
  CuriousEntropy recorded_;
};

/// A folder that goes with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "muffle-audit-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw IoError(fmt::format("cannot make a folder for the audit's ledger, '{}': {}. Set TMPDIR.", name,
                                std::strerror(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  std::filesystem::path ledger() const { return path_ / "ledger.jsonl"; }

 private:
  std::filesystem::path path_;
};

}  // namespace

void charge_audit(const release::ReleasePlan& plan, const std::function<void(const release::Charge&)>& work) {
  const ScratchFolder scratch;
  const release::ChargeBook book{scratch.ledger(), "audit", {}, std::chrono::seconds(10)};
  (void)privacy::Ledger::open(book.ledger, book.data_id, {}, book.lock_deadline);
  release::ChargedDocument(book).begin(
      {"audit of made-up records", release::plan_hash(plan), privacy::mu_of(plan.noise),
       plan.noise.sensitivity.value, plan.noise.sigma, true, privacy::unit_of(plan.noise), 0.0},
      work);
}

embed::ReleaseFunction real_release(const embed::Embedder& embedder, comm::HostComm& job,
                                    const privacy::AggregationMode& mode, const release::Charge* charge) {
  require(charge != nullptr || !job.is_root(),
          "an audit's releases have no charge: this is a bug in muffle.");
  const auto path = std::make_shared<AuditedPath>(embedder, make_together(job), mode, charge);
  return [path](data::RecordSource& records) { return path->release(records); };
}

}  // namespace muffle::round
