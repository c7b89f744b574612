// One release by the ledger's protocol, as `muffle release` does it, on an embedding of nothing but sevens.
//   ledger_driver LEDGER RUN_FOLDER DRAWS_FOLDER MU BUDGET_MU
// Every time that noise asks for entropy for a charge, a file DRAWS_FOLDER/<charge>.<process> appears first:
// two files of one charge are two draws. Prints the artifact's SHA-256; exits as muffle does.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/privacy/ledger.hpp"

namespace {

using namespace muffle;
using namespace muffle::privacy;

class CountedEntropy final : public EntropySource {
 public:
  CountedEntropy(const std::string& draws, const std::string& charge) : real_(os_entropy()) {
    const std::string mark = draws + "/" + charge + "." + std::to_string(::getpid());
    const int fd = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
    require(fd >= 0, "cannot mark a draw in " + mark);
    ::close(fd);
  }
  void fill(std::span<std::byte> out) override { real_->fill(out); }
  bool is_secure() const override { return true; }

 private:
  std::unique_ptr<EntropySource> real_;
};

std::string release(const std::filesystem::path& ledger_file, const std::filesystem::path& run,
                    const std::string& draws, double mu, double budget) {
  const std::filesystem::path file = run / "release.mfl";
  std::filesystem::create_directories(run);
  const ChargeTerms terms{file.string(), std::string(64, 'c'), mu, 1.0, 1.0 / mu, true};
  Ledger ledger =
      Ledger::open(ledger_file, "kill-test", Budget::from_mu(budget, 1e-5), std::chrono::seconds(60));
  std::optional<FoundArtifact> found;
  if (std::filesystem::exists(file)) {
    const Container container = read_container(file, "kill-test", 1);
    found = {container.header.at("charge").get<std::string>(), sha256_file_hex(file.string()), terms};
  }
  if (ledger.settle(terms, found)) return found->sha256;

  const std::string charge = ledger.begin(terms);
  CountedEntropy entropy(draws, charge);
  NoiseVector noise(64, std::uint64_t{1} << 30, entropy);
  const NoisySum noisy = std::move(noise).publish(RawSum(std::vector<std::uint64_t>(64, 7)));
  Container container;
  container.header = {{"format", "kill-test"}, {"version", 1}, {"charge", charge}};
  const auto bytes = std::as_bytes(std::span(noisy.values));
  container.payload.assign(bytes.begin(), bytes.end());
  const std::string hash = write_container(file, container);
  ledger.commit(charge, hash);
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return static_cast<int>(ExitCode::kUsage);
  try {
    std::cout << release(argv[1], argv[2], argv[3], std::strtod(argv[4], nullptr),
                         std::strtod(argv[5], nullptr))
              << '\n';
    return 0;
  } catch (const Error& e) {
    std::cerr << e.what() << '\n';
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
