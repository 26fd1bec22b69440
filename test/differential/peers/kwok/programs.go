//go:build programs

// Package programs pins what build_peers compiles.
package programs

import _ "sigs.k8s.io/kwok/cmd/kwok"
