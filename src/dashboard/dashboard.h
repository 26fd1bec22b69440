// The page and what stands behind it, as web routes for the gateway: the embedded files, the stream
// of watched objects, the Kubernetes API as the visitor, explanations, and the web APIs of
// Kubeflow's own apps for scripts that know them.
#pragma once

#include <memory>

#include "base/loop.h"
#include "dashboard/page/as_user.h"
#include "dashboard/page/session_route.h"
#include "dashboard/stream/stream.h"
#include "kube/client.h"
#include "kube/stream_topic.h"
#include "kube/web_route.h"

namespace hekla::dashboard {

struct Options {
  Executor* loop = nullptr;                // the dashboard's own; it outlives the Dashboard
  kube::Client* client = nullptr;          // on that loop; may read everything
  kube::Authorizer* authorizer = nullptr;  // on that loop
  ApiDoor api;
  DoorFactsOf facts;
  kube::StreamTopics topics;
  StreamLimits stream_limits = {};
};

// Whether the page's files are in this binary.
bool has_page();

// Must outlive the server that its routes are given to.
class Dashboard {
 public:
  explicit Dashboard(Options options);
  ~Dashboard();
  kube::WebRoutes routes();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::dashboard
