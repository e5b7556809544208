// Compression of what is written part by part, as gzip does it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace pipesim::app {

/// Hands on what it is given, compressed. The header has neither time nor name, so the same text is
/// the same bytes, with the same zlib.
class Gzip {
 public:
  explicit Gzip(std::function<void(std::string_view)> sink);
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view part);
  void finish();

 private:
  struct Stream;
  void deflate(bool last);

  std::function<void(std::string_view)> sink_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace pipesim::app
