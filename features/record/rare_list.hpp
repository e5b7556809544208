// A list that most objects leave empty.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace pipesim::models {

/// A list of the size of a pointer. A long record has millions of entries, and few entries have
/// lists.
template <typename T>
class RareList {
 public:
  RareList() = default;
  RareList(std::vector<T> list) { assign(std::move(list)); }  // NOLINT(google-explicit-constructor)
  RareList(const RareList& other) { assign(other.list()); }
  RareList(RareList&& other) noexcept = default;
  RareList& operator=(const RareList& other) {
    if (this != &other) assign(other.list());
    return *this;
  }
  RareList& operator=(RareList&& other) noexcept = default;
  ~RareList() = default;

  const std::vector<T>& list() const {
    static const std::vector<T> kEmpty;
    return list_ ? *list_ : kEmpty;
  }
  bool empty() const { return list_ == nullptr; }
  std::size_t size() const { return list().size(); }
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  const T& front() const { return list().front(); }
  const T& operator[](std::size_t i) const { return list()[i]; }
  void clear() { list_.reset(); }

  /// Removes the items for which `is_gone(item)` is true.
  template <typename IsGone>
  void erase_if(const IsGone& is_gone) {
    if (!list_) return;
    std::erase_if(*list_, is_gone);
    if (list_->empty()) list_.reset();
  }

  friend bool operator==(const RareList& a, const RareList& b) { return a.list() == b.list(); }

 private:
  void assign(std::vector<T> list) {
    list_ = list.empty() ? nullptr : std::make_unique<std::vector<T>>(std::move(list));
  }

  std::unique_ptr<std::vector<T>> list_;  // never empty
};

}  // namespace pipesim::models
