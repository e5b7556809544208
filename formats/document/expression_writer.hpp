// Writes expressions as text. formats/document/expression.hpp reads them.
#pragma once

#include <string>

#include "formats/document/expression.hpp"
#include "models/graph/expr.hpp"

namespace pipesim::formats {

/// Writes `expr` with no more parentheses than necessary. parse_expression() turns the text back
/// into `expr` if a value of `type` is expected.
///
/// Some expressions have no exact text, because their parts only fit together without units (a time
/// that is a rank). Such an expression is written with a factor of one unit, and reads back as an
/// expression with the same values.
std::string expression_text(const models::Expr& expr, ValueType type);

}  // namespace pipesim::formats
