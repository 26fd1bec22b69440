// /hekla/v1/files/NAMESPACE/CLAIM/PATH: GET lists a directory or sends a file, PUT writes a file,
// DELETE removes one.
#pragma once

#include <optional>

#include "base/loop.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/web_route.h"

namespace hekla::dashboard {

inline constexpr std::string_view kFiles = "/hekla/v1/files";
inline constexpr std::size_t kUploadMax = std::size_t{64} << 20;

// The directory behind a claim, if it is a directory of a machine. Pure.
struct ClaimDirectory {
  std::string path;
  bool read_only = true;  // made by hand
};
Result<ClaimDirectory> directory_of(const json::Value& claim, const json::Value& volume);

kube::WebRoute files_route(Executor& loop, kube::Client& client, WorkerPool& workers);

}  // namespace hekla::dashboard
