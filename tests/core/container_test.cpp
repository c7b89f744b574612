#include "muffle/core/container.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "muffle/core/container_view.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "support/container_around.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"
#include "support/temporary_folder.hpp"

namespace muffle {
namespace {

using test::expect_error;

Container example() {
  Container c;
  c.header = {{"format", "example"}, {"version", 3}, {"name", "Zoë"}};
  for (int i = 0; i < 100; ++i) c.payload.push_back(static_cast<std::byte>(i * 7));
  return c;
}

Container parse(std::string_view bytes) { return parse_container(bytes, "example", 3, "a.mfl"); }

/// The checksum made right again, to reach the checks behind it.
std::string resigned(std::string bytes) {
  if (bytes.size() < 32) return bytes;
  bytes.resize(bytes.size() - 32);
  const Sha256Digest digest = sha256(PublicBytes(bytes));
  return bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

TEST(Container, AViewHasThePayloadWhereItLies) {
  const std::string bytes = serialize(example().header, example().payload);
  EXPECT_EQ(bytes, serialize(example()));
  EXPECT_EQ(bytes.capacity(), bytes.size()) << "one allocation, of no more than it holds";
  const ContainerView view = view_container(bytes, "example", 3, "a.mfl");
  EXPECT_EQ(view.header, example().header);
  EXPECT_EQ(view.payload.size(), example().payload.size());
  EXPECT_TRUE(view.payload.data() > bytes.data() && view.payload.data() < bytes.data() + bytes.size());
  expect_error(ExitCode::kProtocol, {"a.mfl"},
               [&] { (void)view_container(std::string_view(bytes).substr(1), "example", 3, "a.mfl"); });
}

TEST(Container, ReadsBackWhatItWrote) {
  const Container out = parse(serialize(example()));
  EXPECT_EQ(out.header, example().header);
  EXPECT_EQ(out.payload, example().payload);
}

TEST(Container, KeepsAnEmptyPayload) {
  Container c = example();
  c.payload.clear();
  EXPECT_TRUE(parse(serialize(c)).payload.empty());
}

TEST(Container, HasTheDocumentedLayout) {
  const Container c{{{"format", "f"}, {"version", 1}}, {std::byte{0xAB}, std::byte{0xCD}}};
  const std::string header = c.header.dump();
  std::string want = std::string("MUFFLE\r\n") + std::string("\x01\0\0\0", 4);
  want += static_cast<char>(header.size());
  want += std::string(3, '\0') + header + std::string("\x02\0\0\0\0\0\0\0\xAB\xCD", 10);
  EXPECT_EQ(serialize(c), resigned(want + std::string(32, '?')));
}

TEST(Container, RefusesAFlippedByteAtEveryPosition) {
  const std::string good = serialize(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    expect_error(ExitCode::kProtocol, {"a.mfl", "Copy it again"}, [&] { parse(bad); });
  }
}

TEST(Container, RefusesTruncationAtEveryLength) {
  const std::string good = serialize(example());
  for (std::size_t n = 0; n < good.size(); ++n) {
    expect_error(ExitCode::kProtocol, {"a.mfl"}, [&] { parse(std::string_view(good).substr(0, n)); });
    expect_error(ExitCode::kProtocol, {"a.mfl"}, [&] { parse(resigned(good.substr(0, n))); });
  }
}

TEST(Container, RefusesTrailingBytes) {
  expect_error(ExitCode::kProtocol, {"length", "bytes added"}, [] { parse(serialize(example()) + "x"); });
  expect_error(ExitCode::kProtocol, {"length", "bytes added"},
               [] { parse(resigned(serialize(example()) + "x")); });
}

TEST(Container, RefusesAnotherFormatAndOtherVersions) {
  const std::string bytes = serialize(example());
  expect_error(ExitCode::kProtocol, {"a.mfl", "'example' file"},
               [&] { parse_container(bytes, "release", 3, "a.mfl"); });
  expect_error(ExitCode::kProtocol, {"of version 3", "reads version 4"},
               [&] { parse_container(bytes, "example", 4, "a.mfl"); });
  std::string newer = bytes;
  newer[8] = 2;
  expect_error(ExitCode::kProtocol, {"container version is 2", "reads 1"}, [&] { parse(resigned(newer)); });
}

std::string with_header(const std::string& text) { return test::container_around(text, ""); }

TEST(Container, RefusesAHeaderThatIsNotItsOwn) {
  for (const char* header :
       {"[]", "{}", "{", R"({"format":1,"version":3})", R"({"format":"example"})",
        R"({"format":"example","version":"3"})", R"({"format":"example","version":3.5})"}) {
    expect_error(ExitCode::kProtocol, {"header is not readable"}, [&] { parse(with_header(header)); });
  }
}

TEST(Container, RefusesASecondSpellingOfAHeader) {
  EXPECT_NO_THROW(parse(with_header(R"({"epsilon":0.1,"format":"example","version":3})")));
  for (const char* header : {R"({"epsilon":10.0,"epsilon":0.1,"format":"example","version":3})",
                             R"({"format":"example","version":3,"epsilon":0.1})",
                             R"({"epsilon":0.1, "format":"example","version":3})",
                             R"({"epsilon":1e-1,"format":"example","version":3})",
                             R"({"epsilon":0.1,"format":"ex\u0061mple","version":3})"}) {
    expect_error(ExitCode::kProtocol, {"not spelt as muffle spells it"}, [&] { parse(with_header(header)); });
  }
  // Deep enough to use up a stack.
  const std::size_t deep = 1'000'000;
  const std::string nested =
      R"({"a":)" + std::string(deep, '[') + std::string(deep, ']') + R"(,"format":"example","version":3})";
  expect_error(ExitCode::kProtocol, {"not spelt as muffle spells it"}, [&] { parse(with_header(nested)); });
}

TEST(Container, ItsBeginningTellsItsHeaderAndItsSize) {
  const std::string whole = serialize(example());
  const std::size_t enough = whole.size() - example().payload.size() - 32;
  const auto start = [](std::string_view bytes) { return parse_container_start(bytes, "example", 3, "x"); };
  for (const std::size_t bytes : {enough, enough + 1, whole.size()}) {
    EXPECT_EQ(start(std::string_view(whole).substr(0, bytes)).header, example().header);
    EXPECT_EQ(start(std::string_view(whole).substr(0, bytes)).size, whole.size());
    EXPECT_EQ(start(std::string_view(whole).substr(0, bytes)).payload, example().payload.size());
  }
  for (std::size_t bytes = 0; bytes < enough; ++bytes)
    expect_error(ExitCode::kProtocol, {"'x'"},
                 [&] { (void)start(std::string_view(whole).substr(0, bytes)); });
  expect_error(ExitCode::kProtocol, {"'example'"},
               [&] { (void)parse_container_start(whole, "other", 3, "x"); });
  std::string endless = whole;
  for (std::size_t i = enough - 8; i < enough; ++i) endless[i] = '\xff';
  expect_error(ExitCode::kProtocol, {"more bytes than there can be"}, [&] { (void)start(endless); });
}

TEST(Container, MutatedInputParsesOrThrowsAnError) {
  const std::string good = serialize(example());
  test::Mutator mutate(1);
  int parsed = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = mutate(good);
    if (i % 2 == 1) bytes = resigned(bytes);
    try {
      parse(bytes);
      ++parsed;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kProtocol);
    }
  }
  EXPECT_GT(parsed,
            10);  // re-signed damage to the payload alone is a good container: the loop reached the end
  EXPECT_LT(parsed, 2000);
}

}  // namespace
}  // namespace muffle
