package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	bodyMax       = 64 << 10 // bytes of a request body; codes.go names it to callers
	requestIDMax  = 64       // characters
	headerRequest = "X-Request-Id"
)

// identify gives the request its id, the caller's own if that is safe to write in a log,
// and sets the headers that every answer carries.
func (a *API) identify(c *gin.Context) {
	id := c.GetHeader(headerRequest)
	if !safeRequestID(id) {
		id = a.names.next()
	}
	header := c.Writer.Header()
	header.Set(headerRequest, id)
	for _, h := range onEveryAnswer {
		header[h.name] = h.value
	}
}

// onEveryAnswer tells browsers to show an answer nowhere, load nothing for it and keep it to
// themselves. HSTS is for the proxy that speaks TLS: here nobody knows whether one does. The
// names are in their canonical form; the values are shared by all answers, and not written to.
var onEveryAnswer = []struct {
	name  string
	value []string
}{
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Cache-Control", []string{"no-store"}},
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
	{"X-Frame-Options", []string{"DENY"}},
	{"Referrer-Policy", []string{"no-referrer"}},
}

// names makes the ids of requests: a random word for the process, and a number. They are
// unlike on all nodes and cost no randomness each.
type names struct {
	process string
	last    atomic.Uint64
}

func newNames() *names { return &names{process: rand.Text()[:13] + "-"} } // 65 bits

func (n *names) next() string {
	return string(strconv.AppendUint([]byte(n.process), n.last.Add(1), 10))
}

func requestID(c *gin.Context) string { return c.Writer.Header().Get(headerRequest) }

func safeRequestID(id string) bool {
	if id == "" || len(id) > requestIDMax {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_', b == '.':
		default:
			return false
		}
	}
	return true
}

// route names a route in the metrics, never a path: paths are the caller's choice. The
// zero route stands for all requests that match none.
type route struct{ method, pattern string }

// meterRoutes finds the metrics of every route once, so that a request only counts.
func meterRoutes(routes gin.RoutesInfo, m *obs.Admission) map[route]*obs.Route {
	metered := map[route]*obs.Route{{}: m.Route("unmatched")}
	for _, r := range routes {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // the same work, without the body
		}
		metered[route{r.Method, r.Path}] = m.Route(method + " " + r.Path)
	}
	return metered
}

// measure counts the request in its route.
func (a *API) measure(c *gin.Context) {
	began := time.Now()
	a.meter.InFlight.Inc()
	defer a.meter.InFlight.Dec()
	c.Next()
	var r route
	if c.FullPath() != "" {
		r = route{c.Request.Method, c.FullPath()}
	}
	if c.Writer.Header().Get("Content-Type") == eventsType {
		a.metered[r].Streamed(c.Writer.Status())
		return
	}
	a.metered[r].Answered(c.Writer.Status(), time.Since(began))
}

// logFaults logs what failed behind an answer. A bug is logged each time; an outage, which
// fails every request, once a second. Refusals are counted and not logged.
func logFaults(log *slog.Logger) gin.HandlerFunc {
	outage := obs.NewSparing(log)
	return func(c *gin.Context) {
		c.Next()
		last := c.Errors.Last()
		if last == nil || c.Request.Context().Err() != nil {
			return // nothing failed, or the client left and took its context along
		}
		attrs := []any{"route", c.FullPath(), "request", requestID(c), "client", c.ClientIP(), "error", last.Err}
		if seckill.CodeOf(last.Err) != seckill.Unavailable {
			log.ErrorContext(c.Request.Context(), "request failed", attrs...)
			return
		}
		outage.Warn(c.Request.Context(), "request not served", attrs...)
	}
}

// recoverPanics answers a panic with INTERNAL; its stack stays in the log.
func recoverPanics(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && clientGone(err) {
				c.Abort()
				return
			}
			log.ErrorContext(c.Request.Context(), "panic in a request", "route", c.FullPath(),
				"request", requestID(c), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			c.Abort()
			if !c.Writer.Written() {
				fail(c, seckill.Internal)
				c.Errors = nil // it is logged already, with its stack
			}
		}()
		c.Next()
	}
}

// clientGone reports whether err only means that there is nobody left to answer.
func clientGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, http.ErrAbortHandler)
}

// limitBody refuses a body that says it is too large, and cuts off one that turns out so.
func limitBody(c *gin.Context) {
	if c.Request.ContentLength > bodyMax {
		fail(c, bodyTooLarge)
		return
	}
	if c.Request.ContentLength == 0 {
		return // the usual case: no body at all
	}
	c.Request.Body = &body{http.MaxBytesReader(c.Writer, c.Request.Body, bodyMax)}
}

// body gives each failure to read a request body its code.
type body struct{ io.ReadCloser }

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case errors.As(err, &large):
		return n, bodyTooLarge
	case errors.As(err, &slow) && slow.Timeout():
		return n, bodyTooSlow
	default:
		return n, invalid("The request body broke off.")
	}
}
