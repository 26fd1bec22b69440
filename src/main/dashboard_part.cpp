#include "main/dashboard_part.h"

#include <utility>

namespace hekla {

DashboardPart::DashboardPart(apiserver::ApiServer& api, dashboard::DoorFactsOf facts,
                             kube::StreamTopics topics)
    : client_(api.client(loop_, {"hekla-dashboard"})) {
  dashboard::Options options;
  options.loop = &loop_;
  options.client = client_.get();
  options.authorizer = &api.authorizer();
  // In the process the door needs no certificate of its own: it says who it is.
  options.api = [handler = api.handler()](net::Request request,
                                          std::shared_ptr<net::ResponseWriter> writer) {
    request.peer = net::PeerCertificate{"hekla:dashboard", {"system:masters"}, ""};
    handler(std::move(request), std::move(writer));
  };
  options.facts = std::move(facts);
  options.topics = std::move(topics);
  dashboard_ = std::make_unique<dashboard::Dashboard>(std::move(options));
}

DashboardPart::~DashboardPart() { loop_.stop(); }

}  // namespace hekla
