#include "net/spdy.h"

#define ZLIB_CONST
#include <zlib.h>

#include <array>

#include "base/check.h"
#include "net/spdy_dictionary.h"

namespace hekla::net {
namespace {

constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 64 * 1024;  // a block, unpacked
constexpr std::size_t kMaxControlBytes = 64 * 1024;
constexpr std::size_t kMaxDataBytes = 0xff'ffff;
constexpr std::uint8_t kFin = 1;
constexpr std::uint32_t kStreamMask = 0x7fff'ffff;
enum ControlType : std::uint16_t {
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kPing = 6,
  kGoaway = 7,
};

std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (char byte : bytes.substr(at, size)) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

void append_number(std::string& out, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

std::string control_frame(ControlType type, std::uint8_t flags, std::string_view payload) {
  std::string out;
  append_number(out, 0x8000 | kVersion, 2);
  append_number(out, type, 2);
  append_number(out, flags, 1);
  append_number(out, static_cast<std::uint32_t>(payload.size()), 3);
  out += payload;
  return out;
}

const Bytef* zlib_bytes(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

// count, then (length, name, length, value) for each.
Result<Headers> parse_header_block(std::string_view text) {
  auto take = [&](std::size_t size) -> Result<std::string_view> {
    if (text.size() < size) return fail(Code::bad_request, "a header block ends too early");
    std::string_view out = text.substr(0, size);
    text.remove_prefix(size);
    return out;
  };
  auto take_text = [&]() -> Result<std::string> {
    std::string_view size = TRY(take(4));
    return std::string(TRY(take(number(size, 0, 4))));
  };
  std::uint32_t count = number(TRY(take(4)), 0, 4);
  if (count > kMaxHeaderBytes / 8) return fail(Code::bad_request, "a header block counts wrong");
  Headers headers;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = TRY(take_text());
    std::string value = TRY(take_text());
    headers.add(std::move(name), std::move(value));
  }
  if (!text.empty()) return fail(Code::bad_request, "a header block has something after its end");
  return headers;
}

}  // namespace

struct SpdyReader::Inflater {
  z_stream stream{};
  Inflater() { CHECK(inflateInit(&stream) == Z_OK); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::string> unpack(std::string_view block) {
    std::string out;
    std::array<char, 4096> step;
    stream.next_in = zlib_bytes(block);
    stream.avail_in = static_cast<uInt>(block.size());
    while (true) {
      stream.next_out = reinterpret_cast<Bytef*>(step.data());
      stream.avail_out = static_cast<uInt>(step.size());
      int status = inflate(&stream, Z_SYNC_FLUSH);
      if (status == Z_NEED_DICT) {
        const std::string& dictionary = spdy_dictionary();
        if (inflateSetDictionary(&stream, zlib_bytes(dictionary),
                                 static_cast<uInt>(dictionary.size())) != Z_OK)
          return fail(Code::bad_request, "the header block was packed with another dictionary");
        continue;
      }
      out.append(step.data(), step.size() - stream.avail_out);
      if (out.size() > kMaxHeaderBytes) return fail(Code::too_large, "the headers are too large");
      bool done = stream.avail_in == 0 && stream.avail_out != 0;
      if (done && (status == Z_OK || status == Z_BUF_ERROR)) return out;
      if (status != Z_OK) return fail(Code::bad_request, "a header block cannot be unpacked");
    }
  }
};

SpdyReader::SpdyReader() : inflater_(std::make_unique<Inflater>()) {}
SpdyReader::~SpdyReader() = default;

Result<void> SpdyReader::feed(std::string_view bytes, std::vector<SpdyEvent>& out) {
  buffer_ += bytes;
  std::string_view rest = buffer_;
  while (rest.size() >= kHeadBytes) {
    bool control = (static_cast<std::uint8_t>(rest[0]) & 0x80) != 0;
    std::size_t size = number(rest, 5, 3);
    if (control && (number(rest, 0, 2) & 0x7fff) != kVersion)
      return fail(Code::bad_request, "a frame of another SPDY version");
    if (size > (control ? kMaxControlBytes : kMaxDataBytes))
      return fail(Code::too_large, "a frame is too large");
    if (rest.size() < kHeadBytes + size) break;
    std::string_view payload = rest.substr(kHeadBytes, size);
    auto flags = static_cast<std::uint8_t>(rest[4]);
    if (control) {
      TRY(on_control(static_cast<std::uint16_t>(number(rest, 2, 2)), flags, payload, out));
    } else {
      out.push_back({SpdyEvent::Kind::data,
                     number(rest, 0, 4) & kStreamMask,
                     {},
                     std::string(payload),
                     (flags & kFin) != 0});
    }
    rest.remove_prefix(kHeadBytes + size);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return {};
}

// Settings and windows are ignored, as every Kubernetes peer does.
Result<void> SpdyReader::on_control(std::uint16_t type, std::uint8_t flags,
                                    std::string_view payload, std::vector<SpdyEvent>& out) {
  constexpr std::size_t kSynStreamHead = 10, kNumber = 4;
  if (type != kSynStream && type != kRstStream && type != kPing && type != kGoaway) return {};
  if (payload.size() < (type == kSynStream ? kSynStreamHead : kNumber))
    return fail(Code::bad_request, "a control frame is too short");
  std::uint32_t id = number(payload, 0, 4);
  SpdyEvent event;
  event.id = type == kPing ? id : id & kStreamMask;
  switch (type) {
    case kSynStream:
      event.headers = TRY(read_headers(payload.substr(kSynStreamHead)));
      event.kind =
          event.id > last_stream_ ? SpdyEvent::Kind::stream : SpdyEvent::Kind::refused_stream;
      last_stream_ = std::max(last_stream_, event.id);
      event.fin = (flags & kFin) != 0;
      break;
    case kRstStream:
      event.kind = SpdyEvent::Kind::reset;
      break;
    case kPing:
      event.kind = SpdyEvent::Kind::ping;
      break;
    default:
      event.kind = SpdyEvent::Kind::goaway;
  }
  out.push_back(std::move(event));
  return {};
}

Result<Headers> SpdyReader::read_headers(std::string_view block) {
  std::string text = TRY(inflater_->unpack(block));
  return parse_header_block(text);
}

struct SpdyWriter::Deflater {
  z_stream stream{};
  Deflater() {
    CHECK(deflateInit(&stream, Z_BEST_COMPRESSION) == Z_OK);
    const std::string& dictionary = spdy_dictionary();
    CHECK(deflateSetDictionary(&stream, zlib_bytes(dictionary),
                               static_cast<uInt>(dictionary.size())) == Z_OK);
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
};

SpdyWriter::SpdyWriter() : deflater_(std::make_unique<Deflater>()) {}
SpdyWriter::~SpdyWriter() = default;

std::string SpdyWriter::pack(const Headers& headers) {
  std::string plain;
  append_number(plain, static_cast<std::uint32_t>(headers.all().size()), 4);
  for (const auto& [name, value] : headers.all()) {
    append_number(plain, static_cast<std::uint32_t>(name.size()), 4);
    plain += name;
    append_number(plain, static_cast<std::uint32_t>(value.size()), 4);
    plain += value;
  }
  std::string out(plain.size() + 1024, '\0');
  z_stream& stream = deflater_->stream;
  stream.next_in = zlib_bytes(plain);
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_SYNC_FLUSH) == Z_OK && stream.avail_in == 0 && stream.avail_out > 0,
        "a header block has room enough");
  out.resize(out.size() - stream.avail_out);
  return out;
}

std::string SpdyWriter::syn_reply(std::uint32_t stream) {
  std::string payload;
  append_number(payload, stream, 4);
  return control_frame(kSynReply, 0, payload + pack({}));
}

std::string SpdyWriter::syn_stream(std::uint32_t stream, const Headers& headers, bool fin) {
  std::string payload;
  append_number(payload, stream, 4);
  append_number(payload, 0, 4);  // associated with none
  append_number(payload, 0, 2);  // priority and slot
  return control_frame(kSynStream, fin ? kFin : 0, payload + pack(headers));
}

std::string SpdyWriter::data(std::uint32_t stream, std::string_view bytes, bool fin) {
  std::string out;
  out.reserve(bytes.size() + kHeadBytes);
  do {
    std::string_view part = bytes.substr(0, kMaxDataBytes);
    bytes.remove_prefix(part.size());
    append_number(out, stream & kStreamMask, 4);
    append_number(out, fin && bytes.empty() ? kFin : 0, 1);
    append_number(out, static_cast<std::uint32_t>(part.size()), 3);
    out += part;
  } while (!bytes.empty());
  return out;
}

std::string SpdyWriter::reset(std::uint32_t stream, std::uint32_t status) {
  std::string payload;
  append_number(payload, stream, 4);
  append_number(payload, status, 4);
  return control_frame(kRstStream, 0, payload);
}

std::string SpdyWriter::ping(std::uint32_t id) {
  std::string payload;
  append_number(payload, id, 4);
  return control_frame(kPing, 0, payload);
}

}  // namespace hekla::net
