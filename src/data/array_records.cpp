#include "array_records.hpp"

#include <utility>

namespace muffle::data {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& sizes) {
  std::string text;
  for (const std::uint64_t s : sizes) text += (text.empty() ? "" : " x ") + std::to_string(s);
  return text.empty() ? "1" : text;
}

/// The same numbers in the same order: equal sizes but for ones (a single channel may be left out), or one of
/// the two written flat.
bool shapes_agree(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  const auto product = [](const std::vector<std::uint64_t>& v) {
    std::uint64_t p = 1;
    for (const std::uint64_t s : v) p *= s;
    return p;
  };
  std::erase(a, 1u);
  std::erase(b, 1u);
  return a == b || ((a.size() <= 1 || b.size() <= 1) && product(a) == product(b));
}

class ArrayRecords final : public RecordStream {
 public:
  ArrayRecords(const schema::Schema& schema, ArrayReader numbers, std::optional<ArrayReader> labels)
      : numbers_(std::move(numbers)), labels_(std::move(labels)) {
    check_shape(schema);
    if (labels_) check_labels();
    stored_.resize(numbers_.header().record_bytes());
  }

  std::uint64_t records() const override { return numbers_.header().records(); }
  bool holds_bytes() const override { return numbers_.header().type.is_byte(); }

  void go_to(std::uint64_t record) override {
    numbers_.go_to(record);
    if (labels_) labels_->go_to(record);
  }

  void read(Row& row) override {
    const ElementType& type = numbers_.header().type;
    if (type.is_byte()) {
      row.bytes.resize(stored_.size());
      numbers_.read(std::as_writable_bytes(std::span(row.bytes)));
    } else {
      numbers_.read(stored_);
      row.floats.resize(stored_.size() / type.size);
      for (std::size_t i = 0; i < row.floats.size(); ++i)
        row.floats[i] = type.to_float(stored_.data() + i * type.size);
    }
    row.label = 0;
    if (!labels_) return;
    std::byte label[sizeof(std::int64_t)];
    labels_->read(std::span(label).first(labels_->header().type.size));
    row.label = labels_->header().type.to_label(label);
  }

  void expect_end() override {
    numbers_.expect_end();
    if (labels_) labels_->expect_end();
  }

  std::string name() const override { return numbers_.name(); }
  Place last() const override {
    const std::string& labels = labels_ ? labels_->name() : numbers_.name();
    return {labels_ ? numbers_.name() + " and " + labels : labels, numbers_.position() - 1, numbers_.name(),
            labels};
  }

 private:
  void check_shape(const schema::Schema& schema) const {
    const std::vector<std::uint64_t>& dims = numbers_.header().dims;
    const std::vector<std::uint64_t> stored(dims.begin() + 1, dims.end());
    const std::vector<std::uint64_t> wanted(schema.shape.begin(), schema.shape.end());
    if (shapes_agree(stored, wanted)) return;
    throw DataError(numbers_.name() + " holds records of shape " + shape_text(stored) + ", the schema says " +
                    shape_text(wanted) + ". Correct the schema's shape or the file's name.");
  }

  void check_labels() const {
    const ArrayHeader& header = labels_->header();
    if (!header.type.is_integer() || header.record_elements() != 1) {
      throw DataError(labels_->name() +
                      " does not hold labels: one whole number per record is needed, it holds " +
                      header.type.name() + " records of " + std::to_string(header.record_elements()) +
                      " numbers. Are the names of records and labels exchanged?");
    }
    if (header.records() == records()) return;
    // The counts themselves may be private (add/remove-one adjacency): the message does not tell them.
    throw DataError(
        numbers_.name() + " and " + labels_->name() +
        " hold different numbers of records: the two do not belong together, or one is cut short.");
  }

  ArrayReader numbers_;
  std::optional<ArrayReader> labels_;
  std::vector<std::byte> stored_;
};

}  // namespace

std::unique_ptr<RecordStream> array_records(const schema::Schema& schema, ArrayReader numbers,
                                            std::optional<ArrayReader> labels) {
  return std::make_unique<ArrayRecords>(schema, std::move(numbers), std::move(labels));
}

}  // namespace muffle::data
