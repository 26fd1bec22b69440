// The rules of metadata, equal for every kind: what the server sets, what must not change, what is
// valid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "json/value.h"
#include "kube/client.h"

namespace hekla::apiserver {

// The object's metadata, made if it is missing or no object.
json::Object& metadata_of(json::Value& object);
std::string_view meta_string(const json::Value& object, std::string_view member);

// A fresh object: uid, creationTimestamp, generation; what only the server may set is dropped.
void stamp_created(const Kind& kind, json::Value& object, WallTime now, Rng& rng);
// generateName to name: at most 58 characters of it and five random ones.
void generate_name(json::Value& object, Rng& rng);

// Keeps uid, creationTimestamp, deletion fields and generation of the old object in the new one.
void keep_server_fields(json::Value& object, const json::Value& old);

std::vector<Cause> validate_metadata(const Kind& kind, const json::Value& object);
std::vector<Cause> validate_metadata_update(const json::Value& object, const json::Value& old);

// metadata.finalizers as a list of strings.
std::vector<std::string> finalizers_of(const json::Value& object);
void set_finalizers(json::Value& object, const std::vector<std::string>& finalizers);

}  // namespace hekla::apiserver
