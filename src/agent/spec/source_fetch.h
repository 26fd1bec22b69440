// Gets the objects a pod refers to, all at once.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/spec/pod_sources.h"
#include "base/result.h"
#include "kube/client.h"

namespace hekla::agent {

// Issues service-account tokens; called on the agent's executor, may answer from any thread.
using TokenSource =
    std::function<void(TokenRequest, std::move_only_function<void(Result<std::string>)>)>;

struct SourceFetch {
  std::string ns;
  std::set<SourceRef> refs;
  std::vector<TokenRequest> tokens;
};

// `done` runs on the client's executor. Objects that do not exist are left out; any other failure
// is one.
void fetch_sources(kube::Client& client, const TokenSource& token_source, SourceFetch fetch,
                   std::move_only_function<void(Result<PodSources>)> done);

}  // namespace hekla::agent
