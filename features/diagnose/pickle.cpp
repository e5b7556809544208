// A pickle is a program for a machine with a stack, a list of marks and a memo. This reader runs
// the opcodes that build plain data (Lib/pickletools.py documents all opcodes). The Flight Recorder
// writes protocol 2, but another tool may have rewritten the file with another protocol.
#include "features/diagnose/pickle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

using Index = PlainTree::Index;
using Kind = PlainTree::Kind;

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
  explicit PickleReader(const std::string& bytes) : bytes_(bytes) {}

  PlainValue run() {
    while (!done_) {
      at_ = next_;
      step(static_cast<unsigned char>(take(1).front()));
      if (std::max(value_.tree.size(), stack_.size()) > kMaxPlainValues) {
        throw PickleError(fmt::format("this pickle has more than {} values", kMaxPlainValues));
      }
    }
    return std::move(value_);
  }

  /// Returns the position of the last opcode.
  std::size_t at() const { return at_; }

 private:
  void step(unsigned char opcode);
  bool add_number(unsigned char opcode);
  bool add_text(unsigned char opcode);
  bool add_container(unsigned char opcode);
  bool use_memo(unsigned char opcode);
  [[noreturn]] static void refuse(unsigned char opcode);

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

  void push(Index value) { stack_.push_back(value); }
  Index pop() {
    const std::size_t lowest = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= lowest) throw PickleError("invalid pickle: it pops an empty stack");
    const Index value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Index top() {
    const Index value = pop();
    push(value);
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
    push(value_.tree.add_items(Kind::kList));
    value_.tree.append(stack_.back(), items);
  }
  void extend(Kind kind, const std::vector<Index>& items) {
    const Index target = top();
    const bool fits =
        value_.tree.kind(target) == kind && (kind == Kind::kList || items.size() % 2 == 0);
    if (!fits)
      throw PickleError("invalid pickle: it appends to something that is not a list or dict");
    value_.tree.append(target, items);
    added_ += items.size();
    if (added_ > kMaxPlainValues) {
      throw PickleError(fmt::format("this pickle has more than {} values", kMaxPlainValues));
    }
  }
  void push_integer(std::string_view text) {
    if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
    std::int64_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || stop != text.data() + text.size()) {
      throw PickleError("invalid pickle: expected a 64-bit integer");
    }
    push(value_.tree.add_integer(value));
  }
  void push_long(std::size_t count) {
    if (count > 8) throw PickleError("this pickle has an integer of more than 64 bits");
    std::uint64_t value = take_number(count);
    if (count > 0 && count < 8 && (value >> (8 * count - 1) & 1) != 0)
      value |= ~std::uint64_t{0} << (8 * count);
    push(value_.tree.add_integer(static_cast<std::int64_t>(value)));
  }
  void memoize(std::uint64_t key) {
    if (key > kMaxPlainValues) throw PickleError("invalid pickle: memo index out of range");
    if (key >= memo_.size()) memo_.resize(key + 1, kNothing);
    if (memo_[key] == kNothing) ++kept_;
    memo_[key] = top();
  }
  void recall(std::uint64_t key) {
    const bool known = key < memo_.size() && memo_[key] != kNothing;
    if (!known) throw PickleError("invalid pickle: it reads a memo entry that was never written");
    push(memo_[key]);
  }
  static std::uint64_t key_of(std::string_view text) {
    std::uint64_t key = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), key);
    if (problem != std::errc() || stop != text.data() + text.size()) {
      throw PickleError("invalid pickle: a memo index is not a number");
    }
    return key;
  }

  static std::string unquoted(std::string_view line);
  static std::string unescaped(std::string_view line);

  const std::string& bytes_;
  std::size_t next_ = 0;
  std::size_t at_ = 0;
  bool done_ = false;
  std::deque<Index> stack_;
  std::array<Index, 3> constants_ = {kNothing, kNothing, kNothing};  // true, false, None
  std::vector<std::size_t> marks_;
  std::vector<Index> memo_;
  std::size_t kept_ = 0;   // number of values in memo_
  std::size_t added_ = 0;  // number of values added to lists and dicts
  PlainValue value_;
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

// Reads a string of protocol 0: 'it\'s'.
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

// Reads a text of protocol 0, which has \u1234 or \U00012345 for characters outside of Latin-1.
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
  PlainTree& tree = value_.tree;
  switch (opcode) {
    case 'N':
    case 0x88:
    case 0x89: {
      Index& known = constants_[opcode == 'N' ? 2 : opcode - 0x88U];
      if (known == kNothing) {
        known = opcode == 'N' ? tree.add_null() : tree.add_truth(opcode == 0x88);
      }
      push(known);
      return true;
    }
    case 'I': {
      const std::string_view line = take_line();
      if (line == "00" || line == "01") {
        push(tree.add_truth(line == "01"));
      } else {
        push_integer(line);
      }
      return true;
    }
    case 'L':
      push_integer(take_line());
      return true;
    case 'J':
      push(tree.add_integer(static_cast<std::int32_t>(take_number(4))));
      return true;
    case 'K':
      push(tree.add_integer(static_cast<std::int64_t>(take_number(1))));
      return true;
    case 'M':
      push(tree.add_integer(static_cast<std::int64_t>(take_number(2))));
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
      push(tree.add_real(value));
      return true;
    }
    case 'G': {
      std::uint64_t bits = 0;  // big-endian
      for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
      push(tree.add_real(std::bit_cast<double>(bits)));
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::add_text(unsigned char opcode) {
  PlainTree& tree = value_.tree;
  std::string_view counted;
  switch (opcode) {
    case 'S':
      push(tree.add_text(unquoted(take_line())));
      return true;
    case 'V':
      push(tree.add_text(unescaped(take_line())));
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
  push(tree.add_text(counted));
  return true;
}

bool PickleReader::add_container(unsigned char opcode) {
  switch (opcode) {
    case ']':
    case ')':
    case 0x8f:
      push(value_.tree.add_items(Kind::kList));
      return true;
    case '}':
      push(value_.tree.add_items(Kind::kMap));
      return true;
    case 'l':
    case 't':
    case 0x91:
      push_list(pop_marked());
      return true;
    case 'd': {
      const std::vector<Index> items = pop_marked();
      push(value_.tree.add_items(Kind::kMap));
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
      push(top());
      return;
    case '.':
      value_.root = pop();
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

std::optional<PlainValue> read_pickle(const std::string& bytes, PlainProblem& problem) {
  PickleReader reader(bytes);
  try {
    return reader.run();
  } catch (const PickleError& error) {
    problem = {error.message(), reader.at()};
    return std::nullopt;
  }
}

}  // namespace pipesim::formats
