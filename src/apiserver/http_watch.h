// Watches over HTTP: a stream of JSON lines fed from a cursor. All of them live on the server's loop; one
// store subscription per bucket wakes those who watch it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/list_options.h"
#include "apiserver/negotiate.h"
#include "apiserver/table.h"
#include "apiserver/watch.h"
#include "base/executor.h"
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
  // `registry` outlives them: a watch ends when its kind is no longer served or comes from another CRD.
  HttpWatches(store::Store& store, Registry& registry, Executor& loop, Rng& rng);
  // Ends every watch; nothing of them runs afterwards. On the loop, or after it has ended.
  ~HttpWatches();
  // Any thread.
  void start(HttpWatchRequest request, std::shared_ptr<net::ResponseWriter> writer);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hekla::apiserver
