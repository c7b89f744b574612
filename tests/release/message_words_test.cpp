// What a reviewer at the firewall is told of one file.
#include "muffle/release/message_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muffle/crypto/fingerprint.hpp"
#include "muffle/release/message_names.hpp"
#include "site/small_consortium.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace message_words_test {

using testing::HasSubstr;
using testing::Not;

TEST(MessageInWords, SaysKindSignerRoundAndThatItHasNoValues) {
  const test::SmallConsortium all;
  const std::string bytes = message_bytes(all.cards[1]);
  const std::string card = message_in_words("to/go/" + card_name(all.cards[1].sender), bytes);
  EXPECT_THAT(card, HasSubstr("card-" + crypto::short_fingerprint(all.cards[1].sender) + ".mfm, " +
                              std::to_string(bytes.size()) + " bytes"));
  EXPECT_THAT(card, HasSubstr(crypto::in_words(crypto::fingerprint(all.cards[1].sender))));
  EXPECT_THAT(card, HasSubstr("values       none"));
  EXPECT_THAT(card, Not(HasSubstr("round ")));
  EXPECT_THAT(card, HasSubstr("is that of such a message"));
  EXPECT_THAT(message_in_words("card-0000000000000000.mfm", bytes), HasSubstr("IS NOT that of"));
  const ProposedRound round = all.round(all.proposal());
  EXPECT_THAT(message_in_words("p", all.proposed(all.proposal())), HasSubstr(short_id(round.id)));
}

TEST(MessageInWords, NumbersAreMaskedOrDoNotBelongThere) {
  const test::SmallConsortium all;
  const ProposedRound round = all.round(all.proposal());
  const std::vector<std::uint64_t> numbers(7, 0x5EC2E7);
  const auto words = [&](MessageKind kind, const nlohmann::json& body) {
    SignedHeader header{.kind = kind};
    header.round = round.id;
    header.body = body;
    header = sign(std::move(header), all.sites[0], numbers);
    return message_in_words("m", message_bytes(header, numbers));
  };
  const std::string contribution = words(MessageKind::kContribution, {{"records", 0}});
  EXPECT_THAT(contribution, HasSubstr("7 numbers of 8 bytes, masked"));
  EXPECT_THAT(contribution, HasSubstr(short_id(round.id)));
  EXPECT_THAT(contribution, Not(HasSubstr("its site has")));
  EXPECT_THAT(contribution, Not(HasSubstr(std::to_string(0x5EC2E7)))) << "what they are it does not say";
  EXPECT_THAT(words(MessageKind::kContribution, {{"records", 812}}), HasSubstr("its site has 812"));
  EXPECT_THAT(words(MessageKind::kContribution, {{"data_id", "stays"}}),
              HasSubstr("calls these records 'stays'"));
  EXPECT_THAT(words(MessageKind::kDecline, {{"code", "person"}}), HasSubstr("do not let it pass"));
}

TEST(MessageInWords, WhatIsChangedIsNoMessage) {
  const test::SmallConsortium all;
  std::string bytes = message_bytes(all.cards[1]);
  bytes[bytes.find("NORTH")] = 'M';
  test::expect_error(ExitCode::kProtocol, {"card"}, [&] { (void)message_in_words("card", bytes); });
  test::expect_error(ExitCode::kProtocol, {"notes.txt"},
                     [] { (void)message_in_words("notes.txt", "hello"); });
}

}  // namespace message_words_test
}  // namespace muffle::release
