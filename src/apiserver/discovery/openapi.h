// The published OpenAPI documents, made from the kinds' schemas: kubectl explains, validates and
// chooses its patch type by them. Pure functions; who serves them also caches them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"
#include "json/value.h"

namespace hekla::apiserver {

// One group version in /openapi/v3. Kinds of other group versions in `kinds` are skipped.
std::string openapi_v3_document(const std::string& group, const std::string& version,
                                std::span<const KindPtr> kinds);

// "api/v1", "apis/apps/v1": the key in the index and the path below /openapi/v3/.
std::string openapi_v3_path(const std::string& group, const std::string& version);
// The text of ?hash= and the ETag; changes exactly when the document does.
std::string openapi_hash(std::string_view document);

struct OpenApiEntry {
  std::string path, hash;
};
// The answer to GET /openapi/v3.
std::string openapi_v3_index(const std::vector<OpenApiEntry>& entries);

// The whole API as one Swagger 2.0 document (GET /openapi/v2 as JSON).
json::Value openapi_v2_document(std::span<const KindPtr> kinds, const std::string& server_version);
// The same as a gnostic openapi.v2.Document in protobuf, which is what kubectl before 1.27 asks
// for.
std::string openapi_v2_protobuf(const json::Value& document);

}  // namespace hekla::apiserver
