// The server's answers to requests. Input: three pieces, the method, the target and the range, and a body.
#include <unistd.h>

#include <set>

#include "fuzz.hpp"
#include "http/shelf.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/message_name.hpp"
#include "support/temporary_folder.hpp"

using namespace muffle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  static const std::string kSeal = "the seal";
  fuzz::Input input(data, size);
  http::Request request;
  request.method = std::string(input.piece());
  request.target = std::string(input.piece());
  if (const std::string_view range = input.piece(); !range.empty()) request.range = std::string(range);
  request.body = input.rest();
  write_file_atomically(folder / "seal", std::string_view(kSeal));
  http::Limits limits;
  limits.spool_bytes = 1 << 16;
  http::Shelf shelf(
      folder.path(), [](const http::Arriving&) { return std::optional<http::Refusal>(); }, limits);
  const http::Reply reply = shelf.answer(request);
  static const std::set<int> known{200, 201, 202, 206, 400, 404, 405, 409, 416, 422, 503, 507};
  fuzz::demand(known.contains(reply.status), "an answer of the list");
  fuzz::demand(reply.body.size() <= limits.part_bytes + (1 << 16), "an answer is no longer than a part");
  fuzz::demand(reply.status != 507, "the disk does what it is told");
  if (reply.status == 206 || (reply.status == 200 && !reply.json))
    fuzz::demand(kSeal.find(reply.body) != std::string::npos || reply.body.size() <= size,
                 "what is given is what lies there");
  fuzz::demand(read_file(folder / "seal") == kSeal, "nothing is replaced");
  std::size_t spooled = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().parent_path().filename() == ".incoming") {
      spooled += entry.file_size();
    } else {
      fuzz::demand(is_message_name(entry.path().filename().string()), "a file is called as a message is");
    }
    if (entry.path().filename() != "seal") std::filesystem::remove(entry.path());
  }
  fuzz::demand(spooled <= limits.spool_bytes, "what is on its way is bounded");
  return 0;
}
