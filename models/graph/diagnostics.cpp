#include "models/graph/diagnostics.hpp"

#include <algorithm>
#include <utility>

namespace pipesim::models {
namespace {

// Returns the number of edits (insert, delete, replace, swap of neighbors) that turn `a` into `b`,
// or a number above `limit` if more than `limit` edits are needed. Keeps three rows of the usual
// dynamic-programming table.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

bool same_but_capitals(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string line_text(Place place) {
  const std::string line = "line " + std::to_string(place.line);
  return place.file == 0 ? line : line + " of patch " + std::to_string(place.file);
}

Diagnostic& Diagnostics::error(Place place, Code code, std::string message) {
  ++error_count_;
  items_.push_back({Severity::kError, place, code, std::move(message), {}});
  return items_.back();
}

Diagnostic& Diagnostics::warning(Place place, Code code, std::string message) {
  items_.push_back({Severity::kWarning, place, code, std::move(message), {}});
  return items_.back();
}

Diagnostic& Diagnostics::suspect(Place place, std::string message) {
  items_.push_back({Severity::kSuspect, place, Code::kNone, std::move(message), {}});
  return items_.back();
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> result = items_;
  std::stable_sort(result.begin(), result.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.place < b.place; });
  // The same mistake can be found several times, for example in a block that is called twice.
  const auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return a.place == b.place && a.message == b.message;
  };
  std::vector<Diagnostic> unique;
  for (Diagnostic& item : result) {
    const auto of_place =
        std::find_if(unique.rbegin(), unique.rend(), [&](const Diagnostic& known) {
          return known.place != item.place;
        }).base();
    const bool known = std::any_of(of_place, unique.end(),
                                   [&](const Diagnostic& other) { return same(other, item); });
    if (!known) unique.push_back(std::move(item));
  }
  return unique;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  // A very long name is not a misspelling.
  if (name.size() > 200) return {};
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string result;
  for (const std::string& candidate : known) {
    if (same_but_capitals(name, candidate)) return candidate;
    const std::size_t distance = edit_distance(name, candidate, best);
    if (distance >= best) continue;
    best = distance;
    result = candidate;
  }
  return result;
}

void suggest_name(Diagnostic& diagnostic, std::string_view name,
                  const std::vector<std::string>& known, std::size_t most) {
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) {
    diagnostic.notes.push_back("did you mean '" + nearest + "'?");
  } else if (!known.empty() && known.size() <= most) {
    std::string list = "known here:";
    for (const std::string& candidate : known)
      list += (&candidate == &known[0] ? " " : ", ") + candidate;
    diagnostic.notes.push_back(list);
  }
}

}  // namespace pipesim::models
