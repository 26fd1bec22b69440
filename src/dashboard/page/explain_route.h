// GET /hekla/v1/explain?kind=job&namespace=a&name=b: why something waits, as `hekla explain -o
// json` says it. Whoever may get the object may know; the reasons name no other object than queues
// and nodes.
#pragma once

#include "base/loop.h"
#include "kube/authorizer.h"
#include "kube/client.h"
#include "kube/web_route.h"

namespace hekla::dashboard {

// Client and authorizer belong to `loop`; the scheduler's library runs on `workers`.
kube::WebHandler explain_handler(Executor& loop, kube::Client& client, kube::Authorizer& authorizer,
                                 WorkerPool& workers);

}  // namespace hekla::dashboard
