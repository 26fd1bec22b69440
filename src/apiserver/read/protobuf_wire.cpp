#include "apiserver/read/protobuf_wire.h"

#include <bit>

#include "base/bytes.h"

namespace hekla::apiserver::protobuf {

void put_raw_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

namespace {

void put_tag(std::string& out, std::uint32_t number, Wire wire) {
  put_raw_varint(out, number << 3 | static_cast<std::uint32_t>(wire));
}

std::unexpected<Error> broken(std::string_view why) {
  return fail(Code::bad_request, "proto: " + std::string(why));
}

}  // namespace

void put_varint(std::string& out, std::uint32_t number, std::uint64_t value) {
  put_tag(out, number, Wire::varint);
  put_raw_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t number, std::string_view value) {
  put_tag(out, number, Wire::bytes);
  put_raw_varint(out, value.size());
  out += value;
}

void put_double(std::string& out, std::uint32_t number, double value) {
  put_tag(out, number, Wire::fixed64);
  append_le(out, std::bit_cast<std::uint64_t>(value));
}

Result<std::uint64_t> Reader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return broken("unexpected EOF");
    auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return broken("integer overflow");
}

Result<Reader::Field> Reader::next() {
  Field field;
  std::uint64_t tag = TRY(varint());
  field.number = static_cast<std::uint32_t>(tag >> 3);
  if (field.number == 0) return broken("illegal tag 0");
  field.wire = static_cast<Wire>(tag & 7);
  std::size_t fixed = 0;
  switch (field.wire) {
    case Wire::varint:
      field.integer = TRY(varint());
      return field;
    case Wire::bytes: {
      std::uint64_t length = TRY(varint());
      if (length > rest_.size()) return broken("unexpected EOF");
      field.bytes = rest_.substr(0, length);
      rest_.remove_prefix(length);
      return field;
    }
    case Wire::fixed64:
      fixed = 8;
      break;
    case Wire::fixed32:
      fixed = 4;
      break;
    default:
      return broken("illegal wireType " + std::to_string(tag & 7));
  }
  if (rest_.size() < fixed) return broken("unexpected EOF");
  field.integer =
      fixed == 8 ? load_le<std::uint64_t>(rest_.data()) : load_le<std::uint32_t>(rest_.data());
  rest_.remove_prefix(fixed);
  return field;
}

}  // namespace hekla::apiserver::protobuf
