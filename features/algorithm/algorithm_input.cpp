#include "features/algorithm/algorithm_input.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/output/files.hpp"
#include "models/graph/whole_number.hpp"

#include "features/algorithm/algorithm_file.hpp"

namespace pipesim::app {

std::uint64_t message_bytes(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 8> kUnits = {{
      {"", 1},
      {"B", 1},
      {"KiB", std::uint64_t{1} << 10},
      {"MiB", std::uint64_t{1} << 20},
      {"GiB", std::uint64_t{1} << 30},
      {"kB", 1000},
      {"MB", 1'000'000},
      {"GB", 1'000'000'000},
  }};
  const std::size_t end = std::min(text.size(), text.find_first_not_of("0123456789"));
  const auto number = models::whole_number<std::uint64_t>(std::string_view(text).substr(0, end));
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& known) {
    return known.first == std::string_view(text).substr(end);
  });
  constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 50;
  if (number && unit != kUnits.end() && *number <= kMaxMessage / unit->second) {
    return *number * unit->second;
  }
  throw UsageError(models::Code::kOptionValue,
                   fmt::format("--bytes: expected a size of at most 1 PiB, found '{}'", text),
                   "for example: --bytes 64MiB");
}

std::optional<std::uint32_t> connection_slots(const Arguments& arguments) {
  constexpr std::uint64_t kMaxSlots = 1'000'000;
  if (!arguments.has("slots")) return std::nullopt;
  return static_cast<std::uint32_t>(arguments.number("slots", 1, kMaxSlots, 1));
}

bool is_algorithm(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".xml") return true;
  std::error_code error;
  return ending == ".json" && std::filesystem::is_regular_file(path, error) &&
         file_contains(path, "\"threadblocks\"", formats::kMaxAlgorithmBytes) &&
         file_contains(path, "\"gpus\"", formats::kMaxAlgorithmBytes);
}

}  // namespace pipesim::app
