// Saved pages of torch.distributed's debug server: /stacks, /pyspy_dump, /fr_trace_json. A page has
// the answer of each rank below a heading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::formats {

/// Whether a text is such a page, or the beginning of one.
bool is_debug_page(std::string_view text);

/// Returns the page as the debug server dumps it to a file: headings `=== Rank 3: ADDRESS ===`, and
/// no HTML. Each line stays at its number.
std::string debug_page_text(std::string_view page);

/// The answer of one rank.
struct DebugPagePart {
  std::uint32_t rank = 0;
  std::string text;
};

/// Returns the answers of the ranks that answered.
std::vector<DebugPagePart> debug_page_parts(std::string_view page);

}  // namespace pipesim::formats
