#include "features/diagnose/log_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "features/diagnose/evidence.hpp"

namespace pipesim::formats {
namespace {

constexpr std::string_view kDigits = "0123456789";
// maximum number of parts that one broken line is joined from
constexpr std::size_t kMaxParts = 12;

std::optional<std::uint32_t> rank_in(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = problem == std::errc() && stop == digits.data() + digits.size();
  return whole && value < models::kMaxEvidenceRanks ? std::optional(value) : std::nullopt;
}

std::size_t blanks_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of(" \t", at);
  return (end == std::string_view::npos ? text.size() : end) - at;
}

// Returns the size of a time stamp: "2025-01-31T10:00:00.123Z ", "2025-01-31 10:00:00,123 ".
std::size_t time_size(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00";
  if (text.size() < kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool good = kForm[i] == '0'   ? digit
                      : kForm[i] == ' ' ? text[i] == ' ' || text[i] == 'T'
                                        : text[i] == kForm[i];
    if (!good) return 0;
  }
  std::size_t end = text.find_first_not_of("0123456789.,Z+:-", kForm.size());
  if (end == std::string_view::npos) end = text.size();
  return end + blanks_at(text, end);
}

// Returns the size of a label "12: " of srun -l or pdsh. A label with a name is a host, not a rank.
std::size_t word_label(std::string_view text) {
  const std::size_t end = text.find_first_of(" :[]()\t");
  if (end == std::string_view::npos || end == 0 || text[end] != ':') return 0;
  const bool number = text.find_first_not_of(kDigits) == end;
  if (!number || text.substr(end + 1, 1) != " ") return 0;
  return end + 2;
}

// Returns the size of a label "name-1  | ".
std::size_t compose_label(std::string_view text) {
  const std::size_t end = text.find(" | ");
  if (end > 64) return 0;  // no label, or too far away
  const std::string_view name = text.substr(0, text.find(' '));
  const bool one_word = text.find_first_not_of(' ', name.size()) == end + 1;
  return one_word && !name.empty() && name.find_first_of("[](){}\"") == std::string_view::npos
             ? end + 3
             : 0;
}

// Returns the size of a label "(Worker pid=12, ip=10.0.0.3) ", with Ray's note on repeated lines.
std::size_t ray_label(std::string_view text) {
  if (!text.starts_with('(')) return 0;
  const std::size_t end = text.find(')');
  if (end == std::string_view::npos || text.substr(0, end).find("pid=") == std::string_view::npos) {
    return 0;
  }
  // Only one blank belongs to the label, because the text after it can be indented.
  return end + 1 + std::min<std::size_t>(1, blanks_at(text, end + 1));
}

// Returns the size of a label "[1,3]<stderr>:", "[pod/x/c] ", "[node0:3] ", "[80746] " or
// "[default0]:".
std::size_t bracket_label(std::string_view text) {
  if (!text.starts_with('[') || text.starts_with("[rank") || text.starts_with("[Rank")) return 0;
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return 0;
  const std::string_view inside = text.substr(1, end - 1);
  const std::string_view rest = text.substr(end + 1);
  if (rest.starts_with("<stderr>:") || rest.starts_with("<stdout>:")) return end + 10;
  const std::size_t colon = inside.rfind(':');
  const bool counts = colon != std::string_view::npos && colon + 1 < inside.size() &&
                      inside.find_first_not_of(kDigits, colon + 1) == std::string_view::npos &&
                      inside.find(' ') == std::string_view::npos;
  const bool number =
      !inside.empty() && inside.find_first_not_of(kDigits) == std::string_view::npos;
  const bool of_torchrun = inside.starts_with("default");
  const bool known = inside.starts_with("pod/") || of_torchrun || counts || number;
  if (!known || rest.empty()) return 0;
  const std::size_t after = rest.starts_with(':') ? 1 : 0;
  if (of_torchrun) return end + 1 + after;  // torchrun writes no blank
  return end + 1 + after + std::min<std::size_t>(1, blanks_at(rest, after));
}

// Returns the size of a label "name.host [stderr] ".
std::size_t stream_label(std::string_view text) {
  for (const std::string_view name : {" [stderr] ", " [stdout] "}) {
    const std::size_t at = text.find(name);
    if (at > 100) continue;  // no label, or too far away
    if (text.substr(0, at).find(' ') == std::string_view::npos) return at + name.size();
  }
  return 0;
}

bool begins_record(std::string_view text) {
  return text.empty() || text.starts_with('[') || text.starts_with("Traceback") ||
         text.starts_with("frame #") || text.starts_with("Exception raised") ||
         text.starts_with("Root Cause (") || text.starts_with("Failures:") ||
         text.find("Detected mismatch between collectives") != std::string_view::npos ||
         text.find("NCCL INFO") != std::string_view::npos ||
         text.find("NCCL WARN") != std::string_view::npos ||
         text.find(" - ") != std::string_view::npos || text.starts_with("  ");
}

// Whether `text` is a broken line of the watchdog that continues in the next line.
bool is_open(const std::string& text) {
  if (text.find("Detected mismatch between collectives") != std::string::npos) {
    const bool begun = text.find("FingerPrint(") != std::string::npos;
    return !begun ||
           std::count(text.begin(), text.end(), '(') != std::count(text.begin(), text.end(), ')');
  }
  const bool of_watchdog =
      text.find("ProcessGroup") != std::string::npos || text.find("CCL(") != std::string::npos;
  if (!of_watchdog) return false;
  const std::string whole = watchdog_form(text);
  if (whole.find("processgroupnccl") == std::string::npos &&
      whole.find("worknccl(") == std::string::npos) {
    return false;
  }
  const std::size_t work = whole.find("worknccl(");
  if (work != std::string::npos) return whole.find("beforetimingout", work) == std::string::npos;
  if (whole.ends_with("statesare:") || whole.find("rank") == std::string::npos) return true;
  const std::size_t done =
      std::max(whole.rfind("lastcompletedncclwork:") + 1, whole.rfind("lastcompletedwork:") + 1);
  if (done == 0) return !whole.ends_with('.');
  return whole.back() == ':';
}

std::string_view line_at(std::string_view text, std::size_t begin) {
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

bool contradicts_labels(std::string_view text) {
  if (text.find("[rank") == std::string_view::npos) return false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view raw = line_at(text, begin);
    begin += raw.size() + 1;
    if (raw.size() > kMaxLogLine || raw.find("[rank") == std::string_view::npos) continue;
    const std::string line = without_colours(raw);
    const auto told = global_rank(line);
    const auto of_label = rank_of_label(label_of(line));
    if (told && of_label && *told != *of_label) return true;
  }
  return false;
}

}  // namespace

std::string without_colours(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') continue;
    if (text[i] != '\x1b' || text.substr(i + 1, 1) != "[") {
      result += text[i];
      continue;
    }
    const std::size_t end = text.find_first_not_of("0123456789;?", i + 2);
    if (end == std::string_view::npos) break;
    i = end;
  }
  return result;
}

std::string squeezed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ' ' || c == '\t') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

std::string watchdog_form(std::string_view text) {
  std::string result = squeezed(text);
  for (const std::string_view name : {"hccl", "xccl"}) {
    for (std::size_t at = result.find(name); at != std::string::npos; at = result.find(name, at)) {
      result[at] = 'n';
    }
  }
  return result;
}

std::string_view unindented(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::string_view word_after(std::string_view text, std::string_view key, std::string_view ends) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, std::min(rest.find_first_of(ends), rest.size()));
}

std::string_view label_of(std::string_view line) {
  constexpr std::size_t kMaxLabels = 4;  // labels of collectors and launchers, and time stamps
  constexpr std::array kForms = {time_size, word_label,    compose_label,
                                 ray_label, bracket_label, stream_label};
  std::size_t size = 0;
  for (std::size_t i = 0; i < kMaxLabels; ++i) {
    const std::size_t before = size;
    for (const auto form : kForms) {
      size += form(line.substr(size));
      if (size > before) break;
    }
    if (size == before) break;
  }
  return line.substr(0, size);
}

std::optional<std::uint32_t> rank_of_label(std::string_view label) {
  if (const std::size_t std_at = label.find("]<std"); std_at != std::string_view::npos) {
    const std::size_t comma = label.rfind(',', std_at);
    if (comma == std::string_view::npos) return std::nullopt;
    return rank_in(label.substr(comma + 1, std_at - comma - 1));
  }
  for (std::size_t at = 0; at < label.size();) {
    const std::string_view rest = label.substr(at);
    if (const std::size_t size = word_label(rest); size > 0)
      return rank_in(rest.substr(0, size - 2));
    constexpr std::string_view kLocal = "[default";
    if (rest.starts_with(kLocal)) {
      return rank_in(rest.substr(kLocal.size(), rest.find(']') - kLocal.size()));
    }
    const std::size_t end = rest.find(']');
    const std::size_t colon = rest.substr(0, end).rfind(':');
    const bool of_host =
        rest.starts_with('[') && end != std::string_view::npos && colon != std::string_view::npos;
    if (of_host) return rank_in(rest.substr(colon + 1, end - colon - 1));
    ++at;
    while (at < label.size() && label[at - 1] != ' ') ++at;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> global_rank(std::string_view line) {
  constexpr std::string_view kMark = "[rank";
  for (std::size_t at = line.find(kMark); at != std::string_view::npos;
       at = line.find(kMark, at + 1)) {
    std::string_view rest = line.substr(at + kMark.size());
    if (rest.starts_with('=')) rest.remove_prefix(1);  // in a label of Ray
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    if (const auto rank = rank_in(rest.substr(0, end))) return rank;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> rank_in_name(std::string_view path) {
  constexpr std::string_view kRank = "rank";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t at = name.find(kRank);
  if (at == std::string_view::npos || name.substr(0, at).ends_with("local_")) return std::nullopt;
  std::string_view rest = name.substr(at + kRank.size());
  if (rest.starts_with('_') || rest.starts_with('-')) rest.remove_prefix(1);
  return rank_in(rest.substr(0, rest.find_first_not_of(kDigits)));
}

void each_log_line(std::string_view text, const std::function<void(const LogLine&)>& take) {
  const bool labels_are_ranks = !contradicts_labels(text);
  std::optional<LogLine> last;
  std::uint64_t number = 0;
  std::size_t parts = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view raw = line_at(text, begin);
    begin += raw.size() + 1;
    ++number;
    if (raw.size() > kMaxLogLine) continue;
    const std::string line = without_colours(raw);
    const std::string_view label = label_of(line);
    LogLine it{line.substr(label.size()), std::string(label), number, global_rank(line)};
    const bool goes_on =
        last && parts < kMaxParts && !it.rank && (last->label == it.label || it.label.empty()) &&
        last->number + parts + 1 == number && !begins_record(it.text) && is_open(last->text);
    if (goes_on) {
      last->text += it.text;
      ++parts;
      continue;
    }
    if (last) take(*last);
    parts = 0;
    last = std::move(it);
    if (!last->rank && labels_are_ranks) last->rank = rank_of_label(label);
  }
  if (last) take(*last);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace pipesim::formats
