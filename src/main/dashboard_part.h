// The dashboard on the embedded platform: its loop, its client and its door to the API server.
#pragma once

#include <memory>

#include "apiserver/api_server.h"
#include "base/loop.h"
#include "dashboard/dashboard.h"

namespace hekla {

class DashboardPart {
 public:
  // The API server outlives it, and it outlives the server that its routes are given to.
  DashboardPart(apiserver::ApiServer& api, dashboard::DoorFactsOf facts, kube::StreamTopics topics);
  ~DashboardPart();
  kube::WebRoutes routes() { return dashboard_->routes(); }
  void stop() { loop_.stop(); }

 private:
  Loop loop_{"dashboard"};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<dashboard::Dashboard> dashboard_;
};

}  // namespace hekla
