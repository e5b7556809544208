#include "formats/scenario/field_writer.hpp"

#include "formats/document/value_writer.hpp"
#include "formats/scenario/field_reader.hpp"
#include "models/graph/parts.hpp"

namespace pipesim::formats {

using models::kNoIndex;
using models::To;

FieldWriter::Node FieldWriter::node(Traits, bool member) const { return truth(member); }

FieldWriter::Node FieldWriter::node(Traits traits, std::int64_t member) const {
  return node(traits, models::Expr::constant(member));
}

FieldWriter::Node FieldWriter::node(Traits traits,
                                    const std::optional<std::int64_t>& member) const {
  return member ? node(traits, *member) : std::nullopt;
}

FieldWriter::Node FieldWriter::node(Traits traits, std::uint32_t member) const {
  if (traits.to == To::kNothing) return number(member);
  if (member == kNoIndex) return std::nullopt;
  return YamlNode::text(name_of(graph_, traits.to, member));
}

FieldWriter::Node FieldWriter::node(Traits traits, std::span<const std::uint32_t> members) const {
  std::vector<std::string> names;
  for (const std::uint32_t index : members) names.push_back(name_of(graph_, traits.to, index));
  return text_list(names);
}

FieldWriter::Node FieldWriter::node(Traits, const std::string& member) const {
  return YamlNode::text(member);
}

FieldWriter::Node FieldWriter::node(Traits, const models::ShortList<std::string>& member) const {
  return text_list(member);
}

FieldWriter::Node FieldWriter::node(Traits, const models::RankSet& member) const {
  return ranks(member, graph_.ranks);
}

FieldWriter::Node FieldWriter::node(Traits traits, models::Word member) const {
  if (member.index < 0) return std::nullopt;
  return YamlNode::text(models::word_at(traits.words, member.index));
}

FieldWriter::Node FieldWriter::node(Traits traits, const models::Expr& member) const {
  return expression(member, value_type(traits.unit));
}

FieldWriter::Node FieldWriter::node(Traits traits,
                                    const models::Boxed<models::Expr>& member) const {
  return member ? node(traits, *member) : std::nullopt;
}

}  // namespace pipesim::formats
