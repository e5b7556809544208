#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "viz/report/annotations.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;

// Converts a path to a relative reference (RFC 3986): percent-encodes all characters that are not
// in kPlain.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    uri += kPlain.find(c) != std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

}  // namespace

std::string sarif(const std::vector<Annotation>& annotations, std::string_view version) {
  Json rules = Json::array();
  Json results = Json::array();
  std::map<std::string, std::size_t> index;
  for (const Annotation& annotation : annotations) {
    const auto [known, is_new] = index.emplace(annotation.rule, rules.size());
    if (is_new) {
      rules.push_back({{"id", annotation.rule},
                       {"shortDescription", {{"text", annotation.rule_title}}},
                       {"help", {{"text", annotation.rule_help}}}});
    }
    Json location = {{"artifactLocation", {{"uri", uri_of(annotation.file)}}}};
    if (annotation.line > 0) {
      location["region"] = {{"startLine", annotation.line}, {"startColumn", annotation.column}};
    }
    results.push_back(
        {{"ruleId", annotation.rule},
         {"ruleIndex", known->second},
         {"level", annotation.severity == models::Severity::kError ? "error" : "warning"},
         {"message", {{"text", annotation.message + "\n" + annotation.help}}},
         {"locations", Json::array({{{"physicalLocation", std::move(location)}}})}});
  }
  const Json driver = {
      {"name", "pipesim"}, {"semanticVersion", version}, {"rules", std::move(rules)}};
  const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({{{"tool", {{"driver", driver}}},
                                           {"columnKind", "unicodeCodePoints"},
                                           {"results", std::move(results)}}})}};
  return log.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
