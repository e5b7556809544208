// Reads pickles. A pickle is a program for a machine with a stack, a list of marks and a memo. This
// reader runs the opcodes that build plain data (Lib/pickletools.py documents all opcodes), then
// writes the result as a document. The Flight Recorder writes protocol 2, but another tool may have
// rewritten the file with another protocol.
#include "features/diagnose/pickle.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "formats/document/document_builder.hpp"
#include "formats/document/json_reader.hpp"
#include "models/characters.hpp"
#include "models/graph/whole_number.hpp"

namespace pipesim::formats {
namespace {

using Index = std::uint32_t;
using Kind = YamlValue::Kind;

constexpr Index kNothing = 0xffffffff;

class PickleError {
 public:
  explicit PickleError(std::string message) : message_(std::move(message)) {}
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

class PickleReader {
 public:
  PickleReader(const std::string& bytes, DocumentBuilder& builder)
      : bytes_(bytes), builder_(builder) {
    builder_.use(bytes);
  }

  void run() {
    while (!done_) {
      at_ = next_;
      step(static_cast<unsigned char>(take(1).front()));
      check_size(std::max(values_.size(), stack_.size()));
    }
    write(pop());
  }

  /// Returns the position of the last opcode.
  std::size_t at() const { return at_; }

 private:
  // A value. The items of a list or map are a chain of links, because a pickle can append to
  // several lists in turn. The items of a map alternate between keys and values.
  struct Value {
    Kind kind = Kind::kNull;
    bool quoted = false;
    bool open = false;       // a list or map that is being written
    Index node = kNothing;   // index in the document, once written
    Index first = kNothing;  // offset of the text; list or map: index of the first link
    Index last = kNothing;   // size of the text; list or map: index of the last link
  };
  struct Link {
    Index value;
    Index next;
  };

  void step(unsigned char opcode);
  bool add_number(unsigned char opcode);
  bool add_text(unsigned char opcode);
  bool add_container(unsigned char opcode);
  bool use_memo(unsigned char opcode);
  [[noreturn]] static void refuse(unsigned char opcode);

  static void check_size(std::size_t values) {
    if (values <= kMaxJsonValues) return;
    throw PickleError(fmt::format("this pickle has more than {} values", kMaxJsonValues));
  }

  // Writes a value to the document, recursively for lists and maps. DocumentBuilder limits the
  // depth.
  void write(Index at) {
    Value& value = values_[at];
    if (value.open) throw PickleError("this pickle has a list or dict that contains itself");
    if (value.node != kNothing) {
      builder_.add_alias({}, value.node);
    } else if (value.kind == Kind::kNull) {
      value.node = builder_.add(Kind::kNull, {});
    } else if (value.kind == Kind::kScalar) {
      value.node = builder_.add_scalar({}, value.first, value.last, value.quoted);
    } else {
      value.node = builder_.open(value.kind, {});
      value.open = true;
      for (Index link = value.first; link != kNothing; link = links_[link].next) {
        write(links_[link].value);
      }
      value.open = false;
      builder_.close();
    }
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - next_) throw PickleError("truncated pickle");
    const std::string_view result = std::string_view(bytes_).substr(next_, count);
    next_ += count;
    return result;
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', next_);
    if (end == std::string::npos) throw PickleError("truncated pickle");
    const std::string_view line = take(end - next_);
    ++next_;
    return line;
  }
  // Reads a little-endian number.
  std::uint64_t take_number(std::size_t count) {
    std::uint64_t result = 0;
    const std::string_view digits = take(count);
    for (std::size_t i = 0; i < count; ++i) {
      result |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    return result;
  }
  std::string_view take_counted(std::size_t count_bytes) { return take(take_number(count_bytes)); }

  void push(Value value) {
    stack_.push_back(static_cast<Index>(values_.size()));
    values_.push_back(value);
  }
  void push_scalar(std::size_t first, std::size_t size, bool quoted) {
    push({.kind = Kind::kScalar,
          .quoted = quoted,
          .first = static_cast<Index>(first),
          .last = static_cast<Index>(size)});
  }
  // Pushes a scalar whose text does not occur in the pickle.
  void push_made(const std::string& text, bool quoted) {
    push_scalar(builder_.add_text(text), text.size(), quoted);
  }
  void push_integer(std::int64_t value) { push_made(std::to_string(value), false); }
  void push_truth(bool value) { push_made(value ? "true" : "false", false); }

  Index pop() {
    const std::size_t lowest = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= lowest) throw PickleError("invalid pickle: it pops an empty stack");
    const Index value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Index top() {
    const Index value = pop();
    stack_.push_back(value);
    return value;
  }
  // Pops the values since the last mark, and the mark.
  std::vector<Index> pop_marked() {
    if (marks_.empty()) throw PickleError("invalid pickle: no mark on the stack");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> result(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return result;
  }
  void push_list(const std::vector<Index>& items) {
    push({.kind = Kind::kList});
    extend(Kind::kList, items);
  }
  // Appends items to the list or map on top of the stack.
  void extend(Kind kind, const std::vector<Index>& items) {
    Value& target = values_[top()];
    if (target.kind != kind || (kind == Kind::kMap && items.size() % 2 != 0)) {
      throw PickleError("invalid pickle: it appends to something that is not a list or dict");
    }
    for (const Index item : items) {
      const auto link = static_cast<Index>(links_.size());
      (target.first == kNothing ? target.first : links_[target.last].next) = link;
      target.last = link;
      links_.push_back({item, kNothing});
      check_size(links_.size());
    }
  }
  void push_digits(std::string_view text) {
    if (text.ends_with('L')) text.remove_suffix(1);
    const auto value = models::whole_number<std::int64_t>(text);
    if (!value) throw PickleError("invalid pickle: expected a 64-bit integer");
    push_integer(*value);
  }
  void push_long(std::size_t count) {
    if (count > 8) throw PickleError("this pickle has an integer of more than 64 bits");
    std::uint64_t value = take_number(count);
    if (count > 0 && count < 8 && (value >> (8 * count - 1) & 1) != 0)
      value |= ~std::uint64_t{0} << (8 * count);
    push_integer(static_cast<std::int64_t>(value));
  }
  void memoize(std::uint64_t key) {
    if (key > kMaxJsonValues) throw PickleError("invalid pickle: memo index out of range");
    if (key >= memo_.size()) memo_.resize(key + 1, kNothing);
    if (memo_[key] == kNothing) ++kept_;
    memo_[key] = top();
  }
  void recall(std::uint64_t key) {
    const bool known = key < memo_.size() && memo_[key] != kNothing;
    if (!known) throw PickleError("invalid pickle: it reads a memo entry that was never written");
    stack_.push_back(memo_[key]);
  }
  static std::uint64_t key_of(std::string_view text) {
    const auto key = models::whole_number<std::uint64_t>(text);
    if (!key) throw PickleError("invalid pickle: a memo index is not a number");
    return *key;
  }

  static std::string unquoted(std::string_view line);
  static std::string unescaped(std::string_view line);

  const std::string& bytes_;
  DocumentBuilder& builder_;
  std::size_t next_ = 0;
  std::size_t at_ = 0;
  bool done_ = false;
  std::deque<Index> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Index> memo_;
  std::size_t kept_ = 0;      // number of values in memo_
  std::deque<Value> values_;  // deques grow without copying elements
  std::deque<Link> links_;
};

std::uint32_t hexadecimal(std::string_view digits) {
  std::uint32_t code = 0;
  const auto [stop, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (problem != std::errc() || stop != digits.data() + digits.size()) {
    throw PickleError("invalid pickle: bad escape in a string");
  }
  return code;
}

// Reads a quoted string of protocol 0: 'it\'s'.
std::string PickleReader::unquoted(std::string_view line) {
  const bool quoted = line.size() >= 2 && (line.front() == '\'' || line.front() == '"') &&
                      line.back() == line.front();
  if (!quoted) throw PickleError("invalid pickle: a string has no quotes");
  line = line.substr(1, line.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      text += line[i];
      continue;
    }
    const char escaped = line[++i];
    if (escaped == 'x' && line.size() - i > 2) {
      text += static_cast<char>(hexadecimal(line.substr(i + 1, 2)));
      i += 2;
    } else {
      text += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped;
    }
  }
  return text;
}

// Reads a str of protocol 0, which has \u1234 or \U00012345 for characters outside of Latin-1.
std::string PickleReader::unescaped(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char kind = i + 1 < line.size() ? line[i + 1] : '\0';
    if (line[i] == '\\' && (kind == 'u' || kind == 'U')) {
      const std::size_t digits = kind == 'u' ? 4 : 8;
      if (line.size() - i < digits + 2) throw PickleError("invalid pickle: bad escape in a string");
      models::append_character(text, hexadecimal(line.substr(i + 2, digits)));
      i += digits + 1;
    } else {
      models::append_character(text, static_cast<unsigned char>(line[i]));
    }
  }
  return text;
}

bool PickleReader::add_number(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      push({});
      return true;
    case 0x88:
    case 0x89:
      push_truth(opcode == 0x88);
      return true;
    case 'I': {
      const std::string_view line = take_line();
      if (line == "00" || line == "01") {
        push_truth(line == "01");
      } else {
        push_digits(line);
      }
      return true;
    }
    case 'L':
      push_digits(take_line());
      return true;
    case 'J':
      push_integer(static_cast<std::int32_t>(take_number(4)));
      return true;
    case 'K':
      push_integer(static_cast<std::int64_t>(take_number(1)));
      return true;
    case 'M':
      push_integer(static_cast<std::int64_t>(take_number(2)));
      return true;
    case 0x8a:
      push_long(take_number(1));
      return true;
    case 0x8b:
      push_long(take_number(4));
      return true;
    case 'F': {
      const std::string_view line = take_line();
      double value = 0;
      const auto [stop, problem] = std::from_chars(line.data(), line.data() + line.size(), value);
      if (problem != std::errc() || stop != line.data() + line.size()) {
        throw PickleError("invalid pickle: expected a number");
      }
      push_made(fmt::format("{}", value), false);
      return true;
    }
    case 'G': {
      std::uint64_t bits = 0;  // big-endian
      for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
      push_made(fmt::format("{}", std::bit_cast<double>(bits)), false);
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::add_text(unsigned char opcode) {
  std::string_view counted;
  switch (opcode) {
    case 'S':
      push_made(unquoted(take_line()), true);
      return true;
    case 'V':
      push_made(unescaped(take_line()), true);
      return true;
    case 'U':
    case 'C':
    case 0x8c:
      counted = take_counted(1);
      break;
    case 'T':
    case 'X':
    case 'B':
      counted = take_counted(4);
      break;
    case 0x8d:
    case 0x8e:
    case 0x96:
      counted = take_counted(8);
      break;
    default:
      return false;
  }
  push_scalar(static_cast<std::size_t>(counted.data() - bytes_.data()), counted.size(), true);
  return true;
}

bool PickleReader::add_container(unsigned char opcode) {
  switch (opcode) {
    case ']':
    case ')':
    case 0x8f:
      push({.kind = Kind::kList});
      return true;
    case '}':
      push({.kind = Kind::kMap});
      return true;
    case 'l':
    case 't':
    case 0x91:
      push_list(pop_marked());
      return true;
    case 'd': {
      const std::vector<Index> items = pop_marked();
      push({.kind = Kind::kMap});
      extend(Kind::kMap, items);
      return true;
    }
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<Index> items(opcode - 0x84U);
      for (std::size_t i = items.size(); i > 0; --i) items[i - 1] = pop();
      push_list(items);
      return true;
    }
    case 'a': {
      const Index item = pop();
      extend(Kind::kList, {item});
      return true;
    }
    case 'e':
    case 0x90: {
      const std::vector<Index> items = pop_marked();
      extend(Kind::kList, items);
      return true;
    }
    case 's': {
      const Index item = pop();
      const Index key = pop();
      extend(Kind::kMap, {key, item});
      return true;
    }
    case 'u': {
      const std::vector<Index> items = pop_marked();
      extend(Kind::kMap, items);
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::use_memo(unsigned char opcode) {
  switch (opcode) {
    case 'p':
      memoize(key_of(take_line()));
      return true;
    case 'q':
      memoize(take_number(1));
      return true;
    case 'r':
      memoize(take_number(4));
      return true;
    case 0x94:
      memoize(kept_);
      return true;
    case 'g':
      recall(key_of(take_line()));
      return true;
    case 'h':
      recall(take_number(1));
      return true;
    case 'j':
      recall(take_number(4));
      return true;
    default:
      return false;
  }
}

void PickleReader::refuse(unsigned char opcode) {
  // These opcodes import or call code, or refer to objects outside of the pickle.
  constexpr std::string_view kRunsCode = "cRbioPQ\x81\x82\x83\x84\x92\x93\x97\x98";
  if (kRunsCode.find(static_cast<char>(opcode)) != std::string_view::npos) {
    throw PickleError(
        "refused: this pickle imports or calls code, which a Flight Recorder dump never does; "
        "nothing was executed");
  }
  throw PickleError(fmt::format("invalid pickle: unknown opcode 0x{:02x}", opcode));
}

void PickleReader::step(unsigned char opcode) {
  switch (opcode) {
    case 0x80: {
      constexpr std::uint64_t kNewest = 5;
      const std::uint64_t protocol = take_number(1);
      if (protocol > kNewest)
        throw PickleError(fmt::format("unsupported pickle protocol {}", protocol));
      return;
    }
    case 0x95:
      take(8);  // a frame only gives the size of the next read
      return;
    case '(':
      marks_.push_back(stack_.size());
      return;
    case '0':
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
      } else {
        pop();
      }
      return;
    case '1':
      pop_marked();
      return;
    case '2':
      stack_.push_back(top());
      return;
    case '.':
      done_ = true;
      return;
    default:
      break;
  }
  const bool known =
      add_number(opcode) || add_text(opcode) || add_container(opcode) || use_memo(opcode);
  if (!known) refuse(opcode);
}

}  // namespace

std::optional<YamlDocument> read_pickle(const std::string& bytes, PickleProblem& problem) {
  YamlDocument document;
  DocumentBuilder builder(document, 0);
  PickleReader reader(bytes, builder);
  try {
    reader.run();
  } catch (const PickleError& error) {
    problem = {error.message(), reader.at()};
    return std::nullopt;
  } catch (const DocumentBuilder::Stop& stop) {
    problem = {stop.message, reader.at()};
    return std::nullopt;
  }
  return document;
}

}  // namespace pipesim::formats
