#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/interop/array_files.hpp"
#include "muffle/interop/torch_script.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/table_files.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::app {
namespace {

void require_new(bool is_new, const std::filesystem::path& path) {
  if (!is_new)
    throw IoError(fmt::format(
        "'{}' is there already. Nothing is replaced: choose another name, or remove it.", path.string()));
}

void write_new(const std::filesystem::path& path, std::string_view bytes) {
  NewFile file(path);
  file.write(std::as_bytes(std::span(bytes)));
  require_new(file.commit_if_new(), path);
}

/// @returns the file's bytes
std::string exported_model(const std::string& bytes, const ExportCommand& command, std::ostream& printed) {
  const model::ModelParts parts = model::take_apart(bytes, command.file);
  if (!parts.header.at("is_private").get<bool>())
    printed
        << "export: the model is NOT PRIVATE: it was made from a release with seeded test noise, or none\n";
  if (command.format == "npz") return interop::npz_bytes(parts);
  if (command.format == "safetensors") return interop::safetensors_bytes(parts);
  const model::Model model = model::parse_model(bytes, command.file);
  const auto& table = model.info.schema.table;
  if (table && !table->constraints.empty())
    printed << "export: `muffle sample` moves rows until the schema's constraints hold; a TorchScript module "
               "does not\n";
  if (table &&
      std::ranges::any_of(table->columns, [](const auto& c) { return c.since || c.derived || c.time_of; }))
    printed
        << "export: `muffle sample` writes dates that count since another, datetimes of a day and a time of "
           "day, and columns that are derived; a TorchScript module has what they are made of\n";
  return interop::torch_script_bytes(model, parts.header);
}

}  // namespace

void export_command(const ExportCommand& command, std::ostream& printed) {
  const synth::ScopedThreads one_thread(1);
  const std::string bytes = read_file(command.file), holds = container_format(bytes);
  const bool tables = command.format == "mbi";
  if (holds != (tables ? "muffle-release" : "muffle-model")) {
    throw ConfigError(fmt::format("--format {} is for {}, and '{}' is {}", command.format,
                                  tables ? "a release (release.mfl)" : "a model (model.mfl)", command.file,
                                  holds.empty() ? "no file of muffle's" : "a '" + holds + "' file"));
  }
  const std::filesystem::path out = command.out;
  if (!tables) {
    write_new(out, exported_model(bytes, command, printed));
  } else {
    const release::Artifact release = release::parse_artifact(bytes, command.file);
    if (!release.is_private)
      printed << "export: the release is NOT PRIVATE: its noise was seeded for a test, or left out\n";
    const std::string domain = release::domain_text(release);
    const std::filesystem::path domain_file = out / "domain.json", measured_file = out / "measurements.json";
    ensure_writable_folder(out);
    require_new(!watched::exists(measured_file), measured_file);  // both are written, or none
    write_new(domain_file, domain);
    write_new(measured_file, release::measurements_text(release));
  }
  printed << "export: " << command.out << " is written\n" << std::flush;
}

}  // namespace muffle::app
