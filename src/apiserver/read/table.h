// The server-side transforms of objects: tables for kubectl get, and metadata alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/registry.h"
#include "base/clock.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

enum class IncludeObject { none, metadata, object };
IncludeObject parse_include_object(std::string_view text);

// The whole object or its metadata, as JSON text.
void append_partial_metadata(const json::Value& object, std::string_view version, std::string& out);

class TableWriter {
 public:
  TableWriter(const ServedKind& served, std::string version, IncludeObject include, WallTime now)
      : served_(served), version_(std::move(version)), include_(include), now_(now) {}

  // `headers` false leaves columnDefinitions out, as in all but the first frame of a watch.
  void begin(std::string_view metadata_json, bool headers, std::string& out);
  void row(const json::Value& object, std::string& out);
  void end(std::string& out);

 private:
  void append_columns(std::string& out) const;

  const ServedKind& served_;
  std::string version_;
  IncludeObject include_;
  WallTime now_;
  bool first_ = true;
};

}  // namespace hekla::apiserver
