#include "net/gzip.h"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"

namespace hekla::net {
namespace {

constexpr int kGzipWindow = 15 + 16;    // zlib: 15 bits, gzip framing
constexpr int kDetectWindow = 15 + 32;  // either framing
constexpr std::size_t kStep = 64 * 1024;

const Bytef* bytes_of(std::string_view data) { return reinterpret_cast<const Bytef*>(data.data()); }

}  // namespace

std::string gzip_compress(std::string_view data) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  std::size_t out_left = out.size();
  int status = Z_OK;
  while (status == Z_OK) {  // zlib counts in 32 bits
    std::size_t in_step = std::min<std::size_t>(data.size(), std::numeric_limits<uInt>::max());
    std::size_t out_step = std::min<std::size_t>(out_left, std::numeric_limits<uInt>::max());
    stream.next_in = bytes_of(data);
    stream.avail_in = static_cast<uInt>(in_step);
    stream.avail_out = static_cast<uInt>(out_step);
    status = deflate(&stream, in_step == data.size() ? Z_FINISH : Z_NO_FLUSH);
    data.remove_prefix(in_step - stream.avail_in);
    out_left -= out_step - stream.avail_out;
  }
  deflateEnd(&stream);
  CHECK(status == Z_STREAM_END, "deflateBound is enough");
  out.resize(out.size() - out_left);
  return out;
}

struct GzipReader::State {
  z_stream stream{};
  std::size_t produced = 0;
  bool complete = false;
  State() { CHECK(inflateInit2(&stream, kDetectWindow) == Z_OK); }
  ~State() { inflateEnd(&stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

GzipReader::GzipReader() : state_(std::make_unique<State>()) {}
GzipReader::~GzipReader() = default;
GzipReader::GzipReader(GzipReader&&) noexcept = default;
GzipReader& GzipReader::operator=(GzipReader&&) noexcept = default;

bool GzipReader::complete() const { return state_->complete; }

Result<void> GzipReader::feed(std::string_view data, std::string& out, std::size_t limit_bytes) {
  z_stream& stream = state_->stream;
  std::array<char, kStep> made;
  bool more = false;  // zlib holds output that did not fit
  while (!data.empty() || more) {
    if (state_->complete) {  // members may follow each other
      if (inflateReset(&stream) != Z_OK) return fail(Code::internal, "resetting a gzip stream");
      state_->complete = false;
    }
    std::size_t in_step = std::min(data.size(), kStep);
    stream.next_in = bytes_of(data);
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = reinterpret_cast<Bytef*>(made.data());
    stream.avail_out = kStep;
    int status = inflate(&stream, Z_NO_FLUSH);
    std::size_t size = kStep - stream.avail_out;
    out.append(made.data(), size);
    data.remove_prefix(in_step - stream.avail_in);
    state_->produced += size;
    if (state_->produced > limit_bytes)
      return fail(Code::too_large,
                  "the unpacked body is larger than " + std::to_string(limit_bytes));
    state_->complete = status == Z_STREAM_END;
    more = status == Z_OK && stream.avail_out == 0;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return fail(Code::internal,
                  std::string("damaged gzip data: ") + (stream.msg ? stream.msg : "?"));
  }
  return {};
}

}  // namespace hekla::net
