#include "key_kinds.hpp"

namespace muffle::app {

std::vector<Key> output_keys() {
  using enum Stage;
  constexpr std::int64_t kMany = std::int64_t{1} << 46;
  return {
      count("sample.count", kSample, "synthetic records", 1, UINT32_MAX, MUFFLE_FIELD(sample.count)),
      choice<bool>("sample.labels", kSample, "labels of the synthetic records",
                   {{"uniform", true}, {"released-counts", false}}, MUFFLE_FIELD(sample.uniform_labels)),
      names("sample.formats", kSample, "files to write", {"npz", "idx", "png"}, MUFFLE_FIELD(sample.formats)),
      count("sample.seed", kSample, "seed of the samples", 0, INT64_MAX, MUFFLE_FIELD(sample.seed)),
      number("sample.floor", kSample, "numbers of a record (scaled to [0, 1]) below it become 0", Range{0, 1},
             MUFFLE_FIELD(sample.floor)),
      number("sample.stray", kSample,
             "share of the numbers that stand in for another record's: against classifiers that believe "
             "\"never\"",
             Range{0, 0.5}, MUFFLE_FIELD(sample.stray)),
      names("evaluate.metrics", kEvaluate, "what to compute; \"classifiers\" reads real data",
            {"classifiers", "mixture-nll"}, MUFFLE_FIELD(evaluate.metrics)),
      names("evaluate.classifiers", kEvaluate, "trained on synthetic, tested on real",
            {"logistic_regression", "mlp", "cnn"}, MUFFLE_FIELD(evaluate.spec.classifiers)),
      flag("evaluate.also_real", kEvaluate, "the same classifiers trained on real records beside them",
           MUFFLE_FIELD(evaluate.spec.also_real)),
      count("evaluate.train_limit", kEvaluate, "only the first so many training records; 0: all", 0, kMany,
            MUFFLE_FIELD(evaluate.spec.train_limit)),
      count("evaluate.seed", kEvaluate, "seed of the classifiers", 0, INT64_MAX,
            MUFFLE_FIELD(evaluate.spec.seed)),
      number("runtime.deadline_s", kRuntime,
             "a rank that is silent for so many seconds while others wait for it is given up", Range{1, 1e6},
             MUFFLE_FIELD(runtime.deadline_s)),
      count("runtime.threads", kRuntime, "threads per rank; 0: the cores that the rank owns", 0, 4096,
            MUFFLE_FIELD(runtime.threads)),
      flag("runtime.share_gpus", kRuntime, "several ranks may use one GPU", MUFFLE_FIELD(devices.share_gpus)),
  };
}

}  // namespace muffle::app
