#include "dashboard/page/explain_route.h"

#include <map>
#include <utility>

#include "dashboard/page/answer.h"
#include "json/parse.h"
#include "scheduler/explain/explain.h"
#include "scheduler/loop/companion_resources.h"

namespace hekla::dashboard {

namespace {

const std::map<std::string, kube::Resource, std::less<>>& explained_kinds() {
  static const std::map<std::string, kube::Resource, std::less<>> kinds = {
      {"job", kube::resources::vcjobs},
      {"podgroup", kube::resources::pod_groups},
      {"pod", kube::resources::pods},
      {"queue", kube::resources::queues}};
  return kinds;
}

// Resources that the scheduler's library looks at. Kinds that a cluster does not serve are left
// out.
std::vector<kube::Resource> world_resources() {
  std::vector<kube::Resource> out{kube::resources::nodes,
                                  kube::resources::pods,
                                  kube::resources::pod_groups,
                                  kube::resources::queues,
                                  kube::resources::priority_classes,
                                  kube::resources::vcjobs,
                                  kube::resources::events};
  for (const kube::Resource& resource : scheduler::companion_resources()) out.push_back(resource);
  return out;
}

// One question on its way: lists on the loop, the answer on a worker.
struct Question : std::enable_shared_from_this<Question> {
  Executor& loop;
  kube::Client& client;
  WorkerPool& workers;
  std::shared_ptr<net::ResponseWriter> writer;
  std::string kind, ns, name;
  std::vector<kube::ObjectPtr> objects;
  std::string configuration;
  std::size_t open = 0;

  Question(Executor& on, kube::Client& by, WorkerPool& pool)
      : loop(on), client(by), workers(pool) {}

  void read() {
    const std::vector<kube::Resource> resources = world_resources();
    open = resources.size() + 1;
    for (const kube::Resource& resource : resources)
      client.list(resource, {}, [self = shared_from_this()](const Result<kube::List>& listed) {
        if (listed)
          self->objects.insert(self->objects.end(), listed->items.begin(), listed->items.end());
        self->answered();
      });
    client.get(kube::resources::config_maps, {"volcano-system", "volcano-scheduler-configmap"},
               [self = shared_from_this()](const Result<kube::ObjectPtr>& map) {
                 if (map)
                   if (Result<json::Value> value = json::parse(*(*map)->json))
                     self->configuration =
                         json::string_at(*value, {"data", "volcano-scheduler.conf"});
                 self->answered();
               });
  }
  void answered() {
    if (--open > 0) return;
    Task task = [self = shared_from_this()] { self->writer->respond(self->answer()); };
    if (!workers.try_post(task))
      writer->respond(error_response(
          {Code::too_many_requests, "too many explanations are asked for; come again"}));
  }
  net::Response answer() const {
    scheduler::World world;
    world.now = loop.clock().wall();
    world.configuration = configuration;
    for (const kube::ObjectPtr& object : objects) {
      Result<json::Value> value = json::parse(*object->json);
      if (!value) return error_response(value.error());
      // An object that the library cannot read explains nothing.
      if (Result<void> added = world.add(*value); !added) continue;
    }
    Result<scheduler::Explanation> made = scheduler::explain(world, kind, ns, name);
    return made ? json_response(made->to_json()) : error_response(made.error());
  }
};

}  // namespace

kube::WebHandler explain_handler(Executor& loop, kube::Client& client, kube::Authorizer& authorizer,
                                 WorkerPool& workers) {
  return [&](kube::WebExchange exchange) {
    const net::Query& query = exchange.request.query;
    auto question = std::make_shared<Question>(loop, client, workers);
    question->kind = query.get("kind");
    question->ns = query.get("namespace");
    question->name = query.get("name");
    question->writer = exchange.writer;
    auto found = explained_kinds().find(question->kind);
    if (found == explained_kinds().end() || question->name.empty())
      return exchange.writer->respond(error_response(
          {Code::bad_request,
           "want kind=job|podgroup|pod|queue, name=NAME and, but for a queue, namespace=NS"}));
    const kube::Access access{"get", found->second, {question->ns, question->name}};
    on_loop(
        loop, exchange.writer, [question, &authorizer, user = std::move(exchange.user), access] {
          authorizer.may(user, access, [=](const Result<kube::Decision>& may) {
            if (!may) return question->writer->respond(error_response(may.error()));
            if (!may->allowed)
              return question->writer->respond(
                  error_response({Code::forbidden,
                                  "User \"" + user.name + "\" cannot get this " + question->kind}));
            question->read();
          });
        });
  };
}

}  // namespace hekla::dashboard
