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

bool serve_component_status(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  if (!info.group.empty() || info.version != "v1" || info.plural != "componentstatuses" ||
      !info.ns.empty() || !info.subresource.empty() || (info.verb != "get" && info.verb != "list"))
    return false;
  Result<Answer> answer = negotiate(exchange->request);
  if (!answer) {
    exchange->respond(answer.error());
    return true;
  }
  exchange->answer = std::move(*answer);
  const KindPtr kind = component_status_kind();
  exchange->warnings.push_back(kind->deprecation);
  const ServedPtr served = std::make_shared<const ServedKind>(ServedKind{kind, kind, 0, false});
  const WallTime now = exchange->serving.clock->wall();
  ListPage page;
  page.items = component_items(exchange->serving.components);
  const IncludeObject include = parse_include_object(exchange->request.query.get("includeObject"));
  if (info.verb == "list") {
    exchange->respond(render_list(served, std::move(page), exchange->answer, include, now));
    return true;
  }
  for (const store::ItemPtr& item : page.items)
    if (item->key == info.name) {
      exchange->respond(render_object(*served, *item, exchange->answer, include, 200, now));
      return true;
    }
  exchange->respond(not_found_error(kind->resource, info.name));
  return true;
}

}  // namespace hekla::apiserver
