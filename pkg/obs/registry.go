package obs

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a registry with the metrics every program has: the Go runtime, the
// process, and seckill_build_info with the program's name and version.
func NewRegistry(program, version string) *prometheus.Registry {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "seckill_build_info",
		Help:        "What runs here; always 1.",
		ConstLabels: prometheus.Labels{"program": program, "version": version, "goversion": runtime.Version()},
	})
	info.Set(1)
	r := prometheus.NewRegistry()
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// counters are the series of one counter by the one label it has. Those known beforehand
// exist from the start, so that a rate over them has a zero to begin from, and are found
// without allocating.
type counters[K ~string] struct {
	vec   *prometheus.CounterVec
	known map[K]prometheus.Counter
}

func newCounters[K ~string](r prometheus.Registerer, name, help, label string, keys ...K) counters[K] {
	c := counters[K]{
		vec:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label}),
		known: make(map[K]prometheus.Counter, len(keys)),
	}
	r.MustRegister(c.vec)
	for _, k := range keys {
		c.known[k] = c.vec.WithLabelValues(string(k))
	}
	return c
}

// inc takes any K: the words are constants of package seckill, so their number is bounded.
func (c counters[K]) inc(k K) {
	if known, ok := c.known[k]; ok {
		known.Inc()
		return
	}
	c.vec.WithLabelValues(string(k)).Inc()
}

func newCounter(r prometheus.Registerer, name, help string) prometheus.Counter {
	return registered(r, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// newCounterFunc is a counter that somebody else keeps.
func newCounterFunc(r prometheus.Registerer, name, help string, read func() uint64) {
	registered(r, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

func newGauge(r prometheus.Registerer, name, help string) prometheus.Gauge {
	return registered(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

func newGauges(r prometheus.Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	return registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func newHistogram(r prometheus.Registerer, name, help string, buckets []float64) prometheus.Histogram {
	return registered(r, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

func newHistograms(r prometheus.Registerer, name, help string, buckets []float64, label string) *prometheus.HistogramVec {
	return registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label}))
}

// registered panics where a name is taken: a program that registers twice is wrong.
func registered[C prometheus.Collector](r prometheus.Registerer, c C) C {
	r.MustRegister(c)
	return c
}

func observe(o prometheus.Observer, took time.Duration) { o.Observe(took.Seconds()) }
