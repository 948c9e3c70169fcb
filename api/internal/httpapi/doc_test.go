package httpapi_test

import (
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/httpapi"
	"github.com/openseckill/seckill/pkg/seckill"
)

const problemType = "application/problem+json"

// described is the description of an API with nothing behind it.
func described(t testing.TB) *huma.OpenAPI {
	s := shop{}
	return s.open(t).api.OpenAPI()
}

// operations are those of a description by method and path, "GET /api/v1/orders/{orderId}".
func operations(doc *huma.OpenAPI) map[string]*huma.Operation {
	ops := map[string]*huma.Operation{}
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{
			"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete,
		} {
			if op != nil {
				ops[method+" "+path] = op
			}
		}
	}
	return ops
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	s := shop{}
	api := s.open(t).api
	var routes []string
	for _, r := range api.Routes() {
		if strings.HasPrefix(r.Path, "/api/") && r.Method != http.MethodHead && r.Method != http.MethodOptions {
			routes = append(routes, r.Method+" "+braced(r.Path))
		}
	}
	require.ElementsMatch(t, routes, slices.Collect(maps.Keys(operations(api.OpenAPI()))))
}

// braced writes a pattern of gin's as OpenAPI does.
func braced(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

func TestOpenAPISaysAllOfEachOperation(t *testing.T) {
	doc := described(t)
	ids := map[string]bool{}
	for name, op := range operations(doc) {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, op.OperationID)
			require.False(t, ids[op.OperationID], "the id is taken")
			ids[op.OperationID] = true
			require.NotEmpty(t, op.Summary)
			require.NotEmpty(t, op.Description, "it needs a row in notes")
			require.Len(t, op.Tags, 1)
			for _, p := range op.Parameters {
				require.NotEmpty(t, p.Description, p.Name)
				require.NotNil(t, p.Example, p.Name)
				requireFits(t, doc, p.Schema, p.Example, huma.ModeWriteToServer)
			}
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					require.NotNil(t, media.Example)
					requireFits(t, doc, media.Schema, media.Example, huma.ModeWriteToServer)
				}
			}
			good := 0
			for status, r := range op.Responses {
				require.NotEmpty(t, r.Description, status)
				require.Contains(t, r.Headers, "X-Request-Id", status)
				if r.Content[problemType] == nil {
					good++
					requireGoodAnswer(t, doc, r)
				}
			}
			require.Positive(t, good)
			require.Len(t, op.Security, 1)
			if len(op.Security[0]) > 0 {
				require.Contains(t, op.Responses["401"].Headers, "WWW-Authenticate")
			}
		})
	}
}

func requireGoodAnswer(t *testing.T, doc *huma.OpenAPI, r *huma.Response) {
	require.NotEmpty(t, r.Content)
	for contentType, media := range r.Content {
		require.NotNil(t, media.Example)
		if contentType == "application/json" {
			requireFits(t, doc, media.Schema, media.Example, huma.ModeReadFromServer)
		}
	}
}

// requireFits holds a value, as JSON carries it, to a schema.
func requireFits(t testing.TB, doc *huma.OpenAPI, s *huma.Schema, v any, mode huma.ValidateMode) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var plain any
	require.NoError(t, json.Unmarshal(text, &plain))
	for s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	var found huma.ValidateResult
	huma.Validate(doc.Components.Schemas, s, huma.NewPathBuffer(nil, 0), mode, plain, &found)
	require.Empty(t, found.Errors, "%s", text)
}

// Every code is explained by an example that an api could have answered, and every code of a
// sale is an answer of some operation.
func TestOpenAPIHasEveryCode(t *testing.T) {
	doc := described(t)
	used := map[string]bool{"ROUTE_NOT_FOUND": true, "METHOD_NOT_ALLOWED": true} // of no operation
	for name, op := range operations(doc) {
		for status, r := range op.Responses {
			media := r.Content[problemType]
			if media == nil {
				continue
			}
			for code, example := range media.Examples {
				used[code] = true
				require.Equal(t, "#/components/examples/"+code, example.Ref)
				require.Contains(t, doc.Components.Examples, code, name)
				p := doc.Components.Examples[code].Value.(httpapi.Problem)
				require.Equal(t, status, strconv.Itoa(p.Status), name)
			}
		}
	}
	for _, code := range seckill.Codes() {
		require.True(t, used[string(code)] || code == seckill.AlreadyOrdered, "%s is an answer of no operation", code)
	}
	for code, example := range doc.Components.Examples {
		require.True(t, used[code], "%s is an answer of no operation", code)
		requireFits(t, doc, doc.Components.Schemas.Map()["Problem"], example.Value, huma.ModeReadFromServer)
	}
}

// requireDescribed holds an answer that a test saw to the description: its status, its
// media type, its headers, its body and, of a problem, its code.
func requireDescribed(t testing.TB, doc *huma.OpenAPI, req *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	ops, mux := operations(doc), http.NewServeMux()
	for pattern := range ops {
		mux.Handle(pattern, http.NotFoundHandler())
	}
	_, pattern := mux.Handler(req)
	op := ops[pattern]
	if op == nil || req.Method != op.Method {
		return // a page, a wrong address, a wrong method
	}
	r := op.Responses[strconv.Itoa(w.Code)]
	require.NotNil(t, r, "%s answers %d: %s", pattern, w.Code, w.Body)
	contentType := strings.TrimSpace(strings.SplitN(w.Header().Get("Content-Type"), ";", 2)[0])
	media := r.Content[contentType]
	require.NotNil(t, media, "%s answers %d in %q", pattern, w.Code, contentType)
	for _, name := range []string{"Location", "Retry-After", "WWW-Authenticate", "ETag"} {
		if w.Header().Get(name) != "" {
			require.Contains(t, r.Headers, name, pattern)
		} else if contentType == "application/json" {
			require.NotContains(t, r.Headers, name, pattern)
		}
	}
	if !strings.HasSuffix(contentType, "json") {
		return
	}
	requireFits(t, doc, media.Schema, json.RawMessage(w.Body.Bytes()), huma.ModeReadFromServer)
	if contentType == problemType {
		var p httpapi.Problem
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Contains(t, media.Examples, string(p.Code), "%s answers %d", pattern, w.Code)
	}
}

func TestDocs(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for path, c := range map[string]struct{ contentType, has string }{
		"/openapi.json": {"application/json", `"openapi":"3.1.0"`},
		"/openapi.yaml": {"application/yaml", "openapi: 3.1.0"},
		"/docs":         {"text/html; charset=utf-8", `<article id="buy">`},
		"/problems":     {"text/html; charset=utf-8", `<tr id="SOLD_OUT">`},
	} {
		t.Run(path, func(t *testing.T) {
			w := r.do("GET", path, "")
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Equal(t, c.contentType, w.Header().Get("Content-Type"))
			require.Contains(t, w.Body.String(), c.has)

			small := r.do("GET", path, "", "Accept-Encoding", "br, gzip")
			require.Equal(t, "gzip", small.Header().Get("Content-Encoding"))
			require.Less(t, small.Body.Len(), 30_000)
			reader, err := gzip.NewReader(small.Body)
			require.NoError(t, err)
			plain, err := io.ReadAll(reader)
			require.NoError(t, err)
			require.Equal(t, w.Body.String(), string(plain))

			again := r.do("GET", path, "", "If-None-Match", w.Header().Get("ETag"))
			require.Equal(t, http.StatusNotModified, again.Code)
			require.Zero(t, again.Body.Len())
		})
	}
}

func TestDocsHaveRequestsToPaste(t *testing.T) {
	s := shop{}
	page := html.UnescapeString(s.open(t).do("GET", "/docs", "").Body.String())
	require.Contains(t, page, "curl -i -X POST -H \"Authorization: Bearer $TOKEN\" \\\n  \"$API/api/v1/vouchers/1001/orders\"")
	require.Contains(t, page, `-d '{"title":"Tea set",`)
	require.Contains(t, page, "curl -i \\\n  \"$API/api/v1/vouchers\"")
}

// A page loads nothing, from here or from elsewhere, and its policy forbids it to.
func TestPagesLoadNothing(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, path := range []string{"/docs", "/problems"} {
		w := r.do("GET", path, "")
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")
		for _, loads := range []string{"<script", "<link", "<img", "@import", "url(", "src=", "style=", "onclick"} {
			require.NotContains(t, w.Body.String(), loads, path)
		}
	}
}

// Every problem leads to its explanation: the fragment of its type is an id of the page.
func TestProblemsPageHasEveryType(t *testing.T) {
	s := shop{}
	r := s.open(t)
	page := r.do("GET", "/problems", "").Body.String()
	for code, example := range described(t).Components.Examples {
		kind := example.Value.(httpapi.Problem).Type
		require.Equal(t, "/problems#"+code, kind)
		require.Contains(t, page, `id="`+code+`"`)
	}
}
