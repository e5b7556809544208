// Compresses a text part by part, in gzip's format.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace pipesim::app {

/// Compresses its input and passes the result to a sink. The header has neither time nor name, so
/// the same text and zlib version give the same bytes.
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
