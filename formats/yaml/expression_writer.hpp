// Expressions as text: the other direction of formats/yaml/expression.hpp.
#pragma once

#include <string>

#include "formats/yaml/expression.hpp"
#include "models/graph/expr.hpp"

namespace pipesim::formats {

/// `expr` in the words of the file, with no more parentheses than it needs. Where a value of `type`
/// is expected, parse_expression makes the same expression of it.
///
/// An expression that no text stands for, because its parts fit together only without units (a time
/// that is a rank), is written with a factor of one unit, and so reads as one with the same values.
std::string expression_text(const models::Expr& expr, ValueType type);

}  // namespace pipesim::formats
