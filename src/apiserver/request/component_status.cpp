#include "apiserver/request/component_status.h"

#include <algorithm>

#include "apiserver/kinds/unstored.h"
#include "apiserver/object/storage.h"
#include "apiserver/read/render.h"
#include "apiserver/request/exchange.h"
#include "apiserver/text/errors.h"

namespace hekla::apiserver {

namespace {

std::vector<store::ItemPtr> component_items(const std::vector<std::string>& running) {
  const ServedKind served{component_status_kind(), component_status_kind(), 0, false};
  std::vector<store::ItemPtr> items;
  // The store has always been of the process.
  for (const char* name : {"controller-manager", "etcd-0", "scheduler"}) {
    const bool runs = std::string_view(name) == "etcd-0" ||
                      std::find(running.begin(), running.end(), name) != running.end();
    json::Object condition{{"type", "Healthy"},
                           {"status", runs ? "True" : "False"},
                           {"message", runs ? "ok" : "not part of this process"}};
    items.push_back(unsaved_item(
        served,
        json::Object{{"apiVersion", "v1"},
                     {"kind", "ComponentStatus"},
                     {"metadata", json::Object{{"name", name}, {"creationTimestamp", nullptr}}},
                     {"conditions", json::Array{json::Value(std::move(condition))}}},
        0));
  }
  return items;
}

}  // namespace

void serve_component_status(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  Result<Answer> answer = negotiate(exchange->request);
  if (!answer) return exchange->respond(answer.error());
  exchange->answer = std::move(*answer);
  const KindPtr kind = component_status_kind();
  exchange->warnings.push_back(kind->traits.deprecation);
  const ServedPtr served = std::make_shared<const ServedKind>(ServedKind{kind, kind, 0, false});
  const WallTime now = exchange->serving.clock->wall();
  ListPage page;
  page.items = component_items(exchange->serving.components);
  const IncludeObject include = parse_include_object(exchange->request.query.get("includeObject"));
  if (info.verb == "list")
    return exchange->respond(render_list(served, std::move(page), exchange->answer, include, now));
  const auto found = std::ranges::find(page.items, info.name,
                                       [](const store::ItemPtr& item) { return item->key; });
  if (found == page.items.end())
    return exchange->respond(not_found_error(kind->resource, info.name));
  exchange->respond(render_object(*served, **found, exchange->answer, include, 200, now));
}

}  // namespace hekla::apiserver
