package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pkg is one parsed package: its type declarations, their comments and the string constants by type.
type pkg struct {
	path    string
	types   map[string]ast.Expr
	docs    map[string]string
	imports map[string]map[string]string // type name -> import alias -> path
	consts  map[string][]string
}

type loader struct {
	modules map[string]module
	version string
	pkgs    map[string]*pkg
}

func newLoader(modules map[string]module) *loader {
	return &loader{modules: modules, version: modules["k8s.io/api"].version, pkgs: map[string]*pkg{}}
}

func (l *loader) load(path string) *pkg {
	if p, ok := l.pkgs[path]; ok {
		return p
	}
	p := &pkg{path: path, types: map[string]ast.Expr{}, docs: map[string]string{},
		imports: map[string]map[string]string{}, consts: map[string][]string{}}
	l.pkgs[path] = p
	dir := dirOf(l.modules, path)
	if dir == "" {
		return p
	}
	entries, err := os.ReadDir(dir)
	check(err)
	files := token.NewFileSet()
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasPrefix(name, "zz_generated") || name == "generated.pb.go" {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.ParseComments)
		check(err)
		p.read(file)
	}
	return p
}

func (p *pkg) read(file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				p.types[s.Name.Name] = s.Type
				p.imports[s.Name.Name] = imports
				doc := s.Doc
				if doc == nil {
					doc = gen.Doc
				}
				p.docs[s.Name.Name] = text(doc)
			case *ast.ValueSpec:
				p.constant(gen, s)
			}
		}
	}
}

func (p *pkg) constant(gen *ast.GenDecl, spec *ast.ValueSpec) {
	name, ok := spec.Type.(*ast.Ident)
	if gen.Tok != token.CONST || !ok || len(spec.Values) != 1 {
		return
	}
	if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
		literal, _ := strconv.Unquote(value.Value)
		p.consts[name.Name] = append(p.consts[name.Name], literal)
	}
}

// text keeps directive-like comment lines, which CommentGroup.Text would drop.
func text(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range doc.List {
		b.WriteString(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")) + "\n")
	}
	return b.String()
}

// kinds lists the structs of a package that embed TypeMeta.
func (l *loader) kinds(path string) []string {
	p := l.load(path)
	var out []string
	for _, name := range sortedKeys(p.types) {
		s, ok := p.types[name].(*ast.StructType)
		if !ok || strings.HasSuffix(name, "List") && name != "List" {
			continue
		}
		for _, f := range s.Fields.List {
			if sel, ok := f.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "TypeMeta" {
				out = append(out, path+"."+name)
			}
		}
	}
	return out
}
