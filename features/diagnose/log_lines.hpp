// Reads lines of a job's output as users save and paste it: with launcher labels and colors, and
// with long lines broken at the width of a terminal.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace pipesim::formats {

struct LogLine {
  std::string text;                   // without colors and label
  std::string label;                  // label before the text: "12: ", "worker-1  | "; may be empty
  std::uint64_t number = 0;           // line number in its file, from 1
  std::optional<std::uint32_t> rank;  // rank of the job, from `[rank12]:` or the label
};

/// The maximum size of a line, in bytes; longer lines are skipped.
inline constexpr std::size_t kMaxLogLine = std::size_t{1} << 16;

/// Returns `text` without color codes.
std::string without_colours(std::string_view text);

/// Returns the label that a launcher, a collector or a logger put before `line`: `12: ` (srun),
/// `[1,3]<stderr>:` (mpirun), `name-1  | ` (docker compose), `(Worker pid=12, ip=10.0.0.3) ` (Ray),
/// `[pod/x/c] ` (kubectl), `[default3]:` (torchrun), `[node0:3] `, `[80746] `, a time.
std::string_view label_of(std::string_view line);

/// Returns the job rank in a label of srun, of mpirun, or like `[node0:3] `. The rank in a label of
/// torchrun is only the rank on its node, and is ignored.
std::optional<std::uint32_t> rank_of_label(std::string_view label);

/// Returns the job rank in `[rank12]:`, which PyTorch writes since 2.3, or in `[rank=12]`.
std::optional<std::uint32_t> global_rank(std::string_view line);

/// Returns the rank in the name of a rank's file: "rank_12.log", "log_rank12_stderr". The number in
/// "local_rank_0" is the rank on its node.
std::optional<std::uint32_t> rank_in_name(std::string_view path);

/// Calls `take` for each line of a file. Joins broken lines. If `[rank12]:` contradicts the label
/// of a line, the launcher's numbers are not ranks, so no label gives a rank.
void each_log_line(std::string_view text, const std::function<void(const LogLine&)>& take);

/// Returns `text` without blanks, in lower case: the form in which broken lines are searched.
std::string squeezed(std::string_view text);

/// Returns a line of a watchdog as squeezed() does. Replaces the words of HCCL (Ascend) and XCCL
/// (Intel), whose watchdogs print the same lines, by those of NCCL.
std::string watchdog_form(std::string_view text);

/// Returns `text` without leading white space.
std::string_view unindented(std::string_view text);

/// Whether `text` contains one of `parts`.
bool has_any(std::string_view text, const auto& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

/// Returns the number at the beginning of `text`.
template <typename Number>
std::optional<Number> number_at(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return problem == std::errc() ? std::optional(value) : std::nullopt;
}

/// Returns the number right after `key`.
template <typename Number>
std::optional<Number> number_after(std::string_view text, std::string_view key, int base = 10) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at<Number>(text.substr(at + key.size()), base);
}

/// Returns the text after `key` up to the next of the characters in `ends`; empty if `key` is
/// missing.
std::string_view word_after(std::string_view text, std::string_view key, std::string_view ends);

/// Returns `text` without white space at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace pipesim::formats
