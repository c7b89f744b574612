#include "key_kinds.hpp"

namespace muffle::app {

std::vector<Key> data_keys() {
  using enum Stage;
  constexpr Range kFloat{-3e38, 3e38};
  constexpr std::int64_t kMany = std::int64_t{1} << 46;
  return {
      text("data.dir", kRelease,
           "folder in front of relative file names; itself relative to where muffle is started",
           MUFFLE_FIELD(data.dir)),
      text("data.id", kRuntime,
           "the data set's name in the privacy ledger; empty: made from the record file's path",
           MUFFLE_FIELD(ledger.data_id)),
      choice<std::string>(
          "data.generate", kRelease, "data that muffle makes itself, in OUT/data (leave data.dir empty)",
          {{"", ""}, {"gaussian-mixture-2d", "gaussian-mixture-2d"}}, MUFFLE_FIELD(files.generate)),
      choice<data::Format>(
          "data.format", kRelease, "of the record files; cifar: a label byte before every record's bytes",
          {{"idx", data::Format::kIdx}, {"cifar", data::Format::kCifar}}, MUFFLE_FIELD(data.format)),
      text("data.features", kRelease,
           "records: IDX, plain or .gz, or CIFAR files separated by commas; \"{rank}\" stands for the rank's "
           "number",
           MUFFLE_FIELD(data.features)),
      text("data.labels", kRelease,
           "labels: IDX, plain or .gz; empty when classes = 1 or the format is cifar",
           MUFFLE_FIELD(data.labels)),
      text("data.test_features", kEvaluate, "held-out real records, for evaluate alone",
           MUFFLE_FIELD(files.test_features)),
      text("data.test_labels", kEvaluate, "their labels", MUFFLE_FIELD(files.test_labels)),
      count("data.records", kRelease, "m, public under replace-one: records over all ranks", 0, kMany,
            MUFFLE_FIELD(data.records)),
      count("data.classes", kRelease, "C, public: labels are 0..C-1, each one byte", 1, 256,
            MUFFLE_FIELD(data.schema.classes)),
      sizes("data.shape", kRelease, "one record: [channels, height, width] or [columns]",
            MUFFLE_FIELD(data.schema.shape)),
      number("data.lo", kRelease, "public lower bound of every number", kFloat, MUFFLE_FIELD(data.schema.lo)),
      number("data.hi", kRelease, "public upper bound of every number", kFloat, MUFFLE_FIELD(data.schema.hi)),
      choice<schema::OnError>("data.on_error", kRelease, "what becomes of a record outside its schema",
                            {{"reject-file", schema::OnError::kRejectFile}, {"clamp", schema::OnError::kClamp}},
                            MUFFLE_FIELD(data.schema.on_error)),
      choice<data::ShardRule>("data.shards", kRelease, "the public rule that deals records to ranks",
                              {{"contiguous", data::ShardRule::kContiguous},
                               {"round-robin", data::ShardRule::kRoundRobin},
                               {"per-rank", data::ShardRule::kPerRank}},
                              MUFFLE_FIELD(data.shards)),
  };
}

}  // namespace muffle::app
