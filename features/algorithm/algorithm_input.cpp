#include "features/algorithm/algorithm_input.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "app/output/files.hpp"
#include "formats/document/expression.hpp"

#include "features/algorithm/algorithm_file.hpp"

namespace pipesim::app {

std::uint64_t message_bytes(const std::string& text) {
  constexpr std::int64_t kMaxMessage = std::int64_t{1} << 50;
  auto bytes = formats::constant_value(text, formats::ValueType::kBytes);
  if (!bytes) bytes = formats::constant_value(text, formats::ValueType::kNumber);
  if (bytes && *bytes >= 0 && *bytes <= kMaxMessage) return static_cast<std::uint64_t>(*bytes);
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
  if (path.ends_with(".xml")) return true;
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         file_contains(path, "\"threadblocks\"", formats::kMaxAlgorithmBytes) &&
         file_contains(path, "\"gpus\"", formats::kMaxAlgorithmBytes);
}

}  // namespace pipesim::app
