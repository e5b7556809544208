// Tables of enumeration values and their words in the scenario format.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipesim::models {

template <typename Value, std::size_t kCount>
using WordTable = std::array<std::pair<const char*, Value>, kCount>;

template <typename Value, std::size_t kCount>
std::optional<Value> find_word(const WordTable<Value, kCount>& table, std::string_view word) {
  for (const auto& [known, value] : table) {
    if (word == known) return value;
  }
  return std::nullopt;
}

template <typename Value, std::size_t kCount>
std::vector<std::string> words_of(const WordTable<Value, kCount>& table) {
  std::vector<std::string> words;
  for (const auto& [word, value] : table) words.emplace_back(word);
  return words;
}

}  // namespace pipesim::models
