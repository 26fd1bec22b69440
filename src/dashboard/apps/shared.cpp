// Routes that jupyter, volumes and tensorboards have in common.
#include <array>

#include "base/build_info.h"
#include "dashboard/apps/app.h"

namespace hekla::dashboard {

namespace {

json::Array names_of(const ApiAnswer& answer) {
  json::Array out;
  for (const json::Value& item : answer.items())
    out.push_back(json::Value(json::text_at(item, {"metadata", "name"})));
  return out;
}

void namespaces(const AppCallPtr& call) {
  call->need(list_request(kube::resources::namespaces, ""), [call](const ApiAnswer& answer) {
    call->succeed({{"namespaces", names_of(answer)}});
  });
}

void storage_classes(const AppCallPtr& call) {
  call->ask_as_platform(
      list_request(kube::resources::storage_classes, ""),
      [call](const ApiAnswer& answer) { call->succeed({{"storageClasses", names_of(answer)}}); });
}

void default_storage_class(const AppCallPtr& call) {
  call->ask_as_platform(
      list_request(kube::resources::storage_classes, ""), [call](const ApiAnswer& answer) {
        for (const json::Value& item : answer.items())
          for (const char* note : {"storageclass.kubernetes.io/is-default-class",
                                   "storageclass.beta.kubernetes.io/is-default-class"})
            if (json::string_at(item, {"metadata", "annotations", note}) == "true")
              return call->succeed(
                  {{"defaultStorageClass", json::text_at(item, {"metadata", "name"})}});
        call->succeed({{"defaultStorageClass", ""}});
      });
}

void info(const AppCallPtr& call) {
  call->respond(json::Object{{"version", build_info().version}});
}
void alive(const AppCallPtr& call) { call->respond_text("alive"); }
void ready(const AppCallPtr& call) { call->respond_text("ready"); }

}  // namespace

std::span<const AppRoute> shared_routes() {
  static constexpr std::array<AppRoute, 6> routes{{
      {"GET", "/info", info},
      {"GET", "/healthz/liveness", alive},
      {"GET", "/healthz/readiness", ready},
      {"GET", "/api/namespaces", namespaces},
      {"GET", "/api/storageclasses", storage_classes},
      {"GET", "/api/storageclasses/default", default_storage_class},
  }};
  return routes;
}

}  // namespace hekla::dashboard
