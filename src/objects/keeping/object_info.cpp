#include "objects/keeping/object_info.h"

#include <algorithm>
#include <charconv>

#include "json/parse.h"
#include "json/value.h"

namespace hekla::objects {
namespace {

json::Object to_json(const std::map<std::string, std::string>& fields) {
  json::Object object;
  for (const auto& [name, value] : fields) object[name] = value;
  return object;
}

std::map<std::string, std::string> fields_of(const json::Object& from, std::string_view name) {
  std::map<std::string, std::string> fields;
  const json::Value* found = from.if_contains(name);
  if (!found || !found->is_object()) return fields;
  for (const auto& [key, value] : found->as_object())
    if (value.is_string()) fields[std::string(key)] = std::string(value.as_string());
  return fields;
}

}  // namespace

bool is_bucket_name(std::string_view name) {
  auto outer = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.size() < 3 || name.size() > 63 || !outer(name.front()) || !outer(name.back()))
    return false;
  if (name.contains("..")) return false;
  const bool digits_only =
      std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return std::ranges::all_of(name, [&](char c) { return outer(c) || c == '-' || c == '.'; }) &&
         !(digits_only && std::ranges::count(name, '.') == 3);
}

std::string encode_metadata(const Metadata& metadata) {
  return json::serialize(json::Object{{"headers", to_json(metadata.headers)},
                                      {"user", to_json(metadata.user)},
                                      {"tags", to_json(metadata.tags)},
                                      {"checksums", to_json(metadata.checksums)}});
}

Result<Metadata> decode_metadata(const std::string& text) {
  json::Value value = TRY(json::parse(text));
  if (!value.is_object()) return fail(Code::internal, "an object's metadata are not an object");
  const json::Object& from = value.as_object();
  return Metadata{fields_of(from, "headers"), fields_of(from, "user"), fields_of(from, "tags"),
                  fields_of(from, "checksums")};
}

// "HASH:BYTES HASH:BYTES"
std::string encode_pieces(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    if (!text.empty()) text += ' ';
    text += piece.hash + ":" + std::to_string(piece.bytes);
  }
  return text;
}

Result<std::vector<Piece>> decode_pieces(const std::string& text) {
  std::vector<Piece> pieces;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const std::size_t colon = entry.find(':');
    Piece piece;
    if (colon != std::string_view::npos) {
      piece.hash = entry.substr(0, colon);
      const std::string_view digits = entry.substr(colon + 1);
      if (std::from_chars(digits.data(), digits.data() + digits.size(), piece.bytes).ptr ==
          digits.data() + digits.size()) {
        pieces.push_back(std::move(piece));
        continue;
      }
    }
    return fail(Code::internal, "the catalogue names a piece that is none: " + std::string(entry));
  }
  return pieces;
}

}  // namespace hekla::objects
