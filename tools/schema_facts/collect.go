package main

import (
	"fmt"
	"go/ast"
	"io"
	"reflect"
	"sort"
	"strings"
)

// Types with a JSON or protobuf form of their own, by the letter the facts use.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "T",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "U",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "D",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "F",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "Q",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "I",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "R",
	"k8s.io/apimachinery/pkg/runtime.Object":                                                "R",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "J",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "O",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "P",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "X",
}

var scalar = map[string]string{
	"string": "s", "bool": "b", "int32": "i", "int64": "l", "int": "l", "float64": "d", "float32": "d",
	"uint32": "i", "uint64": "l", "uint8": "i", "byte": "i", "int16": "i",
}

type fact struct {
	name   string // JSON name; & for a struct whose fields stand in ours
	kind   string
	flags  string
	number string
	rest   []string
}

type typeFacts struct {
	atomic bool
	fields []fact
}

type facts struct {
	loader *loader
	types  map[string]*typeFacts
	enums  map[string][]string
}

func collect(l *loader, roots []string) *facts {
	f := &facts{loader: l, types: map[string]*typeFacts{}, enums: map[string][]string{}}
	for _, root := range roots {
		f.addStruct(root)
	}
	return f
}

func split(qualified string) (string, string) {
	dot := strings.LastIndex(qualified, ".")
	return qualified[:dot], qualified[dot+1:]
}

func (f *facts) addStruct(qualified string) {
	if _, ok := f.types[qualified]; ok {
		return
	}
	path, name := split(qualified)
	p := f.loader.load(path)
	s, ok := p.types[name].(*ast.StructType)
	if !ok {
		fail("no struct " + qualified)
	}
	t := &typeFacts{atomic: marker(p.docs[name], "structType") == "atomic"}
	f.types[qualified] = t
	for _, field := range s.Fields.List {
		if one, ok := f.field(p, name, field); ok {
			t.fields = append(t.fields, one)
		}
	}
}

func (f *facts) field(p *pkg, owner string, field *ast.Field) (fact, bool) {
	if field.Tag == nil {
		return fact{}, false
	}
	tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
	json := strings.Split(tag.Get("json"), ",")
	if json[0] == "-" {
		return fact{}, false
	}
	doc := text(field.Doc)
	one := fact{name: json[0]}
	typ := field.Type
	if star, ok := typ.(*ast.StarExpr); ok {
		one.flags += "p"
		typ = star.X
	}
	one.kind = f.kind(p, owner, typ)
	options := strings.Join(json[1:], ",")
	if one.name == "" { // inline, or embedded
		one.name = "&"
	} else {
		if strings.Contains(options, "omitempty") {
			one.flags += "o"
		}
		if strings.Contains(options, "omitzero") {
			one.flags += "z"
		}
		if required(doc, options) {
			one.flags += "r"
		}
	}
	wire := strings.Split(tag.Get("protobuf"), ",")
	one.number = "-"
	if len(wire) > 1 {
		one.number = wire[1] + wire[0][:1]
	}
	one.rest = f.rest(p, owner, typ, tag, doc)
	if name, named := f.goName(p, owner, typ); named {
		one.rest = append(one.rest, "go="+name)
	}
	return one, true
}

// goName spells a type as encoding/json prints it, and says whether its kind does not tell: a named string, list or map.
func (f *facts) goName(p *pkg, owner string, typ ast.Expr) (string, bool) {
	switch t := typ.(type) {
	case *ast.ArrayType:
		name, named := f.goName(p, owner, t.Elt)
		return "[]" + name, named
	case *ast.MapType:
		key, namedKey := f.goName(p, owner, t.Key)
		value, namedValue := f.goName(p, owner, t.Value)
		return "map[" + key + "]" + value, namedKey || namedValue
	case *ast.SelectorExpr:
		return f.goNameOf(p.imports[owner][t.X.(*ast.Ident).Name], t.Sel.Name)
	case *ast.Ident:
		if _, ok := scalar[t.Name]; ok {
			return t.Name, false
		}
		return f.goNameOf(p.path, t.Name)
	}
	return "", false
}

func (f *facts) goNameOf(path, name string) (string, bool) {
	qualified := path + "." + name
	printed := path[strings.LastIndex(path, "/")+1:] + "." + name
	if _, ok := special[qualified]; ok {
		return printed, false
	}
	_, isStruct := f.loader.load(path).types[name].(*ast.StructType)
	return printed, !isStruct
}

// required follows kube-openapi: a field is required unless it may be left out.
func required(doc, options string) bool {
	if hasMarker(doc, "required") {
		return true
	}
	return !hasMarker(doc, "optional") && !strings.Contains(options, "omitempty")
}

func (f *facts) rest(p *pkg, owner string, typ ast.Expr, tag reflect.StructTag, doc string) []string {
	var out []string
	if s := tag.Get("patchStrategy"); s != "" {
		out = append(out, "strategy="+s)
	}
	if k := tag.Get("patchMergeKey"); k != "" {
		out = append(out, "merge="+k)
	}
	typeDoc := ""
	if id, ok := typ.(*ast.Ident); ok {
		typeDoc = p.docs[id.Name]
	}
	if l := marker(doc, "listType"); l != "" {
		out = append(out, "list="+l)
	}
	for _, key := range markers(doc, "listMapKey") {
		out = append(out, "key="+key)
	}
	if m := marker(doc, "mapType"); m == "atomic" || marker(doc, "structType") == "atomic" ||
		marker(typeDoc, "mapType") == "atomic" {
		out = append(out, "atomic")
	}
	// Zero values are Go's own; references to constants are set in code.
	if d := marker(doc, "default"); d != "" && d != `""` && d != "0" && d != "false" && !strings.HasPrefix(d, "ref(") {
		out = append(out, "default="+d)
	}
	return out
}

// kind spells a Go type: see README.md.
func (f *facts) kind(p *pkg, owner string, typ ast.Expr) string {
	switch t := typ.(type) {
	case *ast.StarExpr:
		return f.kind(p, owner, t.X)
	case *ast.ArrayType:
		if id, ok := t.Elt.(*ast.Ident); ok && id.Name == "byte" {
			return "B"
		}
		return "[" + f.kind(p, owner, t.Elt)
	case *ast.MapType:
		return "{" + f.kind(p, owner, t.Value)
	case *ast.SelectorExpr:
		return f.named(p.imports[owner][t.X.(*ast.Ident).Name], t.Sel.Name)
	case *ast.Ident:
		if letter, ok := scalar[t.Name]; ok {
			return letter
		}
		return f.named(p.path, t.Name)
	case *ast.InterfaceType:
		return "R"
	}
	fail(fmt.Sprintf("type %T in %s.%s", typ, p.path, owner))
	return ""
}

func (f *facts) named(path, name string) string {
	qualified := path + "." + name
	if letter, ok := special[qualified]; ok {
		return letter
	}
	p := f.loader.load(path)
	switch t := p.types[name].(type) {
	case *ast.StructType:
		f.addStruct(qualified)
		return "#" + openAPIName(qualified)
	case *ast.ArrayType:
		if marker(p.docs[name], "protobuf.nullable") == "true" { // then it is a message of its own
			return "~" + f.kind(p, name, t)
		}
		return f.kind(p, name, t)
	case nil:
		fail("unknown type " + qualified)
	default:
		letter := f.kind(p, name, t)
		if letter == "s" && hasMarker(p.docs[name], "enum") && len(p.consts[name]) > 0 {
			f.enums[openAPIName(qualified)] = p.consts[name]
			return "s:" + openAPIName(qualified)
		}
		return letter
	}
	return ""
}

func markers(doc, name string) []string {
	var out []string
	for _, line := range strings.Split(doc, "\n") {
		if rest, ok := strings.CutPrefix(line, "+"+name+"="); ok {
			out = append(out, strings.TrimSpace(rest))
		}
	}
	return out
}

func marker(doc, name string) string {
	if all := markers(doc, name); len(all) > 0 {
		return all[0]
	}
	return ""
}

func hasMarker(doc, name string) bool {
	for _, line := range strings.Split(doc, "\n") {
		if line == "+"+name || strings.HasPrefix(line, "+k8s:"+name) && name != "enum" {
			return true
		}
	}
	return false
}

// write numbers the types in the order of their names, so that references are short and diffs are stable.
func (f *facts) write(w io.Writer) {
	names := sortedKeys(f.types)
	sort.Slice(names, func(i, j int) bool { return openAPIName(names[i]) < openAPIName(names[j]) })
	index := map[string]string{}
	for i, name := range names {
		index["#"+openAPIName(name)] = fmt.Sprintf("#%d", i)
	}
	enums := sortedKeys(f.enums)
	for i, name := range enums {
		index["s:"+name] = fmt.Sprintf("e%d", i)
		fmt.Fprintf(w, "%%enum %s\n", strings.Join(f.enums[name], "|"))
	}
	for _, name := range names {
		t := f.types[name]
		fmt.Fprintf(w, "%%type %s", openAPIName(name))
		if t.atomic {
			fmt.Fprint(w, " atomic")
		}
		fmt.Fprintln(w)
		for _, field := range t.fields {
			kind := field.kind
			at := strings.IndexAny(kind, "#")
			if e := strings.Index(kind, "s:"); at < 0 && e >= 0 {
				at = e
			}
			if at >= 0 {
				kind = kind[:at] + index[kind[at:]]
			}
			flags := field.flags
			if flags == "" {
				flags = "-"
			}
			fmt.Fprintf(w, "%s %s %s %s", field.name, kind, flags, field.number)
			for _, extra := range field.rest {
				fmt.Fprintf(w, " %s", extra)
			}
			fmt.Fprintln(w)
		}
	}
}
