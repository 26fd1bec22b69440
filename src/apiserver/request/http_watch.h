// Watches over HTTP: a stream of JSON lines fed from a cursor. Each lives where its connection does
// (executors.h); one store subscription per bucket and executor wakes those who watch it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apiserver/object/list_options.h"
#include "apiserver/read/negotiate.h"
#include "apiserver/read/table.h"
#include "apiserver/read/watch.h"
#include "apiserver/request/connection_executors.h"
#include "base/rng.h"
#include "net/http.h"
#include "store/store.h"

namespace hekla::apiserver {

class Conversions;  // conversion.h

struct HttpWatchRequest {
  ServedPtr served;
  std::string ns;
  ObjectFilter filter;
  ListOptions options;
  Answer answer;
  IncludeObject include = IncludeObject::metadata;
  net::Headers headers;  // of the answer
  Conversions* conversions = nullptr;
};

class HttpWatches {
 public:
  // `registry` outlives them: a watch ends when its kind is no longer served or comes from another
  // CRD.
  HttpWatches(store::Store& store, Registry& registry, ConnectionExecutors& executors, Rng& rng);
  // Ends every watch; nothing of them runs afterwards. On the loop or after it has ended, and after
  // the net threads.
  ~HttpWatches();
  // Any thread: the watch lives on its executor.
  void start(HttpWatchRequest request, std::shared_ptr<net::ResponseWriter> writer);

  struct State;

 private:
  store::Store& store_;
  Registry& registry_;
  ConnectionExecutors& executors_;
  Rng& rng_;
  std::mutex mutex_;
  std::map<Executor*, std::shared_ptr<State>>
      states_;  // one for each executor that has had a watch
};

}  // namespace hekla::apiserver
