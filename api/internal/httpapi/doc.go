package httpapi

import (
	"cmp"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// note is what the description of an operation says beyond what its types tell; see notes.
type note struct {
	tag   string
	text  string         // what it does and for whom, in a few sentences
	body  any            // an example of the request's body
	good  map[int]told   // by status: its answers that are no errors
	codes []seckill.Code // its refusals, beside those that follow from its shape
}

// told is one good answer.
type told struct {
	text    string
	body    any      // an example
	headers []string // it always carries, beside those of every answer
}

// Describe writes the description of the API as YAML. It needs no store.
func Describe(out io.Writer) error {
	a := New(Deps{
		Meter: obs.NewAdmission(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	defer a.Close()
	text, err := a.doc.YAML()
	if err != nil {
		return &seckill.Error{Op: "httpapi.Describe", Code: seckill.Internal, Err: err}
	}
	_, err = out.Write(text)
	return err
}

// describe completes what huma made of the types, once every route is registered.
func (a *API) describe() {
	a.doc.Info.Description = aboutAPI
	a.doc.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	a.doc.Servers = []*huma.Server{{URL: "/", Description: "The api that serves this description"}}
	a.doc.Tags = tags
	a.doc.Components.Headers = headers
	a.doc.Components.Examples = problemExamples()
	for name, schema := range a.doc.Components.Schemas.Map() {
		describeFields(name, schema)
	}
	for _, op := range a.operations() {
		describeOperation(op, notes[op.OperationID])
	}
}

// operations are all that is described, by path and method.
func (a *API) operations() (ops []*huma.Operation) {
	for _, path := range slices.Sorted(maps.Keys(a.doc.Paths)) {
		item := a.doc.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				ops = append(ops, op)
			}
		}
	}
	return ops
}

func describeOperation(op *huma.Operation, n note) {
	op.Tags = []string{cmp.Or(n.tag, "Orders")}
	op.Description = cmp.Or(n.text, op.Description)
	if len(op.Security) == 0 {
		op.Security = anyone
	}
	for _, p := range op.Parameters {
		describeParam(p)
	}
	if op.RequestBody != nil {
		op.RequestBody.Description = "The request, as JSON"
		for _, media := range op.RequestBody.Content {
			media.Example = n.body
		}
	}
	described := map[string]*huma.Response{}
	for status, t := range n.good {
		key := strconv.Itoa(status)
		described[key] = describeGood(op.Responses[key], t)
	}
	maps.Copy(described, describeRefusals(refusals(op, n)))
	op.Responses = described
}

// anyone is what OpenAPI calls no security, said on purpose.
var anyone = []map[string][]string{{}}

func needsToken(op *huma.Operation) bool { return len(op.Security) > 0 && len(op.Security[0]) > 0 }

// describeGood keeps the schema of an answer. Headers that a type has for some of its
// routes only are dropped where they are never sent.
func describeGood(r *huma.Response, t told) *huma.Response {
	if r == nil {
		r = &huma.Response{}
	}
	r.Description = t.text
	r.Headers = headerRefs(append(t.headers, headerRequest)...)
	for _, media := range r.Content {
		media.Example = t.body
	}
	return r
}

// refusals are the codes of an operation: its own, and those that follow from its shape.
func refusals(op *huma.Operation, n note) []seckill.Code {
	codes := append(slices.Clone(n.codes), notAcceptable, seckill.Internal, seckill.Unavailable)
	if len(op.Parameters) > 0 || op.RequestBody != nil {
		codes = append(codes, seckill.Invalid)
	}
	if op.Method != http.MethodGet {
		codes = append(codes, bodyTooLarge, bodyTooSlow)
	}
	if op.RequestBody != nil {
		codes = append(codes, unsupportedMedia)
	}
	if needsToken(op) {
		codes = append(codes, seckill.Unauthenticated)
	}
	if strings.HasPrefix(op.Path, "/api/v1/admin/") {
		codes = append(codes, seckill.Forbidden)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// describeRefusals makes one response of all codes that share a status.
func describeRefusals(codes []seckill.Code) map[string]*huma.Response {
	responses := map[string]*huma.Response{}
	for _, code := range codes {
		_, row := answerTo(code)
		key := strconv.Itoa(row.status)
		r := responses[key]
		if r == nil {
			r = &huma.Response{
				Headers: headerRefs(headerRequest, "Content-Language"),
				Content: map[string]*huma.MediaType{"application/problem+json": {
					Schema:   &huma.Schema{Ref: "#/components/schemas/Problem"},
					Examples: map[string]*huma.Example{},
				}},
			}
			responses[key] = r
		}
		r.Description = strings.TrimPrefix(r.Description+", "+string(code), ", ")
		r.Content["application/problem+json"].Examples[string(code)] = &huma.Example{Ref: "#/components/examples/" + string(code)}
		if row.retry {
			maps.Copy(r.Headers, headerRefs("Retry-After"))
		}
		if code == seckill.Unauthenticated {
			maps.Copy(r.Headers, headerRefs("WWW-Authenticate"))
		}
	}
	return responses
}

func headerRefs(names ...string) map[string]*huma.Param {
	refs := make(map[string]*huma.Param, len(names))
	for _, name := range names {
		refs[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return refs
}

// problemExamples has one problem for each code, as an api would answer it.
func problemExamples() map[string]*huma.Example {
	examples := make(map[string]*huma.Example, len(answers))
	for code, row := range answers {
		p := Problem{
			Type: problemURI + string(code), Title: row.en, Status: row.status, Code: code,
			Detail: row.detail, RequestID: exampleRequest,
		}
		if code == seckill.NotStarted {
			p.BeginsAt = exampleBegin
		}
		if code == seckill.Invalid {
			p.Errors = []Flaw{{Location: "body.total", Message: "expected required property total to be present"}}
		}
		examples[string(code)] = &huma.Example{Summary: row.en + " · " + row.zh, Value: p}
	}
	return examples
}

// describeParam adds what a parameter's name tells. Its schema is copied: the original is
// what requests are validated by, and ids have a check of their own with better words.
func describeParam(p *huma.Param) {
	w, ok := words[p.Name]
	if !ok {
		return
	}
	p.Description = cmp.Or(p.Description, w.text)
	if p.Example == nil {
		p.Example = w.example
	}
	if w.pattern != "" {
		schema := *p.Schema
		schema.Pattern = w.pattern
		schema.PrecomputeMessages() // compiles the pattern
		p.Schema = &schema
	}
}

// describeFields does the same for the fields of a schema.
func describeFields(name string, s *huma.Schema) {
	for field, schema := range s.Properties {
		schema.PatternDescription = "" // huma's own word; what it says to callers is compiled by now
		if name == "Problem" && field == "code" {
			schema.Enum = codeNames()
		}
		w, ok := words[field]
		if !ok || schema.Type != huma.TypeString {
			continue
		}
		schema.Description = cmp.Or(schema.Description, w.text)
		schema.Pattern = cmp.Or(schema.Pattern, w.pattern)
		if len(schema.Enum) == 0 {
			schema.Enum = w.oneOf
		}
		if len(schema.Examples) == 0 && w.example != nil {
			schema.Examples = []any{w.example}
		}
		schema.PrecomputeMessages()
	}
}

func codeNames() (names []any) {
	for _, code := range slices.Sorted(maps.Keys(answers)) {
		names = append(names, string(code))
	}
	return names
}
