#include "muffle/release/messages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "message_fields.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/container_view.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/text.hpp"
#include "muffle/crypto/masks.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the numbers are copied as they are");

constexpr char kMessageFormat[] = "muffle-message";
constexpr int kMessageVersion = 1;
/// 9999-12-31.
constexpr std::uint64_t kLastSecond = 253402300799;

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

std::vector<SignedHeader> read_headers(const JsonFields& f, std::string_view key, std::size_t most) {
  std::vector<SignedHeader> out;
  for (const JsonFields& entry : f.objects(key, most)) out.push_back(read_header(entry));
  return out;
}

json signer_json(const crypto::SignerKey& signer) {
  return {{"name", signer.name}, {"key", to_hex(signer.key)}};
}

crypto::SignerKey read_signer(const JsonFields& f) {
  crypto::SignerKey signer{f.text("name", 64), bytes_at<32>(f, "key")};
  if (!crypto::valid_site_name(signer.name)) f.fail("name", "is no name of a site");
  return signer;
}

std::vector<std::string> hex_texts(const JsonFields& f, std::string_view key, std::size_t count,
                                   std::size_t digits) {
  const json& list = f.at(key);
  if (!list.is_array() || list.size() != count) f.fail(key, fmt::format("is no list of {}", count));
  std::vector<std::string> out;
  for (const json& entry : list) {
    const auto* text = entry.get_ptr<const std::string*>();
    if (text == nullptr || !is_hex(*text, digits))
      f.fail(key, fmt::format("has an entry that is not {} hexadecimal digits", digits));
    out.push_back(*text);
  }
  return out;
}

int count(const JsonFields& f, std::string_view key) {
  return static_cast<int>(f.integer(key, 0, kMostSites));
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

json body_of(const Proposal& p) {
  const auto number = [](int value) { return static_cast<std::uint64_t>(value); };
  json sites = json::array(), holders = json::array();
  for (const crypto::SignerKey& site : p.sites) sites.push_back(signer_json(site));
  for (const HolderKey& h : p.holders) {
    holders.push_back(signer_json(h.holder));
    holders.back().update({{"number", h.number}, {"point", to_hex(h.point)}});
  }
  json out{{"title", p.title},
           {"charter", to_hex(p.charter)},
           {"plan", plan_json(p.plan)},
           {"sites", std::move(sites)},
           {"holders", std::move(holders)},
           {"expected", number(p.parties.expected)},
           {"least", number(p.parties.least)},
           {"colluding", number(p.parties.colluding)},
           {"colluding_holders", number(p.parties.colluding_holders)},
           {"missing_holders", number(p.parties.missing_holders)},
           {"self_check", to_hex(p.self_check)},
           {"contribute_until", p.contribute_until},
           {"open_until", p.open_until}};
  if (p.parties.missing_holders > 0) out["stand_in_until"] = p.stand_in_until;
  if (p.later)
    out["later"] = {{"number", p.later->number},
                    {"first", to_hex(p.later->first)},
                    {"before", to_hex(p.later->before)},
                    {"sum", to_hex(p.later->sum)}};
  return out;
}

Proposal read_proposal(const SignedHeader& header, const std::string& name) {
  const JsonDocument document = message_document(name);
  const JsonFields f(header.body, document);
  f.only({"title", "charter", "plan", "sites", "holders", "expected", "least", "colluding",
          "colluding_holders", "missing_holders", "self_check", "contribute_until", "open_until",
          "stand_in_until", "later"});
  if (header.kind != MessageKind::kProposal || header.round != crypto::RoundId{} || header.numbers != 0)
    f.fail("", "is no proposal");
  Proposal p;
  p.title = f.text("title", 256);
  p.charter = bytes_at<32>(f, "charter");
  p.plan = parse_plan(f.at("plan").dump(), name);
  // Whether a site's step goes through is seen by all: a record must not decide it (docs/reference/sites.md).
  if (p.plan.schema.on_error != schema::OnError::kClamp)
    f.fail("plan",
           "refuses files for what their records hold (schema.on_error), so that who contributes would tell "
           "of records, without noise and free of charge");
  for (const JsonFields& site : f.objects("sites", kMostSites)) {
    site.only({"name", "key"});
    p.sites.push_back(read_signer(site));
  }
  for (const JsonFields& holder : f.objects("holders", kMostHolders)) {
    holder.only({"name", "key", "number", "point"});
    p.holders.push_back({read_signer(holder), holder.integer("number", 0, std::uint64_t{1} << 32),
                         bytes_at<32>(holder, "point")});
  }
  require_different(f, "sites", p.sites, [](const auto& s) { return s.key; });
  require_different(f, "sites", p.sites, [](const auto& s) { return s.name; });
  require_different(f, "holders", p.holders, [](const auto& h) { return h.holder.key; });
  require_different(f, "holders", p.holders, [](const auto& h) { return h.point; });
  p.parties = {.sites = static_cast<int>(p.sites.size()),
               .expected = count(f, "expected"),
               .least = count(f, "least"),
               .colluding = count(f, "colluding"),
               .holders = static_cast<int>(p.holders.size()),
               .colluding_holders = count(f, "colluding_holders"),
               .missing_holders = count(f, "missing_holders")};
  p.self_check = bytes_at<32>(f, "self_check");
  p.contribute_until = f.integer("contribute_until", 1, kLastSecond);
  p.open_until = f.integer("open_until", p.contribute_until, kLastSecond);
  if (p.parties.missing_holders > 0) {
    p.stand_in_until = f.integer("stand_in_until", p.open_until, kLastSecond);
  } else if (f.has("stand_in_until")) {
    f.fail("stand_in_until", "is for rounds whose key holders may be missing");
  }
  if (f.has("later")) {
    const JsonFields later = f.object("later");
    later.only({"number", "first", "before", "sum"});
    if (p.plan.rounds() < 2) f.fail("later", "is for releases of several rounds");
    p.later = {later.integer("number", 2, p.plan.rounds()), bytes_at<32>(later, "first"),
               bytes_at<32>(later, "before"), bytes_at<32>(later, "sum")};
  }
  privacy::SiteNoisePlan(p.plan.noise, p.parties);
  return p;
}

json body_of(const Contribution& c) {
  json out{{"point", to_hex(c.point)},      {"commitments", hex_json(c.commitments)},
           {"macs", hex_json(c.macs)},      {"charge", c.charge},
           {"data_id", c.data_id},          {"records", c.records},
           {"secure_noise", c.secure_noise}};
  if (!c.boxes.empty()) out["boxes"] = c.boxes;
  return out;
}

Contribution read_contribution(const SignedHeader& header, std::size_t holders, bool shared) {
  const JsonDocument document = message_document("a contribution");
  const JsonFields f(header.body, document);
  f.only({"point", "commitments", "macs", "boxes", "charge", "data_id", "records", "secure_noise"});
  if (!shared && f.has("boxes")) f.fail("boxes", "are for rounds whose key holders may be missing");
  return {bytes_at<32>(f, "point"),
          hex_list<32>(f, "commitments", holders, holders),
          hex_list<16>(f, "macs", holders, holders),
          shared ? hex_texts(f, "boxes", holders, 2 * box_bytes(holders)) : std::vector<std::string>(),
          f.hex("charge", 32),
          read_data_id(f),
          f.integer("records", 0, std::uint64_t{1} << 62),
          f.flag("secure_noise")};
}

std::string text_under_macs(const SignedHeader& contribution) {
  json bare = signed_json(contribution);
  bare["body"].erase("macs");
  return bare.dump();
}

json body_of(const Seal& seal) {
  json out = json::array();
  for (const SignedHeader& header : seal.contributions) out.push_back(header_json(header));
  return {{"contributions", std::move(out)}};
}

Seal read_seal(const SignedHeader& header, std::size_t most) {
  const JsonDocument document = message_document("a seal");
  const JsonFields f(header.body, document);
  f.only({"contributions"});
  return {read_headers(f, "contributions", most)};
}

json body_of(const Opening& opening) {
  return {{"objections", hex_json(opening.objections)}, {"secure_noise", opening.secure_noise}};
}

Opening read_opening(const SignedHeader& header, std::size_t most) {
  const JsonDocument document = message_document("an opening");
  const JsonFields f(header.body, document);
  f.only({"objections", "secure_noise"});
  return {hex_list<32>(f, "objections", 0, most), f.flag("secure_noise")};
}

int missing_in(const std::vector<OpenedBy>& opened) {
  return static_cast<int>(std::ranges::count_if(opened, [](const OpenedBy& by) { return !by.opening; }));
}

json body_of(const Sum& sum) {
  std::vector<Sha256Digest> openings;
  json stand_ins = json::array();
  for (const OpenedBy& by : sum.opened) {
    openings.push_back(by.opening.value_or(Sha256Digest{}));
    if (!by.opening) stand_ins.push_back(hex_json(by.stand_ins));
  }
  json out{{"openings", hex_json(openings)}, {"secure_noise", sum.secure_noise}};
  if (!stand_ins.empty()) out["stand_ins"] = std::move(stand_ins);
  return out;
}

Sum read_sum(const SignedHeader& header, std::size_t holders, std::size_t most) {
  const JsonDocument document = message_document("a sum");
  const JsonFields f(header.body, document);
  f.only({"openings", "stand_ins", "secure_noise"});
  Sum sum{{}, f.flag("secure_noise")};
  std::size_t missing = 0;
  for (const Sha256Digest& id : hex_list<32>(f, "openings", holders, holders)) {
    OpenedBy& by = sum.opened.emplace_back();
    if (id != Sha256Digest{}) by.opening = id;
    missing += by.opening ? 0 : 1;
  }
  if (missing > most) f.fail("openings", fmt::format("lack {}, and {} may be missing", missing, most));
  if (missing == 0) {
    if (f.has("stand_ins")) f.fail("stand_ins", "are for sums of which an opening is missing");
    return sum;
  }
  const json& lists = f.at("stand_ins");
  if (!lists.is_array() || lists.size() != missing)
    f.fail("stand_ins", fmt::format("are no list of {}, as many as openings are missing", missing));
  auto next = lists.begin();
  for (OpenedBy& by : sum.opened) {
    if (!by.opening) by.stand_ins = hex_list<32>(f, "stand_ins", *next++, holders - most, holders - most);
  }
  return sum;
}

json body_of(const StandInRequest& request) { return {{"missing", hex_json(request.missing)}}; }

StandInRequest read_stand_in_request(const SignedHeader& header, std::size_t most) {
  const JsonDocument document = message_document("a request for stand-ins");
  const JsonFields f(header.body, document);
  f.only({"missing"});
  return {hex_list<32>(f, "missing", 1, most)};
}

json body_of(const StandIn& stand_in) {
  json missing = json::array();
  for (const StandIn::Missing& m : stand_in.missing)
    missing.push_back({{"holder", to_hex(m.holder)}, {"shares", hex_json(m.shares)}});
  return {{"missing", std::move(missing)}};
}

StandIn read_stand_in(const SignedHeader& header, std::size_t most, std::size_t sealed) {
  const JsonDocument document = message_document("a stand-in");
  const JsonFields f(header.body, document);
  f.only({"missing"});
  StandIn out;
  for (const JsonFields& m : f.objects("missing", most)) {
    m.only({"holder", "shares"});
    out.missing.push_back({bytes_at<32>(m, "holder"), hex_list<32>(m, "shares", sealed, sealed)});
  }
  require_different(f, "missing", out.missing, [](const auto& m) { return m.holder; });
  if (out.missing.empty()) f.fail("missing", "is empty");
  return out;
}

}  // namespace muffle::release
