package obs

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/seckill"
)

// accepted is the code of an admission that was not refused.
const accepted seckill.Code = "ACCEPTED"

var (
	admitBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
	// An answer may be waited for, so these go further.
	httpBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
)

// Admission are the metrics of the api: what was admitted, and its HTTP traffic.
type Admission struct {
	InFlight    prometheus.Gauge // requests being answered now
	InFlightMax prometheus.Gauge // how many may be; 0: no limit

	Tally *Tally // the same by voucher, for whoever watches

	admitted counters[seckill.Code]
	alerts   counters[Alert]
	duration prometheus.Histogram
	requests *prometheus.CounterVec
	answers  *prometheus.HistogramVec
}

// NewAdmission registers the metrics with r; a second time on one registry panics.
func NewAdmission(r prometheus.Registerer) *Admission {
	return &Admission{
		Tally:       NewTally(),
		InFlight:    newGauge(r, "seckill_http_in_flight", "Requests being answered now."),
		InFlightMax: newGauge(r, "seckill_http_in_flight_max", "How many requests may be answered at a time; 0: no limit."),
		admitted: newCounters(r, "seckill_admit_total", "Requests for a unit, by what was said to them.", "code",
			accepted, seckill.SoldOut, seckill.AlreadyOrdered, seckill.NotStarted, seckill.Ended, seckill.NotReady,
			seckill.VoucherNotFound, seckill.Unavailable, seckill.Overloaded, seckill.RateLimited, seckill.Internal),
		alerts:   newAlerts(r, AlertLost),
		duration: newHistogram(r, "seckill_admit_duration_seconds", "How long the decision on a request for a unit took.", admitBuckets),
		requests: registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_http_requests_total", Help: "HTTP requests, by route and status code.",
		}, []string{"route", "code"})),
		answers: newHistograms(r, "seckill_http_request_duration_seconds", "How long an HTTP request took.", httpBuckets, "route"),
	}
}

// Admitted counts one decision with the code it ended in; "" is an acceptance, so that
// seckill.CodeOf(err) can be passed as it is.
func (m *Admission) Admitted(code seckill.Code, took time.Duration) {
	if code == "" {
		code = accepted
	}
	m.admitted.inc(code)
	observe(m.duration, took)
}

// Lost counts an accepted order that Redis lost and nothing could bring back.
func (m *Admission) Lost() { m.alerts.inc(AlertLost) }

// Route are the metrics of one route, found once and kept by its handler.
type Route struct {
	requests *prometheus.CounterVec
	answers  prometheus.Observer
	byStatus [600]atomic.Pointer[prometheus.Counter]
}

// Route returns the metrics of a route. The name is the pattern, never the path of a
// request: the paths have no end.
func (m *Admission) Route(pattern string) *Route {
	return &Route{
		requests: m.requests.MustCurryWith(prometheus.Labels{"route": pattern}),
		answers:  m.answers.WithLabelValues(pattern),
	}
}

// Answered counts one request that was answered with this HTTP status.
func (r *Route) Answered(status int, took time.Duration) {
	r.counter(status).Inc()
	observe(r.answers, took)
}

// Streamed counts a request whose answer lasted as long as there was something to tell,
// which says nothing about how fast this program is.
func (r *Route) Streamed(status int) { r.counter(status).Inc() }

// counter finds the series of a status. Only the first request with it looks it up by
// label, which allocates.
func (r *Route) counter(status int) prometheus.Counter {
	if status < 100 || status >= len(r.byStatus) {
		status = http.StatusInternalServerError
	}
	if c := r.byStatus[status].Load(); c != nil {
		return *c
	}
	c := r.requests.WithLabelValues(strconv.Itoa(status))
	r.byStatus[status].Store(&c)
	return c
}
