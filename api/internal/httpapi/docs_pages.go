package httpapi

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/api/internal/web"
	"github.com/openseckill/seckill/pkg/seckill"
)

//go:embed page
var files embed.FS

var (
	style     = mustRead("page/style.css")
	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"json": pretty, "style": func() template.CSS { return template.CSS(style) },
	}).ParseFS(files, "page/*.html"))
)

// pagePolicy lets a page load nothing at all; its one style is named by its hash.
var pagePolicy = "default-src 'none'; style-src 'sha256-" + hash(style) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// routeDocs serves the description: for programs, and as pages for people.
func (a *API) routeDocs() {
	document := func(contentType, policy string, render func() ([]byte, error)) gin.HandlerFunc {
		once := sync.OnceValues(func() (*web.File, error) {
			content, err := render()
			if err != nil {
				return nil, err
			}
			return web.NewFile(contentType, policy, content), nil
		})
		return func(c *gin.Context) {
			d, err := once()
			if err != nil {
				fail(c, &seckill.Error{Op: "httpapi.docs", Code: seckill.Internal, Err: err})
				return
			}
			d.ServeHTTP(c.Writer, c.Request)
		}
	}
	a.engine.GET("/openapi.json", document("application/json", "", func() ([]byte, error) { return json.Marshal(a.doc) }))
	a.engine.GET("/openapi.yaml", document("application/yaml", "", func() ([]byte, error) { return a.doc.YAML() }))
	a.engine.GET("/docs", document(htmlType, pagePolicy, a.docsPage))
	a.engine.GET("/problems", document(htmlType, pagePolicy, problemsPage))
}

const htmlType = "text/html; charset=utf-8"

// problemsPage explains every code, from the table that answers are made of.
func problemsPage() ([]byte, error) {
	type row struct {
		Code                             seckill.Code
		Status                           int
		Title, Detail, TitleZH, DetailZH string
		Retry                            bool
	}
	var rows []row
	for _, code := range slices.Sorted(maps.Keys(answers)) {
		a := answers[code]
		rows = append(rows, row{code, a.status, a.en, a.detail, a.zh, a.zhDetail, a.retry})
	}
	return render("problems.html", rows)
}

// docsPage shows the description to people.
func (a *API) docsPage() ([]byte, error) {
	type section struct {
		*huma.Tag
		Operations []operationView
	}
	var sections []section
	for _, tag := range a.doc.Tags {
		s := section{Tag: tag}
		for _, op := range a.operations() {
			if slices.Contains(op.Tags, tag.Name) {
				s.Operations = append(s.Operations, a.viewOperation(op))
			}
		}
		sections = append(sections, s)
	}
	return render("docs.html", map[string]any{
		"Title": a.doc.Info.Title, "About": strings.Split(a.doc.Info.Description, "\n\n"), "Sections": sections,
	})
}

func render(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, name, data)
	return out.Bytes(), err
}

// operationView is an operation as the page shows it.
type operationView struct {
	*huma.Operation
	Curl    string
	Body    *mediaView
	Answers []answerView
}

type answerView struct {
	Status string
	*huma.Response
	Media *mediaView // nil for a problem: those are explained once
	Codes []string
}

type mediaView struct {
	Type    string
	Example any
	Fields  []fieldView
}

type fieldView struct {
	Name, Type, Text string
	Required         bool
}

func (a *API) viewOperation(op *huma.Operation) operationView {
	view := operationView{Operation: op, Curl: curl(op)}
	if op.RequestBody != nil {
		view.Body = a.viewMedia(op.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		answer := answerView{Status: status, Response: r}
		if p := r.Content["application/problem+json"]; p != nil {
			answer.Codes = slices.Sorted(maps.Keys(p.Examples))
		} else {
			answer.Media = a.viewMedia(r.Content)
		}
		view.Answers = append(view.Answers, answer)
	}
	return view
}

// curl is a request to paste, made of the examples of what it needs.
func curl(op *huma.Operation) string {
	line, path := "curl -i", op.Path
	if op.Method != http.MethodGet {
		line += " -X " + op.Method
	}
	if needsToken(op) {
		line += ` -H "Authorization: Bearer $TOKEN"`
	}
	if op.RequestBody != nil {
		for contentType, media := range op.RequestBody.Content {
			body, _ := json.Marshal(media.Example) // a test has marshalled each
			line += fmt.Sprintf(" -H 'Content-Type: %s' \\\n  -d '%s'", contentType, body)
		}
	}
	for _, p := range op.Parameters {
		path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
	}
	return line + " \\\n  \"$API" + path + `"`
}

// viewMedia shows the only media type that a body of ours has.
func (a *API) viewMedia(content map[string]*huma.MediaType) *mediaView {
	for contentType, media := range content {
		return &mediaView{Type: contentType, Example: media.Example, Fields: a.viewFields("", media.Schema)}
	}
	return nil
}

// viewFields lists the fields of a schema and of what is in it: "items[].voucherId".
func (a *API) viewFields(prefix string, s *huma.Schema) (fields []fieldView) {
	s = a.resolve(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := a.resolve(s.Properties[name])
		f := fieldView{Name: prefix + name, Type: p.Type, Text: p.Description, Required: slices.Contains(s.Required, name)}
		if p.Format != "" && p.Format != "int64" {
			f.Type += ", " + p.Format
		}
		fields = append(fields, f)
		switch p.Type {
		case huma.TypeObject:
			fields = append(fields, a.viewFields(f.Name+".", p)...)
		case huma.TypeArray:
			fields = append(fields, a.viewFields(f.Name+"[].", p.Items)...)
		}
	}
	return fields
}

func (a *API) resolve(s *huma.Schema) *huma.Schema {
	for s.Ref != "" {
		s = a.doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// pretty writes an example as people read it; a text is shown as it is.
func pretty(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(v)
	return out.String(), err
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func mustRead(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return b
}
