// Get, list, watch and logs over HTTP.
#pragma once

#include <functional>
#include <memory>

#include "apiserver/read/reads.h"
#include "apiserver/request/exchange.h"
#include "kube/pod_streams.h"

namespace hekla::apiserver {

// Where a pod's log goes; begin() answers the request.
class LogAnswer : public kube::ByteSink {
 public:
  virtual void begin() = 0;
};

// How the answer goes out that has no end: as the HTTP answer itself (plain_*) or over a WebSocket
// (connect/). Called once nothing but the connection can still refuse.
using OpenWatch = Result<std::shared_ptr<net::ResponseWriter>> (*)(const ExchangePtr&);
using OpenLog = Result<std::shared_ptr<LogAnswer>> (*)(const ExchangePtr&);
Result<std::shared_ptr<net::ResponseWriter>> plain_watch(const ExchangePtr& exchange);
Result<std::shared_ptr<LogAnswer>> plain_log(const ExchangePtr& exchange);

// `open` is for watches.
void serve_read(const ExchangePtr& exchange, OpenWatch open);
void serve_pod_log(const ExchangePtr& exchange, OpenLog open);

// The page in the version of the request, with what the selectors leave of it then. `then` may run
// on the loop.
void convert_page(const ExchangePtr& exchange, ListPage page,
                  std::move_only_function<void(ListPage)> then);
// A page as the client wants to see it.
void show_list(const ExchangePtr& exchange, ListPage page);

}  // namespace hekla::apiserver
