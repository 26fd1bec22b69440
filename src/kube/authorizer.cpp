#include "kube/authorizer.h"

#include <deque>
#include <map>

#include "json/parse.h"

namespace hekla::kube {
namespace {

const Resource kReviews{"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview",
                        false};

json::Array strings(const std::vector<std::string>& all) {
  json::Array list;
  for (const std::string& one : all) list.emplace_back(one);
  return list;
}

Result<Decision> read_decision(const WriteResult& result) {
  if (!result) return std::unexpected(result.error());
  json::Value review = TRY(json::parse(*(*result)->json));
  if (!json::object_at(review, {"status"}))
    return fail(Code::internal, "a SubjectAccessReview came back without a status");
  Decision decision;
  decision.allowed =
      json::bool_at(review, {"status", "allowed"}) && !json::bool_at(review, {"status", "denied"});
  decision.reason = json::text_at(review, {"status", "reason"});
  return decision;
}

}  // namespace

json::Value review_spec(const User& user, const Access& access) {
  json::Object spec{{"user", user.name}};
  if (!user.uid.empty()) spec["uid"] = user.uid;
  if (!user.groups.empty()) spec["groups"] = strings(user.groups);
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra[key] = strings(values);
  if (!extra.empty()) spec["extra"] = std::move(extra);
  if (!access.path.empty()) {
    spec["nonResourceAttributes"] = json::Object{{"path", access.path}, {"verb", access.verb}};
    return spec;
  }
  json::Object attributes{{"verb", access.verb},
                          {"group", access.resource.group},
                          {"version", access.resource.version},
                          {"resource", access.resource.plural}};
  if (!access.key.ns.empty()) attributes["namespace"] = access.key.ns;
  if (!access.key.name.empty()) attributes["name"] = access.key.name;
  if (!access.subresource.empty()) attributes["subresource"] = access.subresource;
  spec["resourceAttributes"] = std::move(attributes);
  return spec;
}

// Shared with the calls in flight, which hold it weakly.
struct ReviewAuthorizer::State : std::enable_shared_from_this<State> {
  struct Answer {
    Decision decision;
    MonoTime until;
  };
  Client& client;
  const ReviewOptions options;
  // By the text of the question.
  std::map<std::string, Answer> answers;
  std::deque<std::string> order;  // of answers, the oldest first; one may stand there twice
  std::map<std::string, std::vector<Done>> waiting;
  std::size_t waiting_count = 0;

  State(Client& c, ReviewOptions o) : client(c), options(o) {}

  MonoTime now() const { return client.executor().clock().mono(); }

  void may(const User& user, const Access& access, Done done) {
    json::Value spec = review_spec(user, access);
    std::string question = json::serialize(spec);
    if (auto known = answers.find(question); known != answers.end() && known->second.until > now())
      return done(known->second.decision);
    if (waiting_count >= options.waiting_max)
      return done(fail(Code::too_many_requests, "too many questions about access are under way"));
    ++waiting_count;
    std::vector<Done>& others = waiting[question];
    others.push_back(std::move(done));
    if (others.size() > 1) return;
    Write write;
    write.verb = Write::Verb::create;
    write.resource = kReviews;
    write.body = json::Object{
        {"apiVersion", kReviews.api_version()}, {"kind", kReviews.kind}, {"spec", std::move(spec)}};
    client.write(std::move(write), [weak = weak_from_this(),
                                    question = std::move(question)](const WriteResult& result) {
      if (auto self = weak.lock()) self->answered(question, read_decision(result));
    });
  }

  void answered(const std::string& question, const Result<Decision>& decision) {
    if (decision) keep(question, *decision);
    auto found = waiting.find(question);
    std::vector<Done> askers = std::move(found->second);
    waiting.erase(found);
    waiting_count -= askers.size();
    for (Done& asker : askers) asker(decision);
  }

  void keep(const std::string& question, const Decision& decision) {
    answers[question] = {decision,
                         now() + (decision.allowed ? options.allowed_for : options.denied_for)};
    order.push_back(question);
    while (order.size() > options.answers_max) {
      answers.erase(order.front());
      order.pop_front();
    }
  }
};

ReviewAuthorizer::ReviewAuthorizer(Client& client, ReviewOptions options)
    : state_(std::make_shared<State>(client, options)) {}

ReviewAuthorizer::~ReviewAuthorizer() = default;

void ReviewAuthorizer::may(const User& user, const Access& access, Done done) {
  state_->may(user, access, std::move(done));
}

}  // namespace hekla::kube
