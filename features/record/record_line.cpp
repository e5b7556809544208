#include "features/record/record_line.hpp"

#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

using Kind = RecordField::Kind;

}  // namespace

// Reads the parts of a line. Each reading function returns false if the next part is not plain.
class LineParts {
 public:
  explicit LineParts(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  bool take(char c) {
    const bool found = at_ != end_ && *at_ == c;
    if (found) ++at_;
    return found;
  }
  void skip_space() {
    if (at_ != end_ && *at_ == ' ') ++at_;
  }
  bool at_end() const { return at_ == end_; }
  char now() const { return at_ == end_ ? '\0' : *at_; }

  // Reads a string without escapes.
  bool text(std::string_view& text) {
    if (!take('"')) return false;
    const char* const first = at_;
    const char* at = at_;
    while (at != end_ && *at != '"' && *at != '\\' && *at >= ' ' && *at < 0x7f) ++at;
    if (at == end_ || *at != '"') return false;
    text = {first, static_cast<std::size_t>(at - first)};
    at_ = at + 1;
    return true;
  }

  bool integer(std::int64_t& value) {
    constexpr std::ptrdiff_t kMaxDigits = 18;  // this many digits fit in 64 bits
    const bool negative = take('-');
    const char* const first = at_;
    const char* at = at_;
    std::int64_t sum = 0;
    while (at != end_ && models::is_digit(*at) && at - first < kMaxDigits) {
      sum = 10 * sum + (*at - '0');
      ++at;
    }
    const bool starts_with_zero = at != first && *first == '0' && at - first > 1;
    const bool goes_on =
        at != end_ && (models::is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E');
    if (at == first || starts_with_zero || goes_on) return false;
    at_ = at;
    value = negative ? -sum : sum;
    return true;
  }

  bool word(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() ||
        std::string_view(at_, word.size()) != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

 private:
  const char* at_;
  const char* end_;
};

void RecordLine::clear() {
  fields_.clear();
  integers_.clear();
  slots_ = {};
}

void RecordLine::add(const RecordField& field) {
  std::uint8_t& slot = slots_[slot_of(field.key)];
  fields_.push_back(field);
  fields_.back().same = slot;
  slot = static_cast<std::uint8_t>(fields_.size());
}

bool RecordLine::read_plain(std::string_view line) {
  clear();
  LineParts parts(line);
  if (!parts.take('{')) return false;
  do {
    parts.skip_space();
    RecordField field;
    if (fields_.size() == kMaxFields || !parts.text(field.key) || !parts.take(':')) return false;
    parts.skip_space();
    if (!read_value(parts, field)) return false;
    add(field);
  } while (parts.take(','));
  return parts.take('}') && parts.at_end();
}

bool RecordLine::read_value(LineParts& parts, RecordField& field) {
  switch (parts.now()) {
    case '"':
      field.kind = Kind::kText;
      return parts.text(field.text);
    case 't':
      field.kind = Kind::kTrue;
      return parts.word("true");
    case 'f':
      field.kind = Kind::kFalse;
      return parts.word("false");
    case '[':
      field.kind = Kind::kIntegers;
      field.first = static_cast<std::uint32_t>(integers_.size());
      parts.take('[');
      do {
        parts.skip_space();
        if (!parts.integer(integers_.emplace_back())) return false;
      } while (parts.take(','));
      field.end = static_cast<std::uint32_t>(integers_.size());
      return parts.take(']');
    default:
      field.kind = Kind::kInteger;
      return parts.integer(field.integer);
  }
}

void RecordLine::read(const YamlValue& object) {
  clear();
  object.for_each_entry([&](const YamlValue::Entry& entry) {
    RecordField field;
    field.key = entry.key.text();
    field.value = entry.value;
    const std::optional<bool> truth = entry.value.truth();
    if (entry.value.is_text()) {
      field.kind = Kind::kText;
      field.text = entry.value.text();
    } else if (const auto integer = entry.value.integer<std::int64_t>()) {
      field.kind = Kind::kInteger;
      field.integer = *integer;
    } else if (truth) {
      field.kind = *truth ? Kind::kTrue : Kind::kFalse;
    }
    // find() does not see fields beyond kMaxFields. Such a line has unknown keys, which are
    // reported.
    if (fields_.size() < kMaxFields) {
      add(field);
    } else {
      fields_.push_back(field);
    }
  });
}

const RecordField* RecordLine::find(std::string_view key) {
  const RecordField* found = nullptr;
  for (std::uint8_t number = slots_[slot_of(key)]; number > 0;) {
    RecordField& field = fields_[number - 1];
    number = field.same;
    if (field.key != key) continue;
    field.is_known = true;
    if (found == nullptr) found = &field;
  }
  return found;
}

}  // namespace pipesim::formats
