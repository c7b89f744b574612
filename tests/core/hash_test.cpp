#include "muffle/core/hash.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <type_traits>

#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle {
namespace {

// FIPS 180-4 examples.
TEST(Sha256, MatchesThePublishedExamples) {
  EXPECT_EQ(to_hex(sha256(PublicBytes(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(PublicBytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(PublicBytes(std::string(1000000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Texts, bytes and files are hashed by those alone who say that they are public.
template <class T>
constexpr bool kHashed = requires(T data) {
  sha256(data);
}
|| requires(Sha256 hash, T data) { hash.update(data); };
template <class... T>
constexpr bool kNoneIsHashed = !(kHashed<T> || ...) && !(std::is_convertible_v<T, PublicBytes> || ...) &&
                               !(std::is_convertible_v<T, PublicFile> || ...);
static_assert(kHashed<PublicBytes>);
static_assert(kNoneIsHashed<std::string, std::string_view, const char*, std::span<const std::byte>,
                            std::span<const float>, std::vector<std::byte>, std::filesystem::path>);
static_assert(!kHashed<PublicFile>);

TEST(Sha256, PiecesHashLikeTheWhole) {
  const std::string text = "muffle";
  EXPECT_EQ(sha256(PublicBytes(std::as_bytes(std::span(text)))), sha256(PublicBytes("muffle")));
  Sha256 pieces;
  for (const char* piece : {"mu", "", "ffle"}) pieces.update(PublicBytes(piece));
  EXPECT_EQ(pieces.digest(), sha256(PublicBytes("muffle")));
}

/// The processor takes whole blocks, the library what is left of them.
TEST(Sha256, HashesAnyPiecesAsTheLibraryDoes) {
  std::string text;
  for (std::size_t i = 0; i < 3000; ++i) text += static_cast<char>(i * i / 7);
  for (std::size_t length = 0; length < text.size(); length += 37) {
    const std::string_view all = std::string_view(text).substr(0, length);
    Sha256 hash;
    for (std::size_t from = 0, piece = length % 200; from < length;
         from += piece, piece = (piece * 5 + 1) % 300)
      hash.update(PublicBytes(all.substr(from, piece)));
    Sha256Digest expected;
    crypto_hash_sha256(expected.data(), reinterpret_cast<const unsigned char*>(all.data()), all.size());
    EXPECT_EQ(hash.digest(), expected) << length;
  }
}

TEST(Sha256, FileHashIsTheHashOfItsBytes) {
  const test::TemporaryFolder folder;
  const std::string text(3 << 20, 'x');  // more than one read
  write_file_atomically(folder / "f", text);
  EXPECT_EQ(sha256_file_hex(PublicFile(folder / "f")), to_hex(sha256(PublicBytes(text))));
  int chunks = 0;
  sha256_file_hex(PublicFile(folder / "f"), [&] { ++chunks; });
  EXPECT_EQ(chunks, static_cast<int>((text.size() + (1 << 20) - 1) >> 20));
  test::expect_error(ExitCode::kIo, {"absent"}, [&] { sha256_file_hex(PublicFile(folder / "absent")); });
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  test::expect_error(ExitCode::kIo, {"fifo", "not a regular file"},
                     [&] { sha256_file_hex(PublicFile(folder / "fifo")); });
}

}  // namespace
}  // namespace muffle
