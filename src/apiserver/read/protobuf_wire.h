// The protobuf wire format: tags, varints, lengths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::apiserver::protobuf {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_raw_varint(std::string& out, std::uint64_t value);
void put_varint(std::string& out, std::uint32_t number, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t number, std::string_view value);
void put_double(std::string& out, std::uint32_t number, double value);

// Reads a message field by field; never past its end.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  struct Field {
    std::uint32_t number = 0;
    Wire wire = Wire::varint;
    std::uint64_t integer = 0;    // varint, fixed64 and fixed32 bits
    std::string_view bytes = "";  // with an address: boost.json copies from it
  };
  bool done() const { return rest_.empty(); }
  Result<Field> next();

 private:
  Result<std::uint64_t> varint();

  std::string_view rest_;
};

}  // namespace hekla::apiserver::protobuf
