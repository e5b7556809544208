#include "features/record/attached_file.hpp"

#include <algorithm>
#include <cstring>

#include "models/graph/whole_number.hpp"

#include "features/record/record_reader.hpp"

namespace pipesim::formats {
namespace {

constexpr std::size_t kAliveAt = 24;
constexpr std::size_t kIdleAt = 32;
constexpr std::size_t kPlaceAt = 36;
constexpr std::size_t kEndAt = 40;
constexpr std::size_t kThreadsAt = 64;
constexpr std::size_t kTextsAt = 128;
constexpr std::size_t kSlotBytes = 4;

template <typename Number>
Number number_at(std::string_view data, std::size_t at) {
  Number number = 0;
  std::memcpy(&number, data.data() + at, sizeof number);
  return number;
}

// Removes the first word of `text` and the space after it. Returns the word.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

AttachedLine line_of(std::string_view text) {
  AttachedLine line;
  const std::size_t tab = text.find('\t');
  if (tab == std::string_view::npos || tab == 0) return line;
  line.entry = text.substr(tab + 1);
  text = text.substr(0, tab);
  line.kind = take_word(text).front();
  line.thread = models::whole_number<std::uint32_t>(take_word(text)).value_or(0);
  while (!text.empty()) line.words.emplace_back(take_word(text));
  return line;
}

// Reads the blocks of finished steps. Returns the position of the first line after them.
std::uint64_t read_steps(std::string_view text, AttachedRank& rank) {
  std::uint64_t position = 0;
  std::vector<std::vector<std::uint32_t>> blocks;
  std::vector<AttachedRun> written;  // blocks of a write that has not ended yet
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return position;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string_view kind = take_word(line);
    std::vector<std::uint64_t> numbers;
    while (!line.empty()) {
      numbers.push_back(models::whole_number<std::uint64_t>(take_word(line)).value_or(0));
    }
    if (kind == "b") {
      blocks.emplace_back(numbers.begin(), numbers.end());
    } else if (kind == "r" && numbers.size() == 2 && numbers[0] - 1 < blocks.size()) {
      written.push_back({blocks[numbers[0] - 1], static_cast<std::int64_t>(numbers[1])});
    } else if (kind == "p" && numbers.size() == 1) {
      position = numbers[0];
      for (AttachedRun& run : written) {
        const bool again = !rank.runs.empty() && rank.runs.back().lines == run.lines;
        if (again) {
          rank.runs.back().times += run.times;
        } else {
          rank.runs.push_back(std::move(run));
        }
      }
      written.clear();
    }
  }
}

// Adds a run with the lines in the ring from `position` to the first empty slot. Returns the
// position of this slot.
std::uint64_t read_ring(std::string_view ring, std::uint64_t position, AttachedRank& rank) {
  const std::size_t slots = ring.size() / kSlotBytes;
  AttachedRun run;
  for (std::size_t i = 0; i < slots; ++i) {
    const auto line = number_at<std::uint32_t>(ring, (position + i) % slots * kSlotBytes);
    // A line beyond the texts was added after they were read: the job goes on meanwhile.
    if (line == 0 || line > rank.lines.size()) break;
    run.lines.push_back(line);
  }
  position += run.lines.size();
  if (!run.lines.empty()) rank.runs.push_back(std::move(run));
  return position;
}

}  // namespace

std::optional<std::uint32_t> rank_of_attached_file(std::string_view name) {
  return rank_in_name(name, ".calls");
}

std::optional<AttachedRank> read_attached_rank(std::string_view calls, std::string_view steps) {
  if (calls.size() < kTextsAt || !calls.starts_with(kAttachedMagic)) return std::nullopt;
  AttachedRank rank;
  rank.rank = number_at<std::uint32_t>(calls, 8);
  rank.world = number_at<std::uint32_t>(calls, 12);
  const std::size_t texts = number_at<std::uint32_t>(calls, 16);
  const std::size_t slots = number_at<std::uint32_t>(calls, 20);
  if (slots == 0 || calls.size() < kTextsAt + texts + slots * kSlotBytes) return std::nullopt;
  rank.alive_at = static_cast<std::int64_t>(number_at<std::uint64_t>(calls, kAliveAt));
  rank.idle = number_at<std::uint32_t>(calls, kIdleAt);
  rank.place = number_at<std::uint32_t>(calls, kPlaceAt);
  std::string_view text = calls.substr(kTextsAt, texts);
  text = text.substr(0, text.find('\0'));
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    rank.lines.push_back(line_of(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  for (std::size_t at = kThreadsAt; at < kTextsAt; at += kSlotBytes) {
    const auto line = number_at<std::uint32_t>(calls, at);
    if (line != 0 && line <= rank.lines.size()) rank.in_a_call.push_back(line);
  }
  const std::uint64_t position = read_steps(steps, rank);
  const std::uint64_t end =
      read_ring(calls.substr(kTextsAt + texts, slots * kSlotBytes), position, rank);
  // Lines after the last sign of life end the idle time before it.
  if (end > number_at<std::uint64_t>(calls, kEndAt)) rank.idle = 0;
  const auto count = static_cast<std::uint32_t>(rank.lines.size());
  for (AttachedRun& run : rank.runs) {
    const std::size_t lost =
        std::erase_if(run.lines, [&](std::uint32_t line) { return line == 0 || line > count; });
    rank.has_lost_lines = rank.has_lost_lines || lost > 0;
    for (std::uint32_t& line : run.lines) --line;
  }
  return rank;
}

}  // namespace pipesim::formats
