// Reads JSON as a document. JSON has its own reader: programs write large files, and this reader is
// twenty times as fast as yaml-cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/document/document_builder.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/codes.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// The expected kind of JSON file, for messages.
struct JsonKind {
  std::string_view name;       // name with its article: "a report"
  models::Code code;           // code of mistakes in the file
  const char* hint = nullptr;  // advice added to each mistake; null: none
};

/// Limit on the number of values in a JSON text, far above the number in any dump.
inline constexpr std::size_t kMaxJsonValues = 20'000'000;

/// Reads `text`. `begin` is the place of its first byte, in the first column of a line; places in
/// the document have no file number. Returns nullopt if `text` is not JSON, has more than
/// kMaxJsonValues values, or nests deeper than kMaxDocumentDepth levels; `diagnostics` gets the
/// reason and the place. `text` must outlive the document.
std::optional<YamlDocument> read_json(std::string_view text, const JsonKind& kind,
                                      models::Diagnostics& diagnostics,
                                      models::Place begin = {1, 1});

/// Reads JSON texts one after another. Each document reuses the memory of the previous one.
class JsonTexts {
 public:
  explicit JsonTexts(const JsonKind& kind) : kind_(kind), builder_(document_, 0) {}
  JsonTexts(const JsonTexts&) = delete;
  JsonTexts& operator=(const JsonTexts&) = delete;

  /// Reads `text` as read_json() does. Returns null after a mistake. The document is valid until
  /// the next call.
  const YamlDocument* read(std::string_view text, models::Diagnostics& diagnostics,
                           models::Place begin);

 private:
  JsonKind kind_;
  YamlDocument document_;
  DocumentBuilder builder_;
};

/// Reads text that need not be JSON: in the same cases as above, returns nullopt, but without a
/// diagnostic.
std::optional<YamlDocument> read_json(std::string_view text);

/// Returns the objects in the list at `key` of an object; empty if there is no such list.
std::vector<YamlValue> objects_of(const YamlValue& object, std::string_view key);

/// Adds the values in `text` to a document, with the places that yaml-cpp would give. Returns false
/// if `text` is not a JSON object; it can still be YAML. The caller must then discard the values
/// added so far.
bool add_json(std::string_view text, DocumentBuilder& builder);

}  // namespace pipesim::formats
