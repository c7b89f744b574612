#include "muffle/release/messages.hpp"

#include <bit>
#include <cstring>

#include "message_fields.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/container_view.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/crypto/masks.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the numbers are copied as they are");

constexpr char kMessageFormat[] = "muffle-message";
constexpr int kMessageVersion = 1;

// In the order of their enumerators.
const std::initializer_list<std::string_view> kKinds = {
    "proposal", "decline", "contribution",     "seal",       "opening",  "release",     "receipt",
    "card",     "charter", "countersignature", "round-keys", "approval", "abandonment", "stand-in-request",
    "stand-in", "sum"};
const std::initializer_list<std::string_view> kAbandons = {"person", "too-few", "missing", "spoiled"};
const std::initializer_list<std::string_view> kDeclines = {"person", "policy",  "budget",
                                                           "schema", "version", "needs-torch"};

/// What the signature is of, but for its first line.
json signed_json(const SignedHeader& h) {
  return {{"kind", name_of(h.kind)},
          {"round", to_hex(h.round)},
          {"sender", to_hex(h.sender)},
          {"answers", to_hex(h.answers)},
          {"body", h.body},
          {"numbers", h.numbers},
          {"numbers_sha256", to_hex(h.numbers_sha256)}};
}

/// The first line keeps it apart from everything else that a site's key signs.
std::string signed_text(const json& header) { return "muffle round message 1\n" + header.dump(); }

Sha256Digest hash_of(std::span<const std::uint64_t> numbers) {
  if (numbers.empty()) return {};
  return sha256(PublicBytes(std::as_bytes(numbers)));
}

}  // namespace

std::string_view name_of(MessageKind kind) { return kKinds.begin()[static_cast<std::size_t>(kind)]; }
std::initializer_list<std::string_view> decline_codes() { return kDeclines; }
std::initializer_list<std::string_view> abandon_codes() { return kAbandons; }
std::string_view name_of(AbandonCode code) { return kAbandons.begin()[static_cast<std::size_t>(code)]; }
std::string_view name_of(DeclineCode code) { return kDeclines.begin()[static_cast<std::size_t>(code)]; }

Sha256Digest SignedHeader::id() const { return sha256(PublicBytes(signed_text(signed_json(*this)))); }

SignedHeader sign(SignedHeader header, const crypto::SiteKey& key, std::span<const std::uint64_t> numbers) {
  header.sender = key.public_key();
  header.numbers = numbers.size();
  header.numbers_sha256 = hash_of(numbers);
  header.signature = key.sign(signed_text(signed_json(header)));
  return header;
}

json header_json(const SignedHeader& header) {
  json out = signed_json(header);
  out["signature"] = to_hex(header.signature);
  return out;
}

SignedHeader read_header(const JsonFields& f) {
  f.only({"kind", "round", "sender", "answers", "body", "numbers", "numbers_sha256", "signature"});
  SignedHeader h;
  h.kind = static_cast<MessageKind>(f.choice("kind", kKinds));
  h.round = bytes_at<32>(f, "round");
  h.sender = bytes_at<32>(f, "sender");
  h.answers = bytes_at<32>(f, "answers");
  h.body = f.at("body");
  h.numbers = f.integer("numbers", 0, crypto::kMaxMaskedLength);
  h.numbers_sha256 = bytes_at<32>(f, "numbers_sha256");
  h.signature = bytes_at<64>(f, "signature");
  if (!crypto::verify(h.sender, signed_text(signed_json(h)), h.signature))
    f.fail("signature", "is not the sender's of what the message says");
  return h;
}

std::string message_bytes(const SignedHeader& header, std::span<const std::uint64_t> numbers) {
  require(hash_of(numbers) == header.numbers_sha256 && numbers.size() == header.numbers,
          "a message was to be sent with other numbers than were signed: this is a bug in muffle.");
  return serialize(
      json{{"format", kMessageFormat}, {"version", kMessageVersion}, {"message", header_json(header)}},
      std::as_bytes(numbers));
}

Message parse_message(std::string_view bytes, const std::string& name) {
  const ContainerView container = view_container(bytes, kMessageFormat, kMessageVersion, name);
  const JsonDocument document = message_document(name);
  const JsonFields f(container.header, document);
  f.only({"format", "version", "message"});
  Message out{read_header(f.object("message")), {}};
  if (container.payload.size() != out.header.numbers * sizeof(std::uint64_t))
    f.fail("message", "is signed for another number of values than there are");
  out.numbers.resize(out.header.numbers);
  if (!container.payload.empty())
    std::memcpy(out.numbers.data(), container.payload.data(), container.payload.size());
  if (hash_of(out.numbers) != out.header.numbers_sha256) f.fail("message", "is signed for other values");
  return out;
}

SignedHeader parse_message_start(std::string_view beginning, std::uint64_t size, const std::string& name) {
  const ContainerStart start = parse_container_start(beginning, kMessageFormat, kMessageVersion, name);
  const JsonDocument document = message_document(name);
  const JsonFields f(start.header, document);
  f.only({"format", "version", "message"});
  SignedHeader header = read_header(f.object("message"));
  if (start.size != size || start.payload != header.numbers * sizeof(std::uint64_t))
    f.fail("message", "is signed for another number of values than are to come");
  return header;
}

std::string text_under_macs(const SignedHeader& contribution) {
  json bare = signed_json(contribution);
  bare["body"].erase("macs");
  return bare.dump();
}

}  // namespace muffle::release
