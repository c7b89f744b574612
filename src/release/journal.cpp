#include "muffle/release/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "message_fields.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"

namespace muffle::release {
namespace {

using Json = nlohmann::ordered_json;
using Kind = JournalEntry::Kind;

constexpr std::string_view kJournalFormat = "muffle-journal";
constexpr int kJournalVersion = 1;
constexpr BookWords kJournalWords{.noun = "journal",
                                  .in_use = "The journal is in use",
                                  .turns = "Steps of one party take turns",
                                  .two_names = "two steps could open two sums with one key",
                                  .half = "nothing was sent for it",
                                  .nothing = "Nothing was sent."};

/// BEGIN says whose journal it is; REPAIR, that a torn line was cut off.
const std::initializer_list<std::string_view> kLineKinds = {"SEAL", "PENDING", "ERASED", "BEGIN", "REPAIR"};
constexpr std::size_t kBegin = 3, kRepair = 4;
/// Of whom a PENDING may be.
const std::initializer_list<std::string_view> kSent = {
    "seal", "opening", "release", "receipt", "abandonment", "stand-in-request", "stand-in", "sum"};
constexpr std::array kSentKinds = {
    MessageKind::kSeal,        MessageKind::kOpening,        MessageKind::kRelease, MessageKind::kReceipt,
    MessageKind::kAbandonment, MessageKind::kStandInRequest, MessageKind::kStandIn, MessageKind::kSum};

Json begin_line(const Chain& chain, std::string_view kind) {
  return {{"format", kJournalFormat},
          {"version", kJournalVersion},
          {"seq", chain.lines},
          {"prev", chain.head},
          {"kind", kind}};
}

std::string end_line(Json fields) {
  fields["time"] = today();
  fields["host"] = host_name();
  return with_own_hash(fields.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace));
}

std::string render(const Chain& chain, const JournalEntry& e) {
  Json fields = begin_line(chain, kLineKinds.begin()[static_cast<std::size_t>(e.kind)]);
  fields["round"] = to_hex(e.round);
  fields["key"] = to_hex(e.key);
  fields["what"] = name_of(e.what);
  fields["message"] = to_hex(e.message);
  return end_line(std::move(fields));
}

/// What contradicts an earlier entry, or nullptr.
const char* contradiction(const JournalState& state, const JournalEntry& e) {
  constexpr crypto::ExchangePoint kNone{};
  if (e.kind == Kind::kSeal && (e.what != MessageKind::kSeal || e.key == kNone))
    return "a SEAL without a round key";
  if (e.kind == Kind::kSeal && state.seal_of(e.key)) return "a second SEAL of a round key";
  if (e.kind == Kind::kPending && state.pending(e.round, e.what))
    return "a second PENDING of a kind of message in a round";
  if (e.kind == Kind::kPending && state.pending(e.round, MessageKind::kAbandonment) &&
      (e.what == MessageKind::kSeal || e.what == MessageKind::kRelease || e.what == MessageKind::kSum ||
       e.what == MessageKind::kStandInRequest || e.what == MessageKind::kStandIn))
    return "a seal, a release or a stand-in of a round that was abandoned";
  if (e.kind == Kind::kPending && e.what == MessageKind::kAbandonment &&
      (state.pending(e.round, MessageKind::kRelease) || state.pending(e.round, MessageKind::kSum)))
    return "an abandonment of a round that was released";
  if (e.kind == Kind::kPending && e.what == MessageKind::kOpening && !state.seal_of(e.key))
    return "an opening without the SEAL that it opens";
  if (e.kind == Kind::kPending && e.what == MessageKind::kStandIn &&
      !state.pending(e.round, MessageKind::kOpening))
    return "a stand-in without an opening of its own";
  if (e.kind == Kind::kPending && e.what == MessageKind::kStandIn &&
      state.pending(e.round, MessageKind::kReceipt))
    return "a stand-in after the round's end, for which there is a receipt";
  if (e.kind == Kind::kErased && state.erased(e.key)) return "a second ERASED of a round key";
  return nullptr;
}

void read_line(std::string_view line, JournalState& state) {
  require_own_hash(line);
  const auto fields = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const JsonDocument document;
  const JsonFields f(fields, document);
  demand(f.text("format", 32) == kJournalFormat && f.at("version") == kJournalVersion,
         "a line of another format");
  require_continues(state, f.integer("seq", 0, kMaxBook), f.hex("prev", 64));
  demand(Json::parse(line).dump(-1, ' ', true, Json::error_handler_t::replace) == line,
         "a line that is not spelt as muffle spells it");
  (void)f.text("time", 64);
  (void)f.text("host", 1024);
  const std::size_t kind = f.choice("kind", kLineKinds);
  demand((state.lines == 0) == (kind == kBegin), "a BEGIN that is not the first line, or none there");
  if (kind == kBegin) {
    f.only({"format", "version", "seq", "prev", "kind", "party", "time", "host", "sha256"});
    state.party = bytes_at<32>(f, "party");
    return;
  }
  if (kind == kRepair) {
    f.only({"format", "version", "seq", "prev", "kind", "cut_bytes", "time", "host", "sha256"});
    (void)f.integer("cut_bytes", 0, kMaxBook);
    return;
  }
  f.only({"format", "version", "seq", "prev", "kind", "round", "key", "what", "message", "time", "host",
          "sha256"});
  const JournalEntry entry{static_cast<Kind>(kind), bytes_at<32>(f, "round"), bytes_at<32>(f, "key"),
                           kSentKinds.at(f.choice("what", kSent)), bytes_at<32>(f, "message")};
  if (const char* const problem = contradiction(state, entry)) throw std::invalid_argument(problem);
  state.entries.push_back(entry);
}

JournalState read_journal(const std::filesystem::path& file) {
  return parse_journal(read_file(file, kMaxBook), file.string());
}

}  // namespace

std::optional<Sha256Digest> JournalState::seal_of(const crypto::ExchangePoint& key) const {
  for (const JournalEntry& e : entries) {
    if (e.kind == Kind::kSeal && e.key == key) return e.message;
  }
  return std::nullopt;
}

std::optional<Sha256Digest> JournalState::pending(const crypto::RoundId& round, MessageKind what) const {
  for (const JournalEntry& e : entries) {
    if (e.kind == Kind::kPending && e.round == round && e.what == what) return e.message;
  }
  return std::nullopt;
}

bool JournalState::erased(const crypto::ExchangePoint& key) const {
  return std::ranges::any_of(entries,
                             [&](const JournalEntry& e) { return e.kind == Kind::kErased && e.key == key; });
}

JournalState parse_journal(std::string_view bytes, const std::string& name) {
  JournalState state;
  const auto damaged = [&](const char* problem) {
    return ProtocolError(
        fmt::format("The journal '{}' is damaged: line {} is wrong: {}. What this party has said in earlier "
                    "rounds cannot be "
                    "told any more, so it says nothing: restore the newest copy, and find out who changed "
                    "it. A key holder "
                    "whose journal is lost counts as missing.",
                    name, state.lines + 1, problem));
  };
  try {
    read_chain(bytes, state, [&](std::string_view line) { read_line(line, state); });
  } catch (const std::invalid_argument& e) {
    throw damaged(e.what());
  } catch (const ProtocolError& e) {
    throw damaged(e.what());
  }
  return state;
}

Journal::Journal(const std::filesystem::path& file, const crypto::SitePublicKey& party,
                 std::chrono::milliseconds deadline)
    : file_(file), party_(party), deadline_(deadline) {
  take_again();
}

void Journal::take_again() {
  book_.emplace(
      file_, kJournalWords,
      [&] {
        Json fields = begin_line({}, "BEGIN");
        fields["party"] = to_hex(party_);
        return end_line(std::move(fields));
      },
      deadline_);
  state_ = read_journal(file_);
  if (state_.party != party_)
    throw ProtocolError(
        fmt::format("The journal '{}' is that of another party, with public key {}. Nothing was "
                    "sent.",
                    file_.string(), to_hex(state_.party)));
  if (state_.torn.empty()) return;
  // Whoever adds an entry acts upon it once it is on the disk, and not before.
  const std::string whole = read_file(file_, kMaxBook).substr(0, state_.good_bytes);
  Json fields = begin_line(state_, "REPAIR");
  fields["cut_bytes"] = state_.torn.size();
  book_->rewrite(whole + end_line(std::move(fields)) + "\n");
  state_ = read_journal(file_);
}

void Journal::add(const JournalEntry& entry) {
  require(contradiction(state_, entry) == nullptr,
          "a party was to bind itself to two messages: this is a bug in muffle.");
  require(book_.has_value(), "a journal was to be written that is not held: this is a bug in muffle.");
  const std::string line = render(state_, entry);
  book_->append(state_.good_bytes, line);
  state_ = read_journal(file_);
  require(state_.torn.empty() && !state_.entries.empty() && state_.entries.back() == entry,
          "the journal '" + file_.string() + "' does not end with the line that was just written to it.");
}

}  // namespace muffle::release
