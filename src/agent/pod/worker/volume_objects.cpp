#include "agent/pod/worker/volume_objects.h"

#include <algorithm>

namespace hekla::agent {
namespace {

// A token is used until four fifths of its life are over, a day at most.
Nanos use_of(const TokenRequest& request) {
  return std::min<Nanos>(std::chrono::seconds(request.expiration_seconds) * 4 / 5,
                         std::chrono::hours(24));
}

}  // namespace

void VolumeObjects::fetch(Done<PodSources> done) {
  SourceFetch fetch{state_.record.ns, volume_sources(*state_.pod), {}};
  for (const TokenRequest& request : token_requests(*state_.pod)) {
    auto known = tokens_.find(request);
    if (known == tokens_.end() || state_.now() - known->second.issued >= use_of(request))
      fetch.tokens.push_back(request);
  }
  auto fetched = [this, done = std::move(done)](Result<PodSources> sources) mutable {
    if (sources) keep_tokens(*sources);
    if (!sources || !state_.context.claims) return done(std::move(sources));
    add_claims(std::move(*sources), std::move(done));
  };
  fetch_sources(state_.context.client, state_.context.token_source, std::move(fetch),
                state_.guarded(std::move(fetched)));
}

void VolumeObjects::add_claims(PodSources sources, Done<PodSources> done) {
  auto resolved = [sources = std::move(sources),
                   done = std::move(done)](Result<ClaimStore::Claims> claims) mutable {
    if (!claims) return done(std::unexpected(claims.error()));
    sources.claims = std::move(*claims);
    done(std::move(sources));
  };
  state_.context.claims->resolve(*state_.pod, state_.guarded(std::move(resolved)));
}

void VolumeObjects::keep_tokens(PodSources& sources) {
  for (const auto& [request, token] : sources.tokens) tokens_[request] = {token, state_.now()};
  for (const auto& [request, token] : tokens_) sources.tokens.emplace(request, token.text);
}

}  // namespace hekla::agent
