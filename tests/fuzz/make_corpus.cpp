// Writes the seeds of the corpus: small inputs of every kind, made by the product's own writers.
// (Those of configurations are configs/ itself, and a few by hand.) make_corpus CORPUS_FOLDER
#include <filesystem>
#include <fstream>

#include "muffle/core/container.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/job/proposal.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/schema/schema.hpp"
#include "muffle/train/checkpoint.hpp"
#include "pair_graph/stepped_release.hpp"
#include "privacy/ledger_entry.hpp"
#include "release/sample_artifact.hpp"
#include "round/several_rounds.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace muffle;
namespace fs = std::filesystem;

fs::path corpus;
const test::TemporaryFolder scratch;

void seed(const std::string& target, const std::string& name, const std::string& bytes) {
  fs::create_directories(corpus / target);
  std::ofstream(corpus / target / name, std::ios::binary) << bytes;
}

/// The length that goes before a piece.
std::string piece(const std::string& bytes) {
  return {static_cast<char>(bytes.size() & 0xFF), static_cast<char>(bytes.size() >> 8)};
}

/// A container as a file, and as its parts, which the target puts together.
void seed_both(const std::string& target, const std::string& name, const Container& c) {
  const std::string header = c.header.dump();
  const std::string payload(reinterpret_cast<const char*>(c.payload.data()), c.payload.size());
  seed(target, "file" + name, "R" + serialize(c));
  seed(target, "header" + name, "H" + piece(header) + header + payload);
}

void artifacts() {
  using namespace release;
  int number = 0;
  using testing_artifact::Settings;
  for (const Settings& settings : {Settings{.classes = 1, .features = 2},
                                   Settings{.counts = true, .classes = 2, .features = 4, .coarse = true},
                                   Settings{.adjacency = privacy::Adjacency::kAddRemoveOne,
                                   .counts = true,
                                   .records_per_person = 3,
                                   .epsilon = 0.2,
                                   .classes = 2,
                                   .features = 2},
                                   Settings{.classes = 2, .rff = false, .moments = true},
                                   Settings{.adjacency = privacy::Adjacency::kAddRemoveOne,
                                   .epsilon = 5,
                                   .classes = 1,
                                   .features = 2,
                                   .moments = true,
                                   .proxy = true,
                                   .weight = 0.3}}) {
    Artifact a = testing_artifact::sample_artifact(settings);
    a.is_private = number != 1;
    const privacy::SignedSites sites{2, 1};
    if (number == 1) a.aggregation = privacy::Masked{2, sites};
    if (number > 1) a.aggregation = privacy::DistributedNoise{2, 1, sites};
    seed_both("artifact", "-" + std::to_string(number++),
              parse_container(artifact_bytes(a), "muffle-release", kArtifactVersion, "seed"));
  }
  const Settings minibatches{.classes = 1, .features = 2, .minibatches = {.batches = 3, .epochs = 2}};
  seed_both("artifact", "-minibatches",
            parse_container(artifact_bytes(testing_artifact::sample_artifact(minibatches)), "muffle-release",
                            kArtifactVersion, "seed"));
  seed_both("artifact", "-tables",
            parse_container(artifact_bytes(testing_artifact::sample_tables()), "muffle-release",
                            kArtifactVersion, "seed"));
}

/// Of institutions, in three rounds; in the second one a key holder was missing.
void release_of_rounds() {
  round::SeveralRounds s(0, {4, 4, 3, 1, 4, 1, 1});
  for (std::size_t r = 0; r < 3; ++r) {
    if (r > 0) s.propose();
    s.run_without(r, r == 1 ? 0 : s.c.world.holders.size());
  }
  const std::string bytes = s.c.in_exchange(release::release_name(s.rounds.back().id));
  const Container counted = parse_container(bytes, "muffle-release", release::kArtifactVersion, "seed");
  seed_both("artifact", "-rounds", counted);
  seed_both("rounds", "-counted", counted);
}

/// What goes on step by step, from codes of a lift and along principal components.
void releases_of_steps() {
  for (const std::string components : {"", "2"}) {
    const std::string bytes =
        artifact_bytes(test::decoder_release(test::schema_of({1, 4, 4}, 1), "2", components).whole());
    seed_both("rounds", components.empty() ? "-steps" : "-components",
              parse_container(bytes, "muffle-release", release::kArtifactVersion, "seed"));
  }
}

void job_proposals() {
  namespace testing_artifact = release::testing_artifact;
  const release::ReleasePlan plan = testing_artifact::sample_plan({.classes = 1, .features = 2});
  const privacy::SignedSites sites{2, 1};
  seed("job", "single", "0" + job::proposal_text({plan, privacy::SingleCoordinator{2}, 1, "other stays"}));
  seed("job", "masked", "1" + job::proposal_text({plan, privacy::Masked{2, sites}, 1, "stays"}));
  seed("job", "rounds",
       "2" + job::proposal_text(
                 {testing_artifact::rounds_plan(), privacy::DistributedNoise{3, 1}, 1, "stays"}));
}

void containers() {
  const Container c{{{"format", "muffle-model"}, {"version", 1}, {"tensors", {1, 2.5, "x"}}},
                    std::vector<std::byte>(8)};
  seed("container", "file", "R" + serialize(c));
  seed("container", "mended", "M" + serialize(c));
}

void checkpoints() {
  train::Checkpoint c{"train", "release", "0.1.0", 2, 1, 12, 0.5, 0.25, {}};
  c.tensors = {{"parameter/a", {2, 1}, {1, -2.5f}}, {"buffer/b", {0}, {}}, {"adam.mean/a", {}, {0.1f}}};
  c.chosen = {8, 0.125, {{"parameter/a", {2, 1}, {0.5f, 2}}}};
  seed_both("checkpoint", "",
            parse_container(serialize(c), "muffle-checkpoint", train::kCheckpointVersion, "seed"));
}

void moments_models() {
  const auto add = [](const std::string& name, const std::string& lift, schema::Schema schema) {
    schema.classes = 2;
    moments::MomentsModel m;
    std::unique_ptr<features::Lift> built = features::make_lift(lift);
    built->resolve(schema);
    built->build();
    m.moments = {std::move(built), 2.0, 16};
    const auto n = static_cast<Eigen::Index>(m.moments.lift->coefficients());
    for (int c = 0; c < 2; ++c) {
      m.mean.push_back(Eigen::VectorXd::Constant(n, 0.5 - c));
      m.factor.push_back(Eigen::MatrixXd::Identity(n, n));
    }
    const model::ModelContent content = model::content_of(m);
    const Container c{{{"format", "muffle-model"},
                       {"version", 3},
                       {"schema", to_json(schema)},
                       {"content", content.description}},
                      content.payload};
    seed_both("moments_model", "-" + name, c);
  };
  schema::Schema schema;
  schema.shape = {1, 4, 4};
  add("image", "image", schema);
  schema.shape = {3};
  add("vector", "vector", schema);
}

/// Made by the keys of one moment: another run writes others.
void messages() {
  using namespace release;
  const crypto::SiteKey key = crypto::SiteKey::generate("north");
  const ReleasePlan plan = testing_artifact::sample_plan({.classes = 1, .features = 2});
  Proposal proposal{
      .title = "stays", .plan = plan, .parties = {2, 2, 2, 1, 3, 1, 0}, .sites = {}, .holders = {}};
  for (const char* name : {"north", "south"})
    proposal.sites.push_back({name, crypto::SiteKey::generate(name).public_key()});
  for (const char* name : {"a", "b", "c"})
    proposal.holders.push_back(
        {{name, crypto::SiteKey::generate(name).public_key()}, 1, crypto::ExchangeKey::generate().point()});
  proposal.contribute_until = proposal.open_until = 1'800'000'000;
  const Contribution contribution{.commitments = std::vector<crypto::PairCommitment>(3),
                                  .macs = std::vector<crypto::PairMac>(3),
                                  .charge = std::string(32, 'c'),
                                  .data_id = "stays"};
  const auto add = [&](char letter, MessageKind kind, nlohmann::json body, std::vector<std::uint64_t> numbers,
                       const char* more = "") {
    const std::string name = std::string(name_of(kind)) + more;
    SignedHeader header{.kind = kind};
    header.body = std::move(body);
    header = sign(std::move(header), key, numbers);
    seed("messages", name, letter + header.body.dump());
    seed("messages", name + "-file", "R" + message_bytes(header, numbers));
    return header;
  };
  add('P', MessageKind::kProposal, body_of(proposal), {});
  const SignedHeader one = add('C', MessageKind::kContribution, body_of(contribution), {1, 2, 3});
  add('S', MessageKind::kSeal, body_of(Seal{{one, one}}), {});
  add('O', MessageKind::kOpening, body_of(Opening{{key.public_key()}, true}), {4, 5});
  Contribution shared = contribution;
  shared.commitments.resize(4);
  shared.macs.resize(4);
  shared.boxes.assign(4, std::string(2 * box_bytes(4), 'b'));
  add('B', MessageKind::kContribution, body_of(shared), {1}, "-boxes");
  add('Q', MessageKind::kStandInRequest, body_of(StandInRequest{{key.public_key()}}), {});
  add('I', MessageKind::kStandIn, body_of(StandIn{{{key.public_key(), std::vector<crypto::KeyShare>(3)}}}),
      {});
  Proposal shares = proposal;
  shares.holders.push_back(
      {{"d", crypto::SiteKey::generate("d").public_key()}, 1, crypto::ExchangeKey::generate().point()});
  shares.parties.holders = 4;
  shares.parties.missing_holders = 1;
  shares.stand_in_until = shares.open_until;
  add('P', MessageKind::kProposal, body_of(shares), {}, "-missing");
  Proposal later = proposal;
  later.plan = testing_artifact::rounds_plan();
  later.later = {2, {}, {}, {}};
  add('P', MessageKind::kProposal, body_of(later), {}, "-later");
  const OpenedBy opened{.opening = one.id()}, stood_in{.stand_ins = {one.id()}};
  add('U', MessageKind::kSum, body_of(Sum{{opened, opened, opened}, true}), {6, 7});
  add('U', MessageKind::kSum, body_of(Sum{{opened, stood_in, opened}, true}), {6, 7}, "-missing");
  Card card{.name = "north", .box = crypto::ExchangeKey::generate().point(), .coordinator = true};
  const SignedHeader coordinator = add('K', MessageKind::kCard, body_of(card), {});
  const crypto::SiteKey south = crypto::SiteKey::generate("south");
  card = {.name = "south", .box = card.box, .site = true, .key_holder = true};
  SignedHeader member{.kind = MessageKind::kCard};
  member.body = body_of(card);
  add('H', MessageKind::kCharter,
      body_of(Charter{.title = "stays",
                      .admission = "by telephone",
                      .cards = {coordinator, sign(std::move(member), south)},
                      .revoked = {crypto::SiteKey::generate("west").public_key()}}),
      {});
  add('N', MessageKind::kRoundKeys,
      body_of(
          RoundKeys{16, {crypto::ExchangeKey::generate().point(), crypto::ExchangeKey::generate().point()}}),
      {});
}

/// What the server hears: a method, a target, a range, a body.
void requests() {
  const std::string target = "/v1/messages/card-0123456789abcdef.mfm?offset=0&size=4&sha256=" +
                             to_hex(sha256(PublicBytes(std::string_view("card"))));
  const auto add = [](const std::string& name, const std::string& method, const std::string& at,
                      const std::string& range, const std::string& body) {
    seed("shelf", name, piece(method) + method + piece(at) + at + piece(range) + range + body);
  };
  add("list", "GET", "/v1/messages", "", "");
  add("get", "GET", "/v1/messages/seal", "bytes=0-3", "");
  add("put", "PUT", target, "", "card");
  add("nowhere", "GET", "/", "", "");
}

/// What the client hears: 'L' a list, 'R' a Content-Range.
void answers() {
  seed("answers", "list",
       R"(L{"format":"muffle-exchange","version":1,"messages":[{"name":"seal","size":3}]})");
  seed("answers", "error", R"(L{"format":"muffle-exchange","version":1,"error":"no"})");
  seed("answers", "range", "Rbytes 0-9/100");
  seed("answers", "none", "Rbytes */100");
}

void ledgers() {
  using namespace privacy::ledger;
  Entry entry{0, std::string(64, '0'), "patients-2024", "2026-11-21T01:19:12Z", "host", BudgetLine{}};
  std::string text;
  const auto add = [&](auto content) {
    entry.content = content;
    const std::string line = render(entry);
    text += line + "\n";
    entry.previous = to_hex(sha256(PublicBytes(line)));
    ++entry.sequence;
  };
  const std::string charge(32, '7'), hash(64, 'c');
  add(BudgetLine{});
  add(BudgetLine{privacy::Budget::from_epsilon(1, 1e-5)});
  add(IntentLine{charge, {"/runs/a/release.mfl", hash, 0.125, 2, 16, true, {}}});
  add(ArtifactLine{charge, hash, false});
  add(ArtifactLine{charge, hash, true});
  add(RepairLine{10, hash, 0.0, std::nullopt});
  add(RepairLine{10, hash, 0.0625, privacy::PrivacyUnit{}});
  add(IntentLine{std::string(32, '8'), {"/runs/b/release.mfl", hash, 0.01, 2, 200, false, {}}});
  seed("ledger", "file", "R" + text);
  seed("ledger", "mended", "M" + text);
  seed("ledger", "torn", "R" + text.substr(0, text.size() - 70));
  seed("ledger", "hole", "R" + text + std::string(9, '\0') + "\n");
}

void keys() {
  // The seed of a key that protects nothing: its secret half is public for ever.
  const crypto::SiteKey key = crypto::SiteKey::generate("fuzz");
  key.save(scratch / "fuzz.key");
  const std::string hex = crypto::to_hex(key.public_key());
  seed("keys", "key", "K" + read_file(scratch / "fuzz.key"));
  seed("keys", "roster",
       "R# two sites\n0 a " + hex + "\n1 a " + hex + "\n2 b " + std::string(64, '5') + "\n");
  seed("keys", "public", "Pfuzz " + hex + " # ours\n");
  seed("keys", "signature", "S" + crypto::sign_release(key, "release"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  corpus = argv[1];
  artifacts();
  containers();
  checkpoints();
  moments_models();
  ledgers();
  messages();
  release_of_rounds();
  releases_of_steps();
  job_proposals();
  requests();
  answers();
  keys();
  return 0;
}
