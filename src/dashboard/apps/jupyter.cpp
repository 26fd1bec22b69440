// jupyter-web-app: the form's configuration, notebooks, their pods, logs and events.
#include <array>
#include <map>

#include "dashboard/apps/app.h"
#include "dashboard/apps/jupyter_notebook.h"
#include "dashboard/resources.h"
#include "model/time.h"

namespace hekla::dashboard {

namespace {

const kube::Key kConfig{"kubeflow", "jupyter-web-app-config"};
constexpr const char* kStopped = "kubeflow-resource-stopped";

void with_config(const AppCallPtr& call, std::function<void(json::Value)> then) {
  call->ask_as_platform(get_request(kube::resources::config_maps, kConfig),
                        [then = std::move(then)](const ApiAnswer& answer) {
                          then(answer.ok() ? spawner_config(answer.body) : spawner_defaults());
                        });
}

void config(const AppCallPtr& call) {
  with_config(call, [call](json::Value config) { call->succeed({{"config", std::move(config)}}); });
}

// Vendors of the configuration that some node has.
void gpus(const AppCallPtr& call) {
  with_config(call, [call](const json::Value& config) {
    call->ask_as_platform(
        list_request(kube::resources::nodes, ""), [call, config](const ApiAnswer& nodes) {
          json::Array present;
          const json::Array* vendors = json::array_at(config, {"gpus", "value", "vendors"});
          for (const json::Value& vendor : vendors ? *vendors : json::Array{}) {
            const std::string key = json::text_at(vendor, {"limitsKey"});
            for (const json::Value& node : nodes.items()) {
              const json::Object* capacity = json::object_at(node, {"status", "capacity"});
              if (!capacity || !capacity->contains(key)) continue;
              present.push_back(json::Value(key));
              break;
            }
          }
          call->succeed({{"vendors", std::move(present)}});
        });
  });
}

void claims(const AppCallPtr& call) {
  call->need(list_request(kube::resources::persistent_volume_claims, call->part(0)),
             [call](const ApiAnswer& answer) {
               json::Array out;
               for (const json::Value& claim : answer.items()) {
                 const json::Array* modes = json::array_at(claim, {"spec", "accessModes"});
                 out.push_back(json::Object{
                     {"name", json::text_at(claim, {"metadata", "name"})},
                     {"size", json::text_at(claim, {"spec", "resources", "requests", "storage"})},
                     {"mode", modes && !modes->empty() ? modes->front() : json::Value("")}});
               }
               call->succeed({{"pvcs", std::move(out)}});
             });
}

void pod_defaults(const AppCallPtr& call) {
  call->need(list_request(kPodDefaults, call->part(0)), [call](const ApiAnswer& answer) {
    json::Array out;
    for (const json::Value& item : answer.items()) {
      json::Value shown = item;
      const json::Object* labels = json::object_at(item, {"spec", "selector", "matchLabels"});
      shown.get_object()["label"] =
          labels && !labels->empty() ? json::Value(labels->begin()->key()) : json::Value("");
      shown.get_object()["desc"] = json::text_at(item, {"spec", "desc"});
      out.push_back(std::move(shown));
    }
    call->succeed({{"poddefaults", std::move(out)}});
  });
}

void notebooks(const AppCallPtr& call) {
  call->need(list_request(kNotebooks, call->part(0)), [call](const ApiAnswer& listed) {
    call->ask(list_request(kube::resources::events, call->part(0),
                           "fieldSelector=involvedObject.kind%3DNotebook"),
              [call, listed](const ApiAnswer& events) {
                std::map<std::string, json::Array> by_name;
                for (const json::Value& event : events.items())
                  by_name[json::text_at(event, {"involvedObject", "name"})].push_back(event);
                json::Array out;
                for (const json::Value& notebook : listed.items())
                  out.push_back(notebook_row(notebook,
                                             by_name[json::text_at(notebook, {"metadata", "name"})],
                                             call->clock().wall()));
                call->succeed({{"notebooks", std::move(out)}});
              });
  });
}

std::string events_of(const std::string& name) {
  return "fieldSelector=involvedObject.kind%3DNotebook%2CinvolvedObject.name%3D" +
         net::url_encode(name);
}

void notebook(const AppCallPtr& call) {
  call->need(get_request(kNotebooks, {call->part(0), call->part(1)}), [call](ApiAnswer got) {
    call->ask(list_request(kube::resources::events, call->part(0), events_of(call->part(1))),
              [call, got = std::move(got)](const ApiAnswer& events) mutable {
                json::Object status =
                    notebook_status(got.body, events.items(), call->clock().wall());
                got.body.get_object()["processed_status"] = std::move(status);
                call->succeed({{"notebook", std::move(got.body)}});
              });
  });
}

void pod(const AppCallPtr& call) {
  call->need(list_request(kube::resources::pods, call->part(0),
                          "labelSelector=notebook-name%3D" + net::url_encode(call->part(1))),
             [call](const ApiAnswer& pods) {
               if (pods.items().empty()) return call->refuse(404, "No pod detected.");
               call->succeed({{"pod", pods.items().front()}});
             });
}

void logs(const AppCallPtr& call) {
  ApiRequest request = get_request(kube::resources::pods, {call->part(0), call->part(2)});
  request.subresource = "log";
  request.query = "container=" + net::url_encode(call->part(1)) + "&limitBytes=1048576";
  call->need(request, [call](const ApiAnswer& answer) {
    json::Array lines;
    for (std::size_t at = 0; at <= answer.text.size();) {
      const std::size_t end = std::min(answer.text.find('\n', at), answer.text.size());
      lines.push_back(json::Value(answer.text.substr(at, end - at)));
      at = end + 1;
    }
    call->succeed({{"logs", std::move(lines)}});
  });
}

void events(const AppCallPtr& call) {
  call->need(list_request(kube::resources::events, call->part(0), events_of(call->part(1))),
             [call](const ApiAnswer& answer) { call->succeed({{"events", answer.items()}}); });
}

// Claims one after the other, then the notebook; a failure stops there, as upstream has it.
void create_all(const AppCallPtr& call, std::shared_ptr<const NewNotebook> made, std::size_t next,
                bool dry_run, std::function<void()> then) {
  const std::string& ns = call->part(0);
  auto go_on = [=](const ApiAnswer&) { create_all(call, made, next + 1, dry_run, then); };
  if (next < made->claims.size())
    return call->need(
        create_request(kube::resources::persistent_volume_claims, ns, made->claims[next], dry_run),
        go_on);
  kube::Resource resource = kNotebooks;
  resource.version = "v1beta1";
  call->need(create_request(resource, ns, made->notebook, dry_run),
             [then](const ApiAnswer&) { then(); });
}

void create(const AppCallPtr& call) {
  std::optional<json::Value> body = call->json_body();
  if (!body) return;
  with_config(call, [call, body = std::move(*body)](const json::Value& config) {
    Result<NewNotebook> made = notebook_from_form(body, config, call->part(0), call->user());
    if (!made) return call->refuse(400, made.error().message);
    auto held = std::make_shared<const NewNotebook>(std::move(*made));
    create_all(call, held, 0, true, [call, held] {
      create_all(call, held, 0, false,
                 [call] { call->succeed({{"message", "Notebook created successfully."}}); });
    });
  });
}

void patch(const AppCallPtr& call) {
  std::optional<json::Value> body = call->json_body();
  if (!body) return;
  const json::Value* stopped = json::find(*body, "stopped");
  if (!stopped || !stopped->is_bool())
    return call->refuse(400, "Request body must include at least one supported key: ['stopped']");
  const bool stop = stopped->get_bool();
  const kube::Key key{call->part(0), call->part(1)};
  call->need(get_request(kNotebooks, key), [call, stop, key](const ApiAnswer& got) {
    const json::Object* notes = json::object_at(got.body, {"metadata", "annotations"});
    if (stop && notes && notes->contains(kStopped))
      return call->refuse(409, "Notebook " + key.ns + "/" + key.name + " is already stopped.");
    ApiRequest request{"patch", "PATCH", kNotebooks, key};
    request.content_type = "application/merge-patch+json";
    request.body = json::Object{
        {"metadata", json::Object{{"annotations",
                                   json::Object{{kStopped, stop ? json::Value(model::format_rfc3339(
                                                                      call->clock().wall()))
                                                                : json::Value()}}}}}};
    call->need(request, [call](const ApiAnswer&) { call->succeed({}); });
  });
}

void remove(const AppCallPtr& call) {
  call->need(delete_request(kNotebooks, {call->part(0), call->part(1)}, "Foreground"),
             [call](const ApiAnswer&) {
               call->succeed({{"message", "Notebook " + call->part(1) + " successfully deleted."}});
             });
}

}  // namespace

std::span<const AppRoute> jupyter_routes() {
  static constexpr std::array<AppRoute, 12> routes{{
      {"GET", "/api/config", config},
      {"GET", "/api/gpus", gpus},
      {"GET", "/api/namespaces/*/pvcs", claims},
      {"GET", "/api/namespaces/*/poddefaults", pod_defaults},
      {"GET", "/api/namespaces/*/notebooks", notebooks},
      {"GET", "/api/namespaces/*/notebooks/*", notebook},
      {"GET", "/api/namespaces/*/notebooks/*/pod", pod},
      {"GET", "/api/namespaces/*/notebooks/*/pod/*/logs", logs},
      {"GET", "/api/namespaces/*/notebooks/*/events", events},
      {"POST", "/api/namespaces/*/notebooks", create},
      {"PATCH", "/api/namespaces/*/notebooks/*", patch},
      {"DELETE", "/api/namespaces/*/notebooks/*", remove},
  }};
  return routes;
}

}  // namespace hekla::dashboard
