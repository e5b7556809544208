#include "app/output/gzip.hpp"

#include <array>
#include <limits>
#include <new>
#include <utility>

#include <zlib.h>

namespace pipesim::app {
namespace {

constexpr int kLevel = 1;
constexpr int kGzipWindow = 15 + 16;  // largest window, with gzip's header
constexpr int kMemory = 8;            // zlib's default

}  // namespace

struct Gzip::Stream {
  z_stream z{};
  std::array<char, std::size_t{1} << 16> out{};
};

Gzip::Gzip(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)), stream_(std::make_unique<Stream>()) {
  const int result =
      deflateInit2(&stream_->z, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  if (result != Z_OK) throw std::bad_alloc();  // out of memory: the only possible cause
}

Gzip::~Gzip() { deflateEnd(&stream_->z); }

void Gzip::write(std::string_view part) {
  constexpr std::size_t kMax = std::numeric_limits<uInt>::max();
  while (!part.empty()) {
    const std::string_view now = part.substr(0, kMax);
    part.remove_prefix(now.size());
    // zlib's interface lacks a const; zlib only reads this buffer.
    stream_->z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(now.data()));
    stream_->z.avail_in = static_cast<uInt>(now.size());
    deflate(false);
  }
}

void Gzip::finish() { deflate(true); }

void Gzip::deflate(bool last) {
  z_stream& z = stream_->z;
  do {
    z.next_out = reinterpret_cast<Bytef*>(stream_->out.data());
    z.avail_out = static_cast<uInt>(stream_->out.size());
    ::deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
    sink_({stream_->out.data(), stream_->out.size() - z.avail_out});
  } while (z.avail_out == 0);
}

}  // namespace pipesim::app
