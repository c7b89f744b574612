#include <algorithm>

#include "message_fields.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/plan_json.hpp"

// What each kind of message says beside its numbers, as JSON and back.
namespace muffle::release {
namespace {

using nlohmann::json;

/// 9999-12-31.
constexpr std::uint64_t kLastSecond = 253402300799;
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 32;  ///< of round keys

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
    p.holders.push_back(
        {read_signer(holder), holder.integer("number", 0, kMostNumber), bytes_at<32>(holder, "point")});
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

json body_of(const Card& card) {
  return {{"name", card.name},
          {"box", to_hex(card.box)},
          {"site", card.site},
          {"key_holder", card.key_holder},
          {"coordinator", card.coordinator}};
}

Card read_card(const SignedHeader& header, const std::string& name) {
  const JsonDocument document = message_document(name);
  const JsonFields f(header.body, document);
  require_kind(f, header, MessageKind::kCard);
  f.only({"name", "box", "site", "key_holder", "coordinator"});
  if (header.answers != Sha256Digest{}) f.fail("", "is a card, and answers something");
  Card card{f.text("name", 64), bytes_at<32>(f, "box"), f.flag("site"), f.flag("key_holder"),
            f.flag("coordinator")};
  if (!crypto::valid_site_name(card.name)) f.fail("name", "is no name of a site");
  if (card.coordinator == (card.site || card.key_holder))
    f.fail("coordinator", "needs to be somebody else than sites and key holders, each with keys of its own");
  return card;
}

std::string roles_in_words(const Card& card) {
  if (card.coordinator) return "coordinator";
  if (card.site && card.key_holder) return "site and key holder";
  return card.site ? "site" : "key holder";
}

json body_of(const Charter& charter) {
  json cards = json::array();
  for (const SignedHeader& card : charter.cards) cards.push_back(header_json(card));
  return {
      {"title", charter.title},         {"version", charter.version}, {"previous", to_hex(charter.previous)},
      {"admission", charter.admission}, {"cards", std::move(cards)},  {"revoked", hex_json(charter.revoked)}};
}

json body_of(const RoundKeys& keys) { return {{"first", keys.first}, {"points", hex_json(keys.points)}}; }

RoundKeys read_round_keys(const SignedHeader& header, const std::string& name) {
  const JsonDocument document = message_document(name);
  const JsonFields f(header.body, document);
  require_kind(f, header, MessageKind::kRoundKeys);
  f.only({"first", "points"});
  RoundKeys keys{f.integer("first", 0, kMostNumber - kMostRoundKeys),
                 hex_list<32>(f, "points", 1, kMostRoundKeys)};
  require_different(f, "points", keys.points, [](const auto& point) { return point; });
  return keys;
}

}  // namespace muffle::release
