#include "rules.hpp"

#include <fmt/format.h>

#include "rows.hpp"

namespace muffle::report {
namespace {

using schema::Constraint;

constexpr std::size_t kMostValues = 4;

const char* sign_of(Constraint::Op op) {
  switch (op) {
    case Constraint::Op::kLess:
      return "<";
    case Constraint::Op::kAtMost:
      return "<=";
    case Constraint::Op::kAtLeast:
      return ">=";
    case Constraint::Op::kGreater:
      return ">";
    case Constraint::Op::kEqual:
      break;
  }
  return "=";
}

std::string quoted(const schema::Table& table, std::size_t column) {
  return fmt::format("'{}'", table.columns.at(column).name);
}

/// "a, b or missing"
std::string one_of(const schema::Column& column, const std::vector<std::uint32_t>& codes) {
  std::string out;
  for (std::size_t k = 0; k < codes.size(); ++k) {
    if (k == kMostValues) return out + fmt::format(" or {} more", codes.size() - k);
    out += k == 0 ? "" : k + 1 == codes.size() ? " or " : ", ";
    out += codes[k] < column.values.size() ? column.values[codes[k]].name : "missing";
  }
  return out;
}

std::string in_words(const schema::Table& table, const Constraint& rule) {
  const auto name = [&](std::size_t k) { return quoted(table, rule.columns.at(k)); };
  switch (rule.kind) {
    case Constraint::Kind::kCompare:
      return fmt::format("{} {} {}", name(0), sign_of(rule.op),
                         rule.value ? column_of(table.columns[rule.columns[0]]).text(*rule.value) : name(1));
    case Constraint::Kind::kSum: {
      std::string parts;
      for (std::size_t k = 1; k < rule.columns.size(); ++k) parts += (k > 1 ? " + " : "") + name(k);
      return fmt::format("{} = {}", name(0), parts);
    }
    case Constraint::Kind::kImplies:
      return fmt::format("where {} is {}, {} is {}", name(0),
                         one_of(table.columns[rule.columns[0]], rule.when), name(1),
                         one_of(table.columns[rule.columns[1]], rule.then));
    case Constraint::Kind::kAmong:
      break;
  }
  return fmt::format("{} and {} are one of the {} combinations that the schema allows", name(0), name(1),
                     rule.allowed.size());
}

}  // namespace

std::vector<std::string> rules_of(const schema::Table& table) {
  std::vector<std::string> out;
  for (const Constraint& rule : table.constraints) out.push_back(in_words(table, rule));
  return out;
}

std::vector<std::string> made_so(const schema::Table& table) {
  std::vector<std::string> out;
  for (const schema::Column& column : table.columns) {
    if (column.is_unread()) continue;
    if (column.derived) {
      out.push_back(
          fmt::format("'{}' is the {} from {} to {}", column.name,
                      column.derived->unit == schema::Derivation::Unit::kDays ? "days" : "completed years",
                      quoted(table, column.derived->earlier), quoted(table, column.derived->later)));
    } else if (column.determined) {
      out.push_back(
          fmt::format("'{}' is what goes with {}", column.name, quoted(table, column.determined->by)));
    } else if (column.since && column.lo >= 0) {
      out.push_back(fmt::format("'{}' is never before {}", column.name, quoted(table, *column.since)));
    }
  }
  return out;
}

}  // namespace muffle::report
