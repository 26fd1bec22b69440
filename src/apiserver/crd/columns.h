// The printed columns of custom resources.
#pragma once

#include "apiserver/object/kind.h"
#include "json/value.h"

namespace hekla::apiserver {

// Sets the columns of one version, from additionalPrinterColumns.
void set_crd_columns(const json::Value& version, Kind& kind);

}  // namespace hekla::apiserver
