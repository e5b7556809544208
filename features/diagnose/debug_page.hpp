// Saved pages of torch.distributed's debug server: /stacks, /pyspy_dump and /fr_trace_json have the
// answer of each rank below a heading; /fr_trace has the tables of torchfrtrace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::formats {

/// Whether `text` is a saved page of the debug server, or the beginning of one.
bool is_debug_page(std::string_view text);

/// Whether the page has the tables of /fr_trace.
bool has_trace_tables(std::string_view text);

/// Returns the page in the form that the debug server dumps to a file: without HTML, and with
/// headings `=== Rank 3: ADDRESS ===`. Line numbers do not change.
std::string debug_page_text(std::string_view page);

/// The answer of one rank.
struct DebugPagePart {
  std::uint32_t rank = 0;
  std::string text;
};

/// Returns the answers of the ranks that answered.
std::vector<DebugPagePart> debug_page_parts(std::string_view page);

}  // namespace pipesim::formats
