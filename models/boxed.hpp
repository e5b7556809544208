// An optional value in separate storage, so that an empty one stays small.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace pipesim::models {

/// Like std::optional, but only as large as a pointer. Copies are deep.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::optional
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as std::optional
  Boxed(std::optional<T> value) {
    if (value) value_ = std::make_unique<T>(std::move(*value));
  }
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&& other) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    Boxed copy(other);
    return *this = std::move(copy);
  }
  Boxed& operator=(Boxed&& other) noexcept = default;
  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  T& emplace() {
    value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    return a.has_value() == b.has_value() && (!a || *a == *b);
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace pipesim::models
