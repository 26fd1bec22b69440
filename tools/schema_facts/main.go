// Command schema_facts reads the Go sources of the Kubernetes API types and writes what their struct
// tags and markers say, without any prose, as the compact text that Hekla's API server embeds.
// The format is described in README.md.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// Packages whose kinds are served. Types of other packages come in only as far as these refer to them.
var served = []string{
	"k8s.io/api/core/v1", "k8s.io/api/apps/v1", "k8s.io/api/batch/v1", "k8s.io/api/autoscaling/v1",
	"k8s.io/api/autoscaling/v2", "k8s.io/api/policy/v1", "k8s.io/api/rbac/v1", "k8s.io/api/storage/v1",
	"k8s.io/api/coordination/v1", "k8s.io/api/events/v1", "k8s.io/api/discovery/v1",
	"k8s.io/api/networking/v1", "k8s.io/api/scheduling/v1", "k8s.io/api/node/v1",
	"k8s.io/api/admissionregistration/v1", "k8s.io/api/authentication/v1", "k8s.io/api/authorization/v1",
	"k8s.io/api/certificates/v1", "k8s.io/api/flowcontrol/v1", "k8s.io/api/resource/v1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
}

// Types of meta/v1 that requests carry by themselves.
var extraRoots = []string{"DeleteOptions", "ListMeta", "Status", "CreateOptions", "UpdateOptions", "PatchOptions"}

const metaPackage = "k8s.io/apimachinery/pkg/apis/meta/v1"

func main() {
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if *out == "" {
		fail("usage: schema_facts -out FILE")
	}
	loader := newLoader(moduleDirs())
	var roots []string
	for _, path := range served {
		roots = append(roots, loader.kinds(path)...)
	}
	for _, name := range extraRoots {
		roots = append(roots, metaPackage+"."+name)
	}
	facts := collect(loader, roots)
	file, err := os.Create(*out)
	check(err)
	w := bufio.NewWriter(file)
	fmt.Fprintf(w, "%%version %s\n", loader.version)
	facts.write(w)
	check(w.Flush())
	check(file.Close())
}

// moduleDirs has go fetch the modules of go.mod, if need be, and asks where they are.
func moduleDirs() map[string]module {
	command := exec.Command("go", "mod", "download", "-json",
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")
	raw, err := command.Output()
	check(err)
	dirs := map[string]module{}
	for stream := json.NewDecoder(bytes.NewReader(raw)); stream.More(); {
		var one struct{ Path, Version, Dir string }
		check(stream.Decode(&one))
		dirs[one.Path] = module{version: one.Version, dir: one.Dir}
	}
	return dirs
}

type module struct{ version, dir string }

// dirOf finds the directory of a package in the modules.
func dirOf(modules map[string]module, path string) string {
	for prefix, m := range modules {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return filepath.Join(m.dir, strings.TrimPrefix(path, prefix))
		}
	}
	return ""
}

// openAPIName turns k8s.io/api/core/v1.Pod into io.k8s.api.core.v1.Pod.
func openAPIName(qualified string) string {
	slash := strings.Index(qualified, "/")
	host := strings.Split(qualified[:slash], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(host, ".") + "." + strings.ReplaceAll(qualified[slash+1:], "/", ".")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "schema_facts: "+why)
	os.Exit(1)
}
