// x-kubernetes-validations: CEL rules of a CRD's schema, compiled with the schema and run on every
// write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/schema/schema.h"

namespace hekla::cel {
class Program;
}

namespace hekla::apiserver {

struct SchemaRule {
  std::string text, message, reason;
  std::string field_path;  // ".a.b" as it is appended to the node's path
  std::shared_ptr<const cel::Program> program, message_program;
  bool transition = false;         // mentions oldSelf: runs on updates only
  bool optional_old_self = false;  // oldSelf is an optional, so that it runs always
};
struct SchemaRules {
  std::vector<SchemaRule> rules;
};

// Fills the `rules` of every node below `schema`. Paths of the causes are within the schema.
std::vector<Cause> compile_schema_rules(const Schema& schema);

// `old` is null on create. Rules without oldSelf are not asked about values that have not changed.
std::vector<Cause> validate_rules(const Schema& schema, const json::Value& value,
                                  const json::Value* old);
// Whether there is any rule below the node.
bool has_rules(const Schema& schema);

// The item of `old` that a map-list's item continues, or null.
const json::Value* matching_item(const Schema& list, const json::Value& item,
                                 const json::Value* old);

}  // namespace hekla::apiserver
