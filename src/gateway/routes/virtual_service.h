// Istio's VirtualService as rules.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/any_object.h"
#include "gateway/routes/rule.h"

namespace hekla::gateway {

inline const kube::Resource kVirtualServices{"networking.istio.io", "v1alpha3", "virtualservices",
                                             "VirtualService"};

// Whether the object speaks to this gateway: it names kubeflow/kubeflow-gateway. One named without
// a namespace is of the object's own.
bool is_for_us(const framework::AnyObject& object);

// The http rules of an object, in order. Errors name the field; what is read and not obeyed is a
// remark.
Result<std::vector<Rule>> rules_of_virtual_service(const framework::AnyObject& object,
                                                   std::vector<std::string>& remarks);

// The reason why a route is not obeyed; empty: it is fine. Nobody takes a prefix that is `owned`
// by the platform, nor all paths. Users' namespaces claim nothing of another namespace's programs,
// and lead to services of their own.
std::string trespass(const Rule& rule, const std::function<bool(std::string_view)>& owned);

}  // namespace hekla::gateway
