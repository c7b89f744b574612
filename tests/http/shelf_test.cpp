// The server's answers, without a network.
#include "http/shelf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::http {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ShelfTest : public testing::Test {
 protected:
  Shelf shelf() const {
    return Shelf(
        scratch_.path(),
        [this](const Arriving& m) -> std::optional<Refusal> {
          ++asked_;
          if (m.name.starts_with("stranger")) return Refusal{403, "nobody knows you."};
          if (m.size > 10'000'000) return Refusal{413, "too long."};
          return std::nullopt;
        },
        limits_);
  }
  static Reply put(Shelf& shelf, const std::string& name, std::string_view whole, std::uint64_t offset,
                   std::uint64_t bytes, const std::string& digest = {}) {
    const std::string target = std::string(kMessagesPath) + "/" + name + "?offset=" + std::to_string(offset) +
                               "&size=" + std::to_string(whole.size()) +
                               "&sha256=" + (digest.empty() ? to_hex(sha256(PublicBytes(whole))) : digest);
    return shelf.answer({"PUT", target, std::nullopt, whole.substr(offset, bytes)});
  }
  static Reply get(Shelf& shelf, const std::string& path, std::optional<std::string> range = {}) {
    return shelf.answer({"GET", std::string(kMessagesPath) + path, std::move(range), {}});
  }
  static std::uint64_t have(const Reply& reply) {
    return json::parse(reply.body).at("have").get<std::uint64_t>();
  }
  std::vector<std::string> spooled() const {
    std::vector<std::string> out;
    for (const auto& file : fs::directory_iterator(scratch_ / ".incoming"))
      out.push_back(file.path().filename().string());
    return out;
  }

  test::TemporaryFolder scratch_;
  Limits limits_;
  mutable int asked_ = 0;
  const std::string long_ = std::string(200'000, 'a') + std::string(100'000, 'b');
};

TEST_F(ShelfTest, AMessageInPartsIsThereWholeOrNotAtAll) {
  Shelf s = shelf();
  EXPECT_EQ(put(s, "m", long_, 0, 100'000).status, 202);
  EXPECT_EQ(json::parse(get(s, "").body).at("messages"), json::array()) << "a part is no message";
  EXPECT_EQ(get(s, "/m").status, 404);
  EXPECT_EQ(have(put(s, "m", long_, 100'000, 100'000)), 200'000u);
  EXPECT_EQ(put(s, "m", long_, 200'000, 100'000).status, 201);
  EXPECT_EQ(get(s, "/m").body, long_);
  EXPECT_EQ(asked_, 1) << "its header is in its first part";
  EXPECT_TRUE(spooled().empty());
  EXPECT_EQ(json::parse(get(s, "").body).at("messages"), json::parse(R"([{"name": "m", "size": 300000}])"));
}

TEST_F(ShelfTest, PartsMayComeTwiceAndASenderWhoWasCutOffGoesOn) {
  Shelf s = shelf();
  EXPECT_EQ(have(put(s, "m", long_, 100'000, 100'000)), 0u) << "nothing is here yet";
  EXPECT_EQ(have(put(s, "m", long_, 0, 100'000)), 100'000u);
  EXPECT_EQ(have(put(s, "m", long_, 0, 100'000)), 100'000u) << "again";
  EXPECT_EQ(have(put(s, "m", long_, 50'000, 100'000)), 150'000u) << "half of it is new";
  EXPECT_EQ(have(put(s, "m", long_, 250'000, 50'000)), 150'000u) << "a gap is filled first";
  Shelf restarted = shelf();
  EXPECT_EQ(have(put(restarted, "m", long_, 0, 100'000)), 150'000u);
  EXPECT_EQ(put(restarted, "m", long_, 150'000, 150'000).status, 201);
  EXPECT_EQ(put(restarted, "m", long_, 0, 100'000).status, 200) << "sent again, as after a crash";
  EXPECT_EQ(read_file(scratch_ / "m"), long_);
}

TEST_F(ShelfTest, AMessageIsNeverReplaced) {
  Shelf s = shelf();
  EXPECT_EQ(put(s, "m", "one", 0, 3).status, 201);
  EXPECT_EQ(put(s, "m", "two", 0, 3).status, 409);
  EXPECT_EQ(put(s, "m", "longer", 0, 6).status, 409);
  // Somebody else's is placed while ours is under way.
  EXPECT_EQ(put(s, "n", long_, 0, 200'000).status, 202);
  std::ofstream(scratch_ / "n") << "other";
  EXPECT_EQ(put(s, "n", long_, 200'000, 100'000).status, 409);
  EXPECT_EQ(get(s, "/m").body, "one");
  EXPECT_EQ(get(s, "/n").body, "other");
}

TEST_F(ShelfTest, OtherBytesThanWereAnnouncedAreErased) {
  Shelf s = shelf();
  const std::string digest = to_hex(sha256(PublicBytes("what was meant")));
  EXPECT_EQ(put(s, "m", long_, 0, 200'000, digest).status, 202);
  EXPECT_EQ(put(s, "m", long_, 200'000, 100'000, digest).status, 422);
  EXPECT_TRUE(spooled().empty());
  EXPECT_EQ(get(s, "/m").status, 404);
  EXPECT_EQ(put(s, "m", long_, 0, 300'000).status, 201);
}

TEST_F(ShelfTest, WhatIsRefusedLeavesNothing) {
  Shelf s = shelf();
  EXPECT_EQ(put(s, "stranger", "x", 0, 1).status, 403);
  EXPECT_EQ(put(s, "m", std::string(10'000'001, 'x'), 0, 100'000).status, 413);
  EXPECT_EQ(put(s, "m", long_, 0, 1000).status, 400) << "a first part too short to tell";
  EXPECT_EQ(put(s, "m", long_, 300'000, 0).status, 400) << "an empty part";
  EXPECT_EQ(s.answer({"PUT",
                      std::string(kMessagesPath) + "/m?offset=0&size=1&sha256=" + std::string(64, 'a'),
                      {},
                      "xy"})
                .status,
            400);
  for (const char* name : {"..", ".hidden", "a%2Fb", "a/b", "-a", ""})
    EXPECT_EQ(put(s, name, "x", 0, 1).status, 400) << name;
  for (const char* query : {"", "?offset=0", "?offset=-1&size=1&sha256=", "?size=1&offset=0"})
    EXPECT_EQ(s.answer({"PUT", std::string(kMessagesPath) + "/m" + query, {}, "x"}).status, 400) << query;
  EXPECT_EQ(s.answer({"DELETE", std::string(kMessagesPath) + "/m", {}, {}}).status, 405);
  for (const char* path : {"/", "/v1", "/v1/messagesX", "/etc/passwd", "/v1/../etc/passwd"})
    EXPECT_EQ(s.answer({"GET", path, {}, {}}).status, 404) << path;
  EXPECT_TRUE(spooled().empty());
  EXPECT_EQ(json::parse(get(s, "").body).at("messages"), json::array());
}

TEST_F(ShelfTest, TheSpoolIsBoundedAndForgets) {
  limits_.spool_bytes = 500'000;
  Shelf s = shelf();
  EXPECT_EQ(put(s, "one", long_, 0, 100'000).status, 202);
  EXPECT_EQ(put(s, "two", long_, 0, 100'000).status, 503) << "what is announced counts";
  EXPECT_EQ(put(s, "small", "here at once", 0, 12).status, 201);
  const std::string other(300'000, 'c');
  EXPECT_EQ(put(s, "one", other, 0, 100'000).status, 202) << "in the place of the first bytes of that name";
  EXPECT_EQ(spooled().size(), 1u);
  for (const auto& file : fs::directory_iterator(scratch_ / ".incoming"))
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_EQ(put(s, "two", long_, 0, 100'000).status, 202) << "the old one is given up";
  EXPECT_EQ(spooled().size(), 1u);
  EXPECT_THAT(spooled().front(), testing::StartsWith("two~300000~"));
}

TEST_F(ShelfTest, Ranges) {
  limits_.part_bytes = 1000;
  std::ofstream(scratch_ / "m") << long_;
  std::ofstream(scratch_ / "empty");
  Shelf s = shelf();
  const Reply part = get(s, "/m", "bytes=199999-200000");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "ab");
  EXPECT_EQ(part.content_range, "bytes 199999-200000/300000");
  EXPECT_EQ(get(s, "/m", "bytes=299999-400000").body, "b") << "cut to the end";
  EXPECT_EQ(get(s, "/m", "bytes=0-299999").content_range, "bytes 0-999/300000") << "cut to a part";
  EXPECT_EQ(get(s, "/m").status, 400) << "more than a part at once";
  for (const char* range :
       {"bytes=300000-300001", "bytes=5-4", "bytes=-5", "bytes=5-", "bytes=0-1,3-4", "lines=1-2"}) {
    EXPECT_EQ(get(s, "/m", range).status, 416) << range;
    EXPECT_EQ(get(s, "/m", range).content_range, "bytes */300000");
  }
  EXPECT_EQ(get(s, "/empty", "bytes=0-0").status, 200);
}

TEST_F(ShelfTest, WhatTheDiskDoesNotDoIsNoCrash) {
  Shelf s = shelf();
  fs::remove(scratch_ / ".incoming");
  std::ofstream(scratch_ / ".incoming") << "a file in its place";
  const Reply reply = put(s, "m", "x", 0, 1);
  EXPECT_EQ(reply.status, 507);
  EXPECT_THAT(reply.body, testing::Not(testing::HasSubstr(scratch_.path().string())))
      << "a path is nobody's business";
}

}  // namespace
}  // namespace muffle::http
