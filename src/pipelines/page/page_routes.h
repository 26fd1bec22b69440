// Artifacts' bytes and steps' logs and events for whoever is logged in, at upstream's paths:
//   /artifacts/get?source=minio&bucket=B&key=K   the object, to be saved
//     &peek=N      its first N bytes, as text        &view=html   as a document in a sandbox
//   /artifacts/list?source=minio&bucket=B&key=K  the keys of a directory, as JSON
//   /k8s/pod/logs?runid=R&podname=P[&follow=true]
//   /k8s/pod/events?runid=R&podname=P
// Objects are served only where they are artifacts of runs, pods only where they are steps.
#pragma once

#include <memory>

#include "kube/client.h"
#include "kube/web_route.h"
#include "pipelines/object_bytes.h"
#include "pipelines/page/step_logs.h"
#include "records/records.h"

namespace hekla::pipelines::page {

struct PageOptions {
  records::Records* records = nullptr;
  ObjectBytes* objects = nullptr;
  StepLogs* logs = nullptr;
  kube::Client* client = nullptr;  // its executor is where requests are looked at
  std::string ns = "kubeflow";     // of the steps
};

// Must outlive the requests it was given.
class PageRoutes {
 public:
  explicit PageRoutes(PageOptions options);
  ~PageRoutes();
  kube::WebRoutes routes();
  // Requests below /k8s/pod/ of others than the page: who reaches the REST API reads logs, too.
  void serve_pods(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::page
