// The shapes of the built-in API types, from the committed facts in api/builtin (made by
// tools/schema_facts, format in its README). The text is embedded in the binary and read once, on
// first use; everything handed out is immutable and lives as long as the process.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "apiserver/schema/schema.h"

namespace hekla::apiserver {

// One field of a Go struct. `kind` is spelled as in the facts: "s", "[#12", "{Q", ...
struct FieldFact {
  std::string_view name, kind;
  bool pointer = false, omit_empty = false, omit_zero = false, required = false;
  bool inlined =
      false;  // its members stand among ours in JSON; in protobuf it is a message of its own
  bool atomic = false;
  std::uint32_t number = 0;  // 0: not in protobuf
  char wire = 0;             // b(ytes), v(arint), f(ixed64)
  std::string_view strategy, merge_key, list_type, default_text, go_name;
  std::vector<std::string_view> list_keys;
};
struct TypeFact {
  std::string_view name;  // "io.k8s.api.core.v1.Pod"
  bool atomic = false;
  std::vector<FieldFact> fields;
};
struct Facts {
  std::string_view version;  // of k8s.io/api: "v0.34.1"
  std::vector<TypeFact> types;
  std::vector<std::vector<std::string_view>> enumerations;
};

const Facts& builtin_facts();
// The type's place in builtin_facts().types; -1 when the facts do not have it.
int builtin_type_index(std::string_view go_type);
// "io.k8s.api.core.v1.Pod". A name the facts do not have is a programmer's error.
SchemaPtr builtin_type(std::string_view go_type);

}  // namespace hekla::apiserver
