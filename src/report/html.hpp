#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muffle::report {

/// Cells as text. Those that begin as a number does stand right.
struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// A section's HTML as it grows. All texts are escaped here; `markup` comes from charts.hpp alone.
class Page {
 public:
  void heading(std::string_view text);
  void paragraph(std::string_view text);
  /// Smaller, of what a figure does not say.
  void note(std::string_view text);
  void list(const std::vector<std::string>& items);
  void table(const TextTable& table);
  /// Lines as they are.
  void lines(std::string_view text);
  /// What can be folded away: shown open, so that paper has it too.
  void folded(std::string_view title, std::string_view text);
  void figure(std::string_view markup, std::string_view caption);
  /// Figures side by side, as many as the screen is wide for.
  void begin_grid();
  void end_grid();

  const std::string& html() const { return html_; }

 private:
  std::string html_;
};

/// One part of a report.
struct Part {
  std::string id, title, html;
};
/// The whole file: it asks for nothing from anywhere, and has no script.
/// @param mark  what stands on every section, and up to its colon on every printed page; empty: nothing does
std::string document(std::string_view title, std::string_view kind, std::string_view mark,
                     const std::vector<Part>& parts);

}  // namespace muffle::report
