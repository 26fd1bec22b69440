#include "agent/spec/source_fetch.h"

#include <memory>
#include <optional>

namespace hekla::agent {
namespace {

// The answers still to come. Touched on the client's executor alone.
struct Pending {
  PodSources sources;
  std::optional<Error> error;
  std::size_t left = 0;
  std::move_only_function<void(Result<PodSources>)> done;

  void arrived() {
    if (--left > 0) return;
    if (error)
      done(std::unexpected(std::move(*error)));
    else
      done(std::move(sources));
  }
};

template <class T>
void store(Pending& pending, std::map<std::string, T>& into, const std::string& name,
           const Result<kube::ObjectPtr>& object) {
  if (!object) {
    if (object.error().code != Code::not_found) pending.error = object.error();
    return;
  }
  Result<T> decoded = json::decode_text<T>(*(*object)->json);
  if (decoded)
    into.emplace(name, std::move(*decoded));
  else
    pending.error = decoded.error();
}

}  // namespace

void fetch_sources(kube::Client& client, const TokenSource& token_source, SourceFetch fetch,
                   std::move_only_function<void(Result<PodSources>)> done) {
  auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  if (!token_source) fetch.tokens.clear();
  pending->left = fetch.refs.size() + fetch.tokens.size() + 1;
  for (const SourceRef& ref : fetch.refs) {
    bool is_map = ref.kind == SourceKind::config_map;
    client.get(is_map ? kube::resources::config_maps : kube::resources::secrets,
               kube::Key{fetch.ns, ref.name},
               [pending, ref, is_map](Result<kube::ObjectPtr> object) {
                 if (is_map)
                   store(*pending, pending->sources.config_maps, ref.name, object);
                 else
                   store(*pending, pending->sources.secrets, ref.name, object);
                 pending->arrived();
               });
  }
  for (const TokenRequest& request : fetch.tokens) {
    Executor& executor = client.executor();
    token_source(request, [pending, request, &executor](Result<std::string> token) {
      executor.post([pending, request, token = std::move(token)]() mutable {
        if (token)
          pending->sources.tokens.emplace(request, std::move(*token));
        else
          pending->error = token.error();
        pending->arrived();
      });
    });
  }
  client.executor().post([pending] { pending->arrived(); });
}

}  // namespace hekla::agent
