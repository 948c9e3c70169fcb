package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Problem is the body of every error, RFC 9457. Code and type never change; title follows
// Accept-Language, and so does detail, but for most that speak of this very request.
type Problem struct {
	Type      string       `json:"type" example:"/problems#SOLD_OUT" format:"uri-reference" doc:"Leads to the explanation of the code"`
	Title     string       `json:"title" example:"Sold out" doc:"The code in words, English or Chinese"`
	Status    int          `json:"status" example:"409" doc:"The HTTP status"`
	Code      seckill.Code `json:"code" example:"SOLD_OUT" doc:"What went wrong, in one stable word"`
	Detail    string       `json:"detail" example:"No unit of this voucher is left." doc:"What went wrong this time, and what to do"`
	RequestID string       `json:"requestId" example:"01JZQ3" doc:"Names this request in the logs"`
	BeginsAt  string       `json:"beginsAt,omitempty" format:"date-time" doc:"With NOT_STARTED: when the sale begins"`
	Errors    []Flaw       `json:"errors,omitempty" doc:"With INVALID: each flaw found"`
}

// Flaw is one thing that is wrong with a request.
type Flaw struct {
	Location string `json:"location,omitempty" example:"body.total"`
	Message  string `json:"message"`
}

// Error makes a Problem something huma can answer with.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

const (
	problemURI    = "/problems#" // served here, see docs_pages.go
	retryAfterMax = time.Hour    // a client that waits for a far begin asks again by then
)

// refusal is a code with words for the caller. The cause in a seckill.Error is for the log
// alone; what a caller may read is put here.
type refusal struct {
	code   seckill.Code
	detail string
	zh     string        // detail in Chinese; "": it is told in English
	begin  time.Time     // with NotStarted
	retry  time.Duration // how long to wait before the next try, where that is known
	flaws  []Flaw        // with Invalid
}

// invalid refuses a request for what is wrong with it.
func invalid(detail string) error { return &refusal{code: seckill.Invalid, detail: detail} }

func (r *refusal) Error() string { return string(r.code) + ": " + r.detail }

func (r *refusal) Unwrap() error { return r.code }

// problem turns an error into the answer, and sets the headers that go with it.
func problem(c *gin.Context, err error) *Problem {
	code, row := answerTo(seckill.CodeOf(err))
	p := &Problem{
		Type: problemURI + string(code), Title: row.en, Status: row.status, Code: code,
		Detail: row.detail, RequestID: requestID(c),
	}
	traceCode(c.Request.Context(), code, row.status)
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{}
	}
	if !r.begin.IsZero() {
		p.BeginsAt = stamp(r.begin)
	}
	p.Errors = r.flaws
	detail := r.detail

	header := c.Writer.Header()
	header.Set("Content-Language", "en")
	if chinese(c.GetHeader("Accept-Language")) {
		p.Title, p.Detail = row.zh, row.zhDetail
		detail = cmp.Or(r.zh, r.detail)
		header.Set("Content-Language", "zh")
	}
	if row.retry {
		header.Set("Retry-After", retryAfter(r.retry))
	}
	if code == seckill.Unauthenticated {
		want, detail := challenge(err)
		header.Set("WWW-Authenticate", want)
		if detail != "" {
			p.Detail = detail
		}
	}
	if detail != "" {
		p.Detail = detail
	}
	if code == seckill.Internal || code == seckill.Unavailable {
		_ = c.Error(err) // for the log, see logFaults
	}
	return p
}

// retryAfter is d in whole seconds, rounded up, from 1 to an hour.
func retryAfter(d time.Duration) string {
	d = min(max(d, time.Second), retryAfterMax)
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// challenge says what token is wanted and what was wrong with the one that came, as a
// WWW-Authenticate header (RFC 6750) and, where the table does not say it, in words.
func challenge(err error) (header, detail string) {
	const want = `Bearer realm="seckill"`
	switch {
	case errors.Is(err, auth.ErrMissing):
		return want, "A bearer token is needed."
	case errors.Is(err, auth.ErrExpired):
		return want + `, error="invalid_token"`, "The bearer token has expired."
	default:
		return want + `, error="invalid_token"`, ""
	}
}

// fail answers with the problem that err is.
func fail(c *gin.Context, err error) {
	p := problem(c, err)
	writeJSON(c, p.Status, p.ContentType(""), p)
	c.Abort()
}

// writeJSON writes v as huma would. A client that is gone gets nothing, and nobody else
// need know.
func writeJSON(c *gin.Context, status int, contentType string, v any) {
	c.Header("Content-Type", contentType)
	c.Status(status)
	_ = huma.DefaultJSONFormat.Marshal(c.Writer, v)
}

// huma keeps these in package variables; they are set once, before anything runs.
func init() {
	huma.NewError = func(status int, msg string, _ ...error) huma.StatusError {
		return &Problem{Status: status, Detail: msg} // only its type is used, to describe errors
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return problem(humagin.Unwrap(ctx), humaFault(status, msg, errs))
	}
	// One name for one field: "Total" beside "total" would leave open which one counts.
	huma.ValidateStrictCasing = true
}

// humaFault gives a code to what huma found: an error of our own keeps its own.
func humaFault(status int, msg string, errs []error) error {
	for _, err := range errs {
		var code seckill.Code
		if errors.As(err, &code) {
			return err
		}
	}
	switch {
	case status == http.StatusUnsupportedMediaType:
		return unsupportedMedia
	case status == http.StatusRequestTimeout:
		return bodyTooSlow
	case status >= http.StatusInternalServerError:
		return &seckill.Error{Op: "httpapi", Code: seckill.Internal, Err: errors.Join(errs...)}
	}
	r := &refusal{code: seckill.Invalid, detail: "The request is not valid: " + msg + "."}
	for _, err := range errs {
		r.flaws = append(r.flaws, flaw(err))
	}
	return r
}

// flaw leaves the value out: it may be the whole body.
func flaw(err error) Flaw {
	var d huma.ErrorDetailer
	if errors.As(err, &d) {
		return Flaw{Location: d.ErrorDetail().Location, Message: d.ErrorDetail().Message}
	}
	return Flaw{Message: err.Error()}
}

// stamp writes a time as every answer does: RFC 3339, UTC, milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
