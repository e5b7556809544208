// Structs of the scenario, described once: kFields<T> has a row for each key, with the member that
// the key sets. Loops over the rows implement the reader and the writer, the JSON Schema and the
// reference page (formats/scenario/), the difference of two graphs (features/diff/), and all walks
// over the references or expressions of a graph (models/graph/parts.hpp).
//
// Rows are plain data, and a loop over them is an ordinary loop. A member without a row is a
// compile error (describes_all()), and so is a walk that does not handle some kind of member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/boxed.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"
#include "models/short_list.hpp"

namespace pipesim::models {

/// The index that refers to nothing.
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

/// The kind of thing that an index, or the value of an expression, refers to.
enum class To : std::uint8_t {
  kNothing,
  kRank,
  kActor,
  kGroup,
  kStream,
  kThread,
  kCommunicator,
  kEvent,
  kLock,
  kPhase,
  kLink,
  kInterface,
  kHost,
};

/// The unit of a number.
enum class Unit : std::uint8_t { kNumber, kTime, kBytes, kBandwidth };

/// A value that is one of a few words: the index of the word in the type of its key; -1: none.
struct Word {
  int index = -1;

  friend bool operator==(Word, Word) = default;
};

/// A member that stores a Word in another form: an enum, a bool, or an optional enum.
template <typename T>
struct WordMember {
  Word (*get)(const T&);
  void (*set)(T&, Word);
};

/// A member that a row describes, of one of these kinds. Not a std::variant, whose instantiation
/// for each struct takes the compiler half a second in every translation unit.
template <typename T>
class Member {
 public:
  constexpr Member() : none(nullptr) {}
  // NOLINTBEGIN(google-explicit-constructor): rows name their members
  constexpr Member(bool T::*member) : kind_(Kind::kFlag), flag(member) {}
  constexpr Member(std::int64_t T::*member) : kind_(Kind::kNumber), number(member) {}
  constexpr Member(std::optional<std::int64_t> T::*member)
      : kind_(Kind::kOptionalNumber), optional_number(member) {}
  constexpr Member(std::uint32_t T::*member) : kind_(Kind::kIndex), index(member) {}
  constexpr Member(std::vector<std::uint32_t> T::*member)
      : kind_(Kind::kIndices), indices(member) {}
  constexpr Member(ShortList<std::uint32_t> T::*member)
      : kind_(Kind::kShortIndices), short_indices(member) {}
  constexpr Member(Expr T::*member) : kind_(Kind::kExpr), expr(member) {}
  constexpr Member(Boxed<Expr> T::*member) : kind_(Kind::kBoxedExpr), boxed_expr(member) {}
  constexpr Member(UsualExpr<0> T::*member) : kind_(Kind::kUsualExpr0), usual_expr_0(member) {}
  constexpr Member(UsualExpr<1> T::*member) : kind_(Kind::kUsualExpr1), usual_expr_1(member) {}
  constexpr Member(std::string T::*member) : kind_(Kind::kText), text(member) {}
  constexpr Member(ShortList<std::string> T::*member) : kind_(Kind::kTexts), texts(member) {}
  constexpr Member(RankSet T::*member) : kind_(Kind::kRanks), ranks(member) {}
  constexpr Member(WordMember<T> member) : kind_(Kind::kWord), word(member) {}
  // NOLINTEND(google-explicit-constructor)

  constexpr bool exists() const { return kind_ != Kind::kNone; }

  /// Calls `call` with the pointer to the member or the WordMember, unless there is no member.
  template <typename Visit>
  constexpr void visit(const Visit& call) const {
    switch (kind_) {
      case Kind::kNone:
        return;
      case Kind::kFlag:
        return call(flag);
      case Kind::kNumber:
        return call(number);
      case Kind::kOptionalNumber:
        return call(optional_number);
      case Kind::kIndex:
        return call(index);
      case Kind::kIndices:
        return call(indices);
      case Kind::kShortIndices:
        return call(short_indices);
      case Kind::kExpr:
        return call(expr);
      case Kind::kBoxedExpr:
        return call(boxed_expr);
      case Kind::kUsualExpr0:
        return call(usual_expr_0);
      case Kind::kUsualExpr1:
        return call(usual_expr_1);
      case Kind::kText:
        return call(text);
      case Kind::kTexts:
        return call(texts);
      case Kind::kRanks:
        return call(ranks);
      case Kind::kWord:
        return call(word);
    }
  }

 private:
  enum class Kind : std::uint8_t {
    kNone,
    kFlag,
    kNumber,
    kOptionalNumber,
    kIndex,
    kIndices,
    kShortIndices,
    kExpr,
    kBoxedExpr,
    kUsualExpr0,
    kUsualExpr1,
    kText,
    kTexts,
    kRanks,
    kWord,
  };

  Kind kind_ = Kind::kNone;
  union {
    std::nullptr_t none;
    bool T::*flag;
    std::int64_t T::*number;
    std::optional<std::int64_t> T::*optional_number;
    std::uint32_t T::*index;
    std::vector<std::uint32_t> T::*indices;
    ShortList<std::uint32_t> T::*short_indices;
    Expr T::*expr;
    Boxed<Expr> T::*boxed_expr;
    UsualExpr<0> T::*usual_expr_0;
    UsualExpr<1> T::*usual_expr_1;
    std::string T::*text;
    ShortList<std::string> T::*texts;
    RankSet T::*ranks;
    WordMember<T> word;
  };
};

/// The rules for reading, writing and comparing a value, independent of its struct.
struct FieldTraits {
  std::string_view type = {};   // as in formats/document/key_table.hpp
  std::string_view words = {};  // words of a Word: 'ring'|'tree'
  Unit unit = Unit::kNumber;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool zero_is_none = false;  // whether 0 turns a timeout off
  To to = To::kNothing;
  bool by_hand = false;  // whether the reader and the writer of the section handle the key
};

template <typename T>
struct FieldValue : FieldTraits {
  // A constructor, because the compiler's message for a row of another struct then names both
  // structs.
  constexpr explicit FieldValue(FieldTraits traits, Member<T> described = {})
      : FieldTraits(traits), member(described) {}

  Member<T> member;
};

/// A row: a key and its member.
template <typename T>
struct Field {
  std::string_view name;
  FieldValue<T> value;
  std::string_view meaning = {};    // description in one line, without the default
  std::string_view otherwise = {};  // default; "required" if there is none
};

/// The rows of a struct, in the order of the reference page and of written scenarios. Each struct
/// declares its rows after its definition.
template <typename T>
inline constexpr std::span<const Field<T>> kFields = {};

/// The default of a required key, as text.
inline constexpr std::string_view kRequired = "required";

// ---------------------------------------------------------------------------------------------
// Values of rows

/// A type such as "integer 1..64", and the limits in its text.
struct Integer {
  // NOLINTNEXTLINE(google-explicit-constructor): written as its text
  consteval Integer(const char* text) : Integer(text, limit(text, true)) {}

  /// Constructs a type with a maximum that the schema does not state.
  consteval Integer(const char* text, std::int64_t maximum)
      : type(text), least(limit(text, false)), most(maximum) {}

  std::string_view type;
  std::int64_t least;
  std::int64_t most;

 private:
  static consteval std::int64_t limit(std::string_view text, bool last) {
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) return last ? kAny : 0;
    const std::size_t first = text.find(' ') + 1;
    const std::string_view digits = last ? text.substr(dots + 2) : text.substr(first, dots - first);
    std::int64_t value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') throw "a limit is an integer, as in \"integer 1..64\"";
      value = value * 10 + (c - '0');
    }
    return digits.empty() ? kAny : value;
  }
};

template <typename T, typename M>
constexpr FieldValue<T> integer(M T::*member, Integer type) {
  return FieldValue<T>({.type = type.type, .least = type.least, .most = type.most}, member);
}
template <typename T, typename M>
constexpr FieldValue<T> time(M T::*member) {
  return FieldValue<T>({.type = "time", .unit = Unit::kTime, .least = 0}, member);
}
template <typename T, typename M>
constexpr FieldValue<T> timeout(M T::*member) {
  return FieldValue<T>({.type = "time", .unit = Unit::kTime, .least = 0, .zero_is_none = true},
                       member);
}
template <typename T, typename M>
constexpr FieldValue<T> size(M T::*member) {
  return FieldValue<T>({.type = "size", .unit = Unit::kBytes, .least = 0}, member);
}
template <typename T>
constexpr FieldValue<T> bandwidth(std::int64_t T::*member) {
  return FieldValue<T>({.type = "bandwidth", .unit = Unit::kBandwidth, .least = 1}, member);
}

/// Describe members that hold expressions, whose values can depend on the rank. Lowering checks the
/// limits of these values.
template <typename T, typename M>
constexpr FieldValue<T> integer_by_rank(M T::*member) {
  return FieldValue<T>({.type = "integer(rank)"}, member);
}
template <typename T, typename M>
constexpr FieldValue<T> time_by_rank(M T::*member) {
  return FieldValue<T>({.type = "time(rank)", .unit = Unit::kTime}, member);
}
template <typename T, typename M>
constexpr FieldValue<T> size_by_rank(M T::*member) {
  return FieldValue<T>({.type = "size(rank)", .unit = Unit::kBytes}, member);
}
/// Describes a member that holds an expression whose values are ranks.
template <typename T, typename M>
constexpr FieldValue<T> rank_by_rank(M T::*member) {
  return FieldValue<T>({.type = "integer(rank)", .to = To::kRank}, member);
}

template <typename T>
constexpr FieldValue<T> on_off(bool T::*member) {
  return FieldValue<T>({.type = "on/off"}, member);
}
/// Describes a member that holds one index, or a list of indices.
template <typename T, typename M>
constexpr FieldValue<T> ref(M T::*member, To to, std::string_view type = "name") {
  return FieldValue<T>({.type = type, .to = to}, member);
}
template <typename T>
constexpr FieldValue<T> ranks(RankSet T::*member) {
  return FieldValue<T>({.type = "ranks"}, member);
}
template <typename T>
constexpr FieldValue<T> text(std::string T::*member, std::string_view type = "text") {
  return FieldValue<T>({.type = type}, member);
}
/// Describes a member that holds names of tensors, without duplicates.
template <typename T>
constexpr FieldValue<T> tensors(ShortList<std::string> T::*member) {
  return FieldValue<T>({.type = "[name]?"}, member);
}

/// Returns the word at `index` of a type such as 'host'|'job'.
constexpr std::string_view word_at(std::string_view words, int index) {
  std::size_t begin = 1;
  for (; index > 0; --index) begin = words.find('|', begin) + 2;
  return words.substr(begin, words.find('\'', begin) - begin);
}

namespace fields_detail {
template <typename E>
E word_value(Word word, const E*) {
  return static_cast<E>(word.index);
}
template <typename E>
std::optional<E> word_value(Word word, const std::optional<E>*) {
  return word.index < 0 ? std::nullopt : std::optional(static_cast<E>(word.index));
}
template <typename E>
Word word_of(const E& value) {
  return {static_cast<int>(value)};
}
template <typename E>
Word word_of(const std::optional<E>& value) {
  return {value ? static_cast<int>(*value) : -1};
}
template <auto kMember, typename T, typename M>
constexpr FieldValue<T> words(std::string_view type, std::string_view words, M T::*) {
  return FieldValue<T>({.type = type, .words = words},
                       WordMember<T>{[](const T& object) { return word_of(object.*kMember); },
                                     [](T& object, Word word) {
                                       object.*kMember =
                                           word_value(word, static_cast<const M*>(nullptr));
                                     }});
}
}  // namespace fields_detail

/// Describes a bool, an enum or an optional enum, whose values are the words of `type`, in order. A
/// named type lists them in `words`.
template <auto kMember>
constexpr auto words(std::string_view type, std::string_view words = {}) {
  return fields_detail::words<kMember>(type, words.empty() ? type : words, kMember);
}
/// Describes a word that is stored in another form.
template <typename T>
constexpr FieldValue<T> words(std::string_view type, WordMember<T> member) {
  return FieldValue<T>({.type = type, .words = type}, member);
}

/// Describes a key with text that only people read.
template <typename T>
constexpr FieldValue<T> for_people() {
  return FieldValue<T>({.type = "text"});
}
/// Describes a key that its section reads and writes. All other walks use `value`, if it has a
/// member.
template <typename T>
constexpr FieldValue<T> by_hand(FieldValue<T> value) {
  value.by_hand = true;
  return value;
}
template <typename T>
constexpr FieldValue<T> by_hand(std::string_view type) {
  return FieldValue<T>({.type = type, .by_hand = true});
}

// ---------------------------------------------------------------------------------------------
// Walks

/// Calls `visit` with the member of `object` that the row describes, if there is one. A word is
/// passed as a Word&, and stored if it changed.
template <typename T, typename Object, typename Visit>
void visit_member(const Field<T>& field, Object& object, const Visit& visit) {
  static_assert(std::is_same_v<std::remove_const_t<Object>, T>);
  field.value.member.visit([&](const auto& member) {
    if constexpr (std::is_member_pointer_v<std::remove_cvref_t<decltype(member)>>) {
      visit(object.*member);
    } else {
      Word word = member.get(object);
      visit(word);
      if constexpr (!std::is_const_v<Object>) {
        if (word != member.get(object)) member.set(object, word);
      }
    }
  });
}

/// Whether `a` and `b` have the same value under this key.
template <typename T>
bool same(const Field<T>& field, const T& a, const T& b) {
  bool same = true;
  field.value.member.visit([&](const auto& member) {
    if constexpr (std::is_member_pointer_v<std::remove_cvref_t<decltype(member)>>) {
      same = a.*member == b.*member;
    } else {
      same = member.get(a) == member.get(b);
    }
  });
  return same;
}

/// Gives `object` the value of `plain` under this key.
template <typename T>
void reset(const Field<T>& field, T& object, const T& plain) {
  field.value.member.visit([&](const auto& member) {
    if constexpr (std::is_member_pointer_v<std::remove_cvref_t<decltype(member)>>) {
      object.*member = plain.*member;
    } else {
      member.set(object, member.get(plain));
    }
  });
}

template <typename M>
inline constexpr bool kIsIndexList =
    std::is_same_v<M, std::vector<std::uint32_t>> || std::is_same_v<M, ShortList<std::uint32_t>>;

/// Calls `visit(index)` for each index of a thing of this kind in `object`. An index can be
/// kNoIndex.
template <typename Object, typename Visit>
void for_each_ref(Object& object, To to, const Visit& visit) {
  using T = std::remove_const_t<Object>;
  for (const Field<T>& field : kFields<T>) {
    if (field.value.to != to) continue;
    visit_member(field, object, [&](auto& member) {
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<M, std::uint32_t>) {
        visit(member);
      } else if constexpr (kIsIndexList<M>) {
        for (auto& index : member) visit(index);
      }
    });
  }
}

/// Calls `visit(expr, field)` for each expression of `object`.
template <typename Object, typename Visit>
void for_each_expr(Object& object, const Visit& visit) {
  using T = std::remove_const_t<Object>;
  for (const Field<T>& field : kFields<T>) {
    visit_member(field, object, [&](auto& member) {
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<M, Expr>) {
        visit(member, field);
      } else if constexpr (std::is_same_v<M, Boxed<Expr>>) {
        if (member) visit(*member, field);
      } else if constexpr (std::is_same_v<M, UsualExpr<0>> || std::is_same_v<M, UsualExpr<1>>) {
        if constexpr (std::is_const_v<Object>) {
          visit(static_cast<const Expr&>(member), field);
        } else {
          member.update([&](Expr& expr) { visit(expr, field); });
        }
      }
    });
  }
}

/// Calls `visit(set)` for each set of ranks of `object`.
template <typename Object, typename Visit>
void for_each_rank_set(Object& object, const Visit& visit) {
  using T = std::remove_const_t<Object>;
  for (const Field<T>& field : kFields<T>) {
    visit_member(field, object, [&](auto& member) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, RankSet>) visit(member);
    });
  }
}

// ---------------------------------------------------------------------------------------------
// Completeness

namespace fields_detail {
// Converts to a member of any type, so that the members of an aggregate can be counted.
struct Anything {
  template <typename U>
  operator U() const;  // NOLINT(google-explicit-constructor)
};
template <typename T, typename... Given>
consteval std::size_t count_members() {
  if constexpr (requires { T{Given{}..., Anything{}}; }) {
    return count_members<T, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}
}  // namespace fields_detail

/// Whether each member of T has a row, except `others` members: its name, its place, a struct.
template <typename T>
consteval bool describes_all(std::size_t others) {
  static_assert(std::is_aggregate_v<T>, "only the members of an aggregate can be counted");
  std::size_t described = others;
  for (const Field<T>& row : kFields<T>) {
    if (row.value.member.exists()) ++described;
  }
  return fields_detail::count_members<T>() == described;
}

}  // namespace pipesim::models
