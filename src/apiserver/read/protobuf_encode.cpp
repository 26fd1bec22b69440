// JSON into Kubernetes' protobuf, for clients that accept nothing else. Only what is present is
// written: a field that is absent decodes to Go's zero value, which is what absence means in JSON
// too.
#include <bit>
#include <chrono>

#include "apiserver/read/protobuf.h"
#include "apiserver/read/protobuf_wire.h"
#include "apiserver/schema/facts.h"
#include "base/bytes.h"
#include "json/parse.h"
#include "model/instant.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

using protobuf::put_bytes;
using protobuf::put_varint;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

std::string_view text_in(const json::Value& value) {
  return value.is_string() ? json::sv(value.get_string()) : std::string_view();
}

std::int64_t integer_in(const json::Value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return static_cast<std::int64_t>(value.get_uint64());
  return value.is_double() ? static_cast<std::int64_t>(value.get_double()) : 0;
}

std::size_t type_number(std::string_view kind) {  // "#12"
  std::size_t index = 0;
  for (char digit : kind.substr(1)) index = index * 10 + static_cast<std::size_t>(digit - '0');
  return index;
}

std::string single_field(std::string_view bytes) {
  std::string out;
  put_bytes(out, 1, bytes);
  return out;
}

std::string time_message(const json::Value& value) {
  Result<model::Instant> when = model::parse_instant(text_in(value));
  if (!when) return {};
  std::string out;
  put_varint(out, 1, static_cast<std::uint64_t>(when->seconds));
  put_varint(out, 2, static_cast<std::uint64_t>(when->nanos));
  return out;
}

std::string int_or_string_message(const json::Value& value) {
  std::string out;
  put_varint(out, 1, value.is_string() ? 1 : 0);
  put_varint(out, 2, static_cast<std::uint64_t>(integer_in(value)));
  put_bytes(out, 3, text_in(value));
  return out;
}

std::string duration_message(const json::Value& value) {
  Result<Nanos> duration = model::parse_go_duration(text_in(value));
  std::string out;
  put_varint(out, 1, duration ? static_cast<std::uint64_t>(duration->count()) : 0);
  return out;
}

std::string message_of(std::size_t type, const json::Object& object);

std::size_t schema_props() {
  static const int found = builtin_type_index(
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  return static_cast<std::size_t>(found);
}

// JSONSchemaPropsOr{Bool,Array,StringArray}, the counterpart of the decoder's choice().
std::string choice_message(char kind, const json::Value& value) {
  std::string out;
  if (kind == 'O') {
    put_varint(out, 1, value.is_object() || (value.is_bool() && value.get_bool()) ? 1 : 0);
    if (value.is_object()) put_bytes(out, 2, message_of(schema_props(), value.get_object()));
    return out;
  }
  if (value.is_object()) put_bytes(out, 1, message_of(schema_props(), value.get_object()));
  if (value.is_array())
    for (const json::Value& one : value.get_array())
      put_bytes(out, 2,
                one.is_object() ? message_of(schema_props(), one.get_object())
                                : std::string(text_in(one)));
  return out;
}

void put_value(std::string& out, std::uint32_t number, std::string_view kind,
               const json::Value& value) {
  switch (kind[0]) {
    case 's':
    case 'e':
      return put_bytes(out, number, text_in(value));
    case 'b':
      return put_varint(out, number, value.is_bool() && value.get_bool() ? 1 : 0);
    case 'i':
    case 'l':
      return put_varint(out, number, static_cast<std::uint64_t>(integer_in(value)));
    case 'd':
      return protobuf::put_double(
          out, number,
          value.is_double() ? value.get_double() : static_cast<double>(integer_in(value)));
    case 'B':
      return put_bytes(out, number, base64_decode(text_in(value)).value_or(""));
    case 'T':
    case 'U':
      return put_bytes(out, number, time_message(value));
    case 'D':
      return put_bytes(out, number, duration_message(value));
    case 'Q':
      return put_bytes(out, number, single_field(text_in(value)));
    case 'I':
      return put_bytes(out, number, int_or_string_message(value));
    case 'R':
    case 'F':
    case 'J':
      return put_bytes(out, number, single_field(json::serialize(value)));
    case 'O':
    case 'P':
    case 'X':
      return put_bytes(out, number, choice_message(kind[0], value));
    case '~': {  // a named slice: a message with one repeated field
      std::string list;
      if (value.is_array())
        for (const json::Value& one : value.get_array()) put_value(list, 1, kind.substr(2), one);
      return put_bytes(out, number, list);
    }
    case '#':
      if (value.is_object())
        put_bytes(out, number, message_of(type_number(kind), value.get_object()));
      return;
    default:
      return;
  }
}

void put_member(std::string& out, const FieldFact& fact, const json::Value& value) {
  if (value.is_null()) return;
  if (fact.kind[0] == '[') {
    if (value.is_array())
      for (const json::Value& one : value.get_array())
        put_value(out, fact.number, fact.kind.substr(1), one);
    return;
  }
  if (fact.kind[0] == '{') {
    if (!value.is_object()) return;
    for (const auto& member : value.get_object()) {
      std::string entry;
      put_bytes(entry, 1, member.key());
      put_value(entry, 2, fact.kind.substr(1), member.value());
      put_bytes(out, fact.number, entry);
    }
    return;
  }
  put_value(out, fact.number, fact.kind, value);
}

std::string message_of(std::size_t type, const json::Object& object) {
  std::string out;
  for (const FieldFact& fact : builtin_facts().types[type].fields) {
    if (fact.number == 0) continue;
    if (fact.inlined) {
      put_bytes(out, fact.number, message_of(type_number(fact.kind), object));
      continue;
    }
    if (const json::Value* value = object.if_contains(fact.name)) put_member(out, fact, *value);
  }
  return out;
}

Result<std::string> typed_message(const std::string& go_type, const json::Object& object) {
  const int type = builtin_type_index(go_type);
  if (type < 0) return fail(Code::not_acceptable, "no protobuf message is known for " + go_type);
  return message_of(static_cast<std::size_t>(type), object);
}

// PartialObjectMetadata is {1: ObjectMeta}; lists are {1: ListMeta, 2: items}.
Result<std::string> raw_message(const std::string& api_version, const std::string& kind,
                                const json::Object& object) {
  static const json::Object kNothing;
  const json::Value* meta = object.if_contains("metadata");
  const json::Object& metadata = meta && meta->is_object() ? meta->get_object() : kNothing;
  if (kind == "PartialObjectMetadata")
    return single_field(TRY(typed_message(std::string(kMeta) + "ObjectMeta", metadata)));
  const json::Value* items = object.if_contains("items");
  if (!kind.ends_with("List") || !items)
    return typed_message(protobuf_message_name(api_version, kind), object);
  std::string out = single_field(TRY(typed_message(std::string(kMeta) + "ListMeta", metadata)));
  const std::string item_kind = kind.substr(0, kind.size() - 4);
  if (items->is_array())
    for (const json::Value& item : items->get_array())
      if (item.is_object())
        put_bytes(out, 2, TRY(raw_message(api_version, item_kind, item.get_object())));
  return out;
}

}  // namespace

Result<std::string> encode_protobuf(const json::Value& object) {
  const std::string api_version(json::string_at(object, {"apiVersion"}));
  const std::string kind(json::string_at(object, {"kind"}));
  std::string type;
  put_bytes(type, 1, api_version);
  put_bytes(type, 2, kind);
  std::string out(kProtobufMagic);
  put_bytes(out, 1, type);
  put_bytes(out, 2, TRY(raw_message(api_version, kind, object.get_object())));
  return out;
}

Result<std::string> encode_watch_frame(const json::Value& event) {
  static const json::Value kNone{json::Object()};
  const json::Value* object = json::find(event, "object");
  std::string body;
  put_bytes(body, 1, json::string_at(event, {"type"}));
  put_bytes(body, 2, single_field(TRY(encode_protobuf(object ? *object : kNone))));
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>(static_cast<std::uint32_t>(body.size()) >> shift & 0xff);
  return frame + body;
}

}  // namespace hekla::apiserver
