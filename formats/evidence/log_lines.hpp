// Output of a job as people keep and paste it: with what launchers put before each line, with
// colours, and with long lines broken where a terminal ended.
#pragma once

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
  std::string text;                   // without colours and without what stands before it
  std::string label;                  // that: "12: ", "worker-1  | "; may be empty
  std::uint64_t number = 0;           // of the line in its file, from 1
  std::optional<std::uint32_t> rank;  // of the job: from `[rank12]:` or the launcher's label
};

/// The longest line that is looked at; longer ones are no lines of a log.
inline constexpr std::size_t kMaxLogLine = std::size_t{1} << 16;

/// `text` without the codes that colour it.
std::string without_colours(std::string_view text);

/// What a launcher, a collector or a logger put before `line`: `12: ` (srun), `[1,3]<stderr>:`
/// (mpirun), `name-1  | ` (docker compose), `(Worker pid=12, ip=10.0.0.3) ` (Ray), `[pod/x/c] `
/// (kubectl), `[node0:3] `, `[80746] `, a time.
std::string_view label_of(std::string_view line);

/// The rank of the job that a label tells: that of srun, of mpirun, or of `[node0:3] `.
std::optional<std::uint32_t> rank_of_label(std::string_view label);

/// The rank of the job in `[rank12]:`, which PyTorch writes since 2.3.
std::optional<std::uint32_t> global_rank(std::string_view line);

/// Gives `take` the lines of a file, broken ones joined. Where `[rank12]:` contradicts the label
/// of a line, a launcher's numbers are not ranks, and none is taken from them.
void each_log_line(std::string_view text, const std::function<void(const LogLine&)>& take);

/// `text` without blanks, in small letters: what a broken line is searched in.
std::string squeezed(std::string_view text);

/// `text` from its first character that is not a blank.
std::string_view unindented(std::string_view text);

/// The number that `text` begins with.
template <typename Number>
std::optional<Number> number_at(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return problem == std::errc() ? std::optional(value) : std::nullopt;
}

/// The number right behind `key`.
template <typename Number>
std::optional<Number> number_after(std::string_view text, std::string_view key, int base = 10) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at<Number>(text.substr(at + key.size()), base);
}

/// What stands behind `key` up to any of `ends`; empty if `key` is not there.
std::string_view word_after(std::string_view text, std::string_view key, std::string_view ends);

}  // namespace pipesim::formats
