// Writes expressions as text. An Expr has no types, but the text has: units distinguish times from
// numbers. So the writer turns the postfix program into a tree, and asks each part whether its text
// can have the expected type. Parts that are neither times nor sizes (a comparison, a rank) are
// written as plain numbers.
#include "formats/document/expression_writer.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

using models::Expr;
using Op = Expr::Op;

// Levels of precedence, from lowest to highest; the parser has a function for each.
enum Level : int { kOr, kAnd, kNot, kComparison, kSum, kProduct, kSign, kPrimary };

struct Text {
  std::string text;
  Level level;
};

class Writer {
 public:
  explicit Writer(const Expr& expr);

  std::string run(ValueType type) const {
    if (nodes_.empty()) return constant(0, type).text;
    const std::uint32_t root = static_cast<std::uint32_t>(nodes_.size() - 1);
    if (can_be(root, type)) return write(root, type).text;
    return fmt::format("{} * {}", within(write(root, ValueType::kNumber), kProduct),
                       constant(1, type).text);
  }

 private:
  struct Node {
    Op op = Op::kConstant;
    std::int64_t value = 0;
    std::uint32_t parts[3] = {0, 0, 0};
  };

  bool can_be(std::uint32_t index, ValueType type) const;
  bool is_truth(std::uint32_t index) const;
  Text write(std::uint32_t index, ValueType type) const;
  Text write_choice(std::uint32_t index, ValueType type) const;
  Text joined(std::uint32_t index, const char* symbol, Level level, ValueType left,
              ValueType right) const;
  static Text constant(std::int64_t value, ValueType type);
  static std::string within(const Text& text, Level least) {
    return text.level >= least ? text.text : fmt::format("({})", text.text);
  }

  std::vector<Node> nodes_;  // the last node is the root
};

int arity(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kRank:
      return 0;
    case Op::kNot:
    case Op::kNegate:
      return 1;
    case Op::kSelect:
      return 3;
    default:
      return 2;
  }
}

Writer::Writer(const Expr& expr) {
  std::vector<std::uint32_t> open;
  for (const Expr::Step& step : expr.steps()) {
    Node node;
    node.op = step.op;
    node.value = step.constant;
    for (int part = arity(step.op) - 1; part >= 0; --part) {
      node.parts[part] = open.back();
      open.pop_back();
    }
    open.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back(node);
  }
}

// Whether the value of this part can only be on or off.
bool Writer::is_truth(std::uint32_t index) const {
  const Node& node = nodes_[index];
  switch (node.op) {
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
      return true;
    case Op::kSelect:
      return is_truth(node.parts[1]) || is_truth(node.parts[2]);
    case Op::kMinimum:
    case Op::kMaximum:
      return is_truth(node.parts[0]) || is_truth(node.parts[1]);
    default:
      return false;
  }
}

// Whether the text of this part can have `type`: a time, a size, a number or a truth.
bool Writer::can_be(std::uint32_t index, ValueType type) const {
  const Node& node = nodes_[index];
  const bool number = type == ValueType::kNumber;
  switch (node.op) {
    case Op::kConstant:
      return type != ValueType::kTruth || node.value == 0 || node.value == 1;
    case Op::kRank:
      return number;
    case Op::kNegate:
      return type != ValueType::kTruth && can_be(node.parts[0], type);
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kModulo:
    case Op::kMinimum:
    case Op::kMaximum:
      return (type != ValueType::kTruth || node.op == Op::kMinimum || node.op == Op::kMaximum) &&
             can_be(node.parts[0], type) && can_be(node.parts[1], type);
    case Op::kMultiply:
      if (type == ValueType::kTruth) return false;
      return (can_be(node.parts[0], type) && can_be(node.parts[1], ValueType::kNumber)) ||
             (can_be(node.parts[0], ValueType::kNumber) && can_be(node.parts[1], type));
    case Op::kDivide:
      return type != ValueType::kTruth && can_be(node.parts[0], type) &&
             can_be(node.parts[1], ValueType::kNumber);
    case Op::kSelect:
      return can_be(node.parts[1], type) && can_be(node.parts[2], type);
    default:
      return type == ValueType::kTruth;
  }
}

Text Writer::constant(std::int64_t value, ValueType type) {
  // The digits of this value alone exceed the range, because the sign is a separate operator.
  if (value == std::numeric_limits<std::int64_t>::min()) {
    return {fmt::format("{} - {}", constant(value + 1, type).text, constant(1, type).text), kSum};
  }
  // The parser would reject digits after the decimal point of such a large time.
  constexpr std::int64_t kMaxThousands = std::numeric_limits<std::int64_t>::max() / 1000;
  if (type == ValueType::kTime && value > kMaxThousands)
    return {fmt::format("{}ns", value), kPrimary};
  return {to_text({type, Expr::constant(value), {}}), value < 0 ? kSign : kPrimary};
}

Text Writer::joined(std::uint32_t index, const char* symbol, Level level, ValueType left,
                    ValueType right) const {
  const Node& node = nodes_[index];
  // The left operand can have the same level, except that comparisons do not chain.
  const Level before = level == kComparison ? kSum : level;
  const auto after = static_cast<Level>(level + 1);
  return {fmt::format("{} {} {}", within(write(node.parts[0], left), before), symbol,
                      within(write(node.parts[1], right), after)),
          level};
}

Text Writer::write(std::uint32_t index, ValueType type) const {
  const Node& node = nodes_[index];
  const auto comparison = [&](const char* symbol) {
    const ValueType side =
        is_truth(node.parts[0]) || is_truth(node.parts[1]) ? ValueType::kTruth : ValueType::kNumber;
    return joined(index, symbol, kComparison, side, side);
  };
  const auto call = [&](const char* name) {
    return Text{fmt::format("{}({}, {})", name, write(node.parts[0], type).text,
                            write(node.parts[1], type).text),
                kPrimary};
  };
  switch (node.op) {
    case Op::kConstant:
      return constant(node.value, type);
    case Op::kRank:
      return {"rank", kPrimary};
    case Op::kNegate:
      return {"-" + within(write(node.parts[0], type), kPrimary), kSign};
    case Op::kNot:
      return {"not " + within(write(node.parts[0], ValueType::kTruth), kComparison), kNot};
    case Op::kAdd:
      return joined(index, "+", kSum, type, type);
    case Op::kSubtract:
      return joined(index, "-", kSum, type, type);
    case Op::kModulo:
      return joined(index, "%", kProduct, type, type);
    case Op::kDivide:
      return joined(index, "/", kProduct, type, ValueType::kNumber);
    case Op::kMultiply:
      if (can_be(node.parts[0], ValueType::kNumber) && can_be(node.parts[1], type)) {
        return joined(index, "*", kProduct, ValueType::kNumber, type);
      }
      return joined(index, "*", kProduct, type, ValueType::kNumber);
    case Op::kMinimum:
      return call("min");
    case Op::kMaximum:
      return call("max");
    case Op::kEqual:
      return comparison("==");
    case Op::kNotEqual:
      return comparison("!=");
    case Op::kLess:
      return comparison("<");
    case Op::kLessEqual:
      return comparison("<=");
    case Op::kGreater:
      return comparison(">");
    case Op::kGreaterEqual:
      return comparison(">=");
    case Op::kAnd:
      return joined(index, "and", kAnd, ValueType::kTruth, ValueType::kTruth);
    case Op::kOr:
      return joined(index, "or", kOr, ValueType::kTruth, ValueType::kTruth);
    case Op::kSelect:
      break;
  }
  return write_choice(index, type);
}

// Writes a chain of choices as one call of if().
Text Writer::write_choice(std::uint32_t index, ValueType type) const {
  std::string text = "if(";
  while (nodes_[index].op == Op::kSelect) {
    const Node& node = nodes_[index];
    text += fmt::format("{}, {}, ", write(node.parts[0], ValueType::kTruth).text,
                        write(node.parts[1], type).text);
    index = node.parts[2];
  }
  return {text + write(index, type).text + ")", kPrimary};
}

}  // namespace

std::string expression_text(const Expr& expr, ValueType type) { return Writer(expr).run(type); }

}  // namespace pipesim::formats
