// gogo's habits, which the facts do not tell: fields are written even when they hold Go's zero
// value, so presence means nothing unless the field is a pointer; a struct that JSON inlines is a
// message of its own; a named slice is a message with one repeated field; an empty Time message is
// null.
#include "apiserver/read/protobuf.h"

#include <bit>
#include <chrono>

#include "apiserver/read/protobuf_wire.h"
#include "apiserver/schema/facts.h"
#include "base/bytes.h"
#include "json/parse.h"
#include "model/instant.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

using protobuf::Reader;
using protobuf::Wire;

constexpr int kMaxDepth = 100;

std::unexpected<Error> broken(std::string why) {
  return fail(Code::bad_request, "proto: " + std::move(why));
}

// JSON text must be UTF-8, and proto2 strings need not be.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    std::size_t more = byte < 0x80                   ? 0
                       : byte >= 0xf0 && byte < 0xf5 ? 3
                       : byte >= 0xe0 && byte < 0xf0 ? 2
                       : byte >= 0xc2 && byte < 0xe0 ? 1
                                                     : 4;
    if (more == 4 || text.size() - i <= more) return false;
    std::uint32_t rune = more == 0 ? byte : byte & (0x3f >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
      rune = rune << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    }
    static constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (rune < kLeast[more] || rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000)) return false;
    i += more + 1;
  }
  return true;
}

Result<json::Value> text_value(std::string_view bytes) {
  if (!is_utf8(bytes)) return broken("invalid UTF-8 in a string field");
  return json::Value(bytes);
}

// {1: seconds, 2: nanoseconds}
Result<json::Value> time_value(std::string_view message, bool micro) {
  if (message.empty()) return json::Value(nullptr);
  model::Instant when;
  for (Reader reader(message); !reader.done();) {
    Reader::Field field = TRY(reader.next());
    if (field.number == 1) when.seconds = static_cast<std::int64_t>(field.integer);
    if (field.number == 2) when.nanos = static_cast<std::int32_t>(field.integer);
  }
  if (!model::has_year(when) || when.nanos < 0 || when.nanos > 999'999'999)
    return broken("time out of range");
  return json::Value(model::format_instant(when, micro ? 6 : 0));
}

// The single field 1 of a message, as bytes.
Result<std::string_view> only_bytes(std::string_view message) {
  std::string_view out;
  for (Reader reader(message); !reader.done();) {
    Reader::Field field = TRY(reader.next());
    if (field.number == 1 && field.wire == Wire::bytes) out = field.bytes;
  }
  return out;
}

Result<json::Value> raw_json(std::string_view message) {
  std::string_view raw = TRY(only_bytes(message));
  if (raw.empty()) return json::Value(nullptr);
  if (raw.starts_with(kProtobufMagic)) return decode_protobuf(raw);
  return json::parse(raw);
}

Result<json::Value> int_or_string(std::string_view message) {
  std::int64_t type = 0, number = 0;
  std::string_view text;
  for (Reader reader(message); !reader.done();) {
    Reader::Field field = TRY(reader.next());
    if (field.number == 1) type = static_cast<std::int64_t>(field.integer);
    if (field.number == 2) number = static_cast<std::int32_t>(field.integer);
    if (field.number == 3) text = field.bytes;
  }
  if (type == 0) return json::Value(number);
  return text_value(text);
}

Result<json::Value> duration_value(std::string_view message) {
  std::int64_t nanos = 0;
  for (Reader reader(message); !reader.done();) {
    Reader::Field field = TRY(reader.next());
    if (field.number == 1) nanos = static_cast<std::int64_t>(field.integer);
  }
  return json::Value(model::format_go_duration(Nanos(nanos)));
}

class Decoder {
 public:
  Result<void> message(std::size_t type, std::string_view bytes, json::Object& out, int depth) {
    if (depth > kMaxDepth) return broken("message nests too deeply");
    for (Reader reader(bytes); !reader.done();) {
      Reader::Field field = TRY(reader.next());
      const FieldFact* fact = find(type, field.number);
      if (fact != nullptr) TRY(member(*fact, field, out, depth));
    }
    return {};
  }

 private:
  static const FieldFact* find(std::size_t type, std::uint32_t number) {
    for (const FieldFact& field : builtin_facts().types[type].fields)
      if (field.number == number) return &field;
    return nullptr;
  }

  static std::size_t type_of(std::string_view kind) {  // "#12"
    std::size_t index = 0;
    for (char digit : kind.substr(1)) index = index * 10 + static_cast<std::size_t>(digit - '0');
    return index;
  }

  Result<void> member(const FieldFact& fact, const Reader::Field& field, json::Object& out,
                      int depth) {
    if (fact.inlined) return message(type_of(fact.kind), field.bytes, out, depth + 1);
    if (fact.kind[0] == '[') {
      json::Value& list = out[fact.name];
      if (!list.is_array()) list = json::Array();
      list.get_array().push_back(TRY(value(fact.kind.substr(1), field, depth)));
      return {};
    }
    if (fact.kind[0] == '{') {
      json::Value& map = out[fact.name];
      if (!map.is_object()) map = json::Object();
      return entry(fact.kind.substr(1), field.bytes, map.get_object(), depth);
    }
    json::Value made = TRY(value(fact.kind, field, depth));
    if (fact.omit_empty && !fact.pointer && is_zero(fact, made)) return {};
    out.insert_or_assign(fact.name, std::move(made));
    return {};
  }

  static bool is_zero(const FieldFact& fact, const json::Value& made) {
    switch (made.kind()) {
      case json::Kind::bool_:
        return !made.get_bool();
      case json::Kind::int64:
        return made.get_int64() == 0 && fact.kind != "I";
      case json::Kind::double_:
        return made.get_double() == 0;
      case json::Kind::string:
        return made.get_string().empty();
      case json::Kind::array:
        return made.get_array().empty();
      default:
        return false;
    }
  }

  // A map's entry is a message {1: key, 2: value}; what is absent is zero.
  Result<void> entry(std::string_view kind, std::string_view bytes, json::Object& out, int depth) {
    std::string_view key = "";
    Reader::Field content;
    content.wire = Wire::bytes;
    for (Reader reader(bytes); !reader.done();) {
      Reader::Field field = TRY(reader.next());
      if (field.number == 1) key = field.bytes;
      if (field.number == 2) content = field;
    }
    if (!is_utf8(key)) return broken("invalid UTF-8 in a map key");
    out.insert_or_assign(key, TRY(value(kind, content, depth)));
    return {};
  }

  Result<json::Value> value(std::string_view kind, const Reader::Field& field, int depth) {
    switch (kind[0]) {
      case 's':
      case 'e':
        return text_value(field.bytes);
      case 'b':
        return json::Value(field.integer != 0);
      case 'i':
        return json::Value(static_cast<std::int64_t>(static_cast<std::int32_t>(field.integer)));
      case 'l':
        return json::Value(static_cast<std::int64_t>(field.integer));
      case 'd':
        return json::Value(std::bit_cast<double>(field.integer));
      case 'B':
        return json::Value(base64_encode(field.bytes));
      case 'T':
        return time_value(field.bytes, false);
      case 'U':
        return time_value(field.bytes, true);
      case 'D':
        return duration_value(field.bytes);
      case 'Q':
        return text_value(TRY(only_bytes(field.bytes)));
      case 'I':
        return int_or_string(field.bytes);
      case 'R':
      case 'F':
      case 'J':
        return raw_json(field.bytes);
      case 'O':
      case 'P':
      case 'X':
        return choice(kind[0], field.bytes, depth);
      case '~':
        return named_slice(kind.substr(2), field.bytes, depth);
      case '#': {
        json::Object object;
        TRY(message(type_of(kind), field.bytes, object, depth + 1));
        return json::Value(std::move(object));
      }
      default:
        return broken("field of unknown kind");
    }
  }

  Result<json::Value> named_slice(std::string_view kind, std::string_view bytes, int depth) {
    json::Array list;
    for (Reader reader(bytes); !reader.done();) {
      Reader::Field field = TRY(reader.next());
      if (field.number == 1) list.push_back(TRY(value(kind, field, depth)));
    }
    return json::Value(std::move(list));
  }

  // JSONSchemaPropsOr{Bool,Array,StringArray}: a schema, or the alternative the name tells.
  Result<json::Value> choice(char kind, std::string_view bytes, int depth) {
    static const int schema_type = builtin_type_index(
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
    const std::uint32_t schema_number = kind == 'O' ? 2 : 1;
    json::Value schema;
    json::Array list;
    bool allows = false;
    for (Reader reader(bytes); !reader.done();) {
      Reader::Field field = TRY(reader.next());
      bool is_schema = field.number == schema_number || (kind == 'P' && field.number == 2);
      if (is_schema) {
        json::Object object;
        TRY(message(static_cast<std::size_t>(schema_type), field.bytes, object, depth + 1));
        if (field.number == schema_number)
          schema = std::move(object);
        else
          list.push_back(std::move(object));
      } else if (kind == 'O') {
        allows = field.integer != 0;
      } else if (kind == 'X') {
        list.push_back(TRY(text_value(field.bytes)));
      }
    }
    if (!schema.is_null()) return schema;
    return kind == 'O' ? json::Value(allows) : json::Value(std::move(list));
  }
};

// Where the types of a group live: "io.k8s.api.rbac." for rbac.authorization.k8s.io.
std::string package_of(std::string_view group) {
  if (group == "apiextensions.k8s.io")
    return "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.";
  if (group == "apiregistration.k8s.io") return "io.k8s.kube-aggregator.pkg.apis.apiregistration.";
  if (group.empty()) return "io.k8s.api.core.";
  return "io.k8s.api." + std::string(group.substr(0, group.find('.'))) + ".";
}

}  // namespace

std::string protobuf_message_name(std::string_view api_version, std::string_view kind) {
  std::size_t slash = api_version.find('/');
  std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  std::string_view version =
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  std::string meta = "io.k8s.apimachinery.pkg.apis.meta.v1." + std::string(kind);
  // The options of a request carry the group of the resource they are for.
  if (kind.ends_with("Options") && builtin_type_index(meta) >= 0) return meta;
  if (kind == "Status") return meta;
  // kubectl before 1.22 evicts through the beta; the message has not changed since.
  if (kind == "Eviction") version = "v1";
  return package_of(group) + std::string(version) + "." + std::string(kind);
}

Result<json::Value> decode_message(std::string_view go_type, std::string_view message) {
  int type = builtin_type_index(go_type);
  if (type < 0)
    return fail(Code::bad_request, "no protobuf message is known for " + std::string(go_type));
  json::Object object;
  TRY(Decoder().message(static_cast<std::size_t>(type), message, object, 0));
  return json::Value(std::move(object));
}

Result<json::Value> decode_protobuf(std::string_view body) {
  if (!body.starts_with(kProtobufMagic))
    return fail(
        Code::bad_request,
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  std::string_view type_meta, raw, content_type, content_encoding;
  for (Reader reader(body.substr(kProtobufMagic.size())); !reader.done();) {
    Reader::Field field = TRY(reader.next());
    if (field.wire != Wire::bytes) continue;
    if (field.number == 1) type_meta = field.bytes;
    if (field.number == 2) raw = field.bytes;
    if (field.number == 3) content_encoding = field.bytes;
    if (field.number == 4) content_type = field.bytes;
  }
  if (!content_encoding.empty()) return broken("unsupported content encoding");
  if (content_type == "application/json") return json::parse(raw);
  std::string_view api_version, kind;
  for (Reader reader(type_meta); !reader.done();) {
    Reader::Field field = TRY(reader.next());
    if (field.number == 1) api_version = field.bytes;
    if (field.number == 2) kind = field.bytes;
  }
  json::Value members = TRY(decode_message(protobuf_message_name(api_version, kind), raw));
  json::Object object;
  object.emplace("kind", kind);
  object.emplace("apiVersion", api_version);
  for (auto& member : members.get_object())
    object.insert_or_assign(member.key(), std::move(member.value()));
  return json::Value(std::move(object));
}

}  // namespace hekla::apiserver
