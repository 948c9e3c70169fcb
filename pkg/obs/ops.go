package obs

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyLimit is how long a probe waits for the stores: an answer that takes longer is no.
const readyLimit = 2 * time.Second

// Ops answers the operator: /livez (200 while the process lives), /readyz (200, or 503
// with the reasons as text), /metrics and /debug/pprof. It belongs on an address of its
// own that the public cannot reach. ready returns nil, or why no work should come here;
// its context ends after two seconds.
func Ops(reg *prometheus.Registry, ready func(context.Context) error, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.Handle("GET /readyz", &readiness{ready: ready, log: log})
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		Registry: reg,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError),
	}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// readiness answers probes and logs when the answer changes, not each time.
type readiness struct {
	ready func(context.Context) error
	log   *slog.Logger
	up    atomic.Bool
}

func (h *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyLimit)
	defer cancel()
	err := h.ready(ctx)
	if r.Context().Err() != nil {
		return // the prober hung up: this says nothing about us
	}
	changed := h.up.Swap(err == nil) != (err == nil)
	if err != nil {
		if changed {
			h.log.Warn("no longer ready", "err", err)
		}
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if changed {
		h.log.Info("ready")
	}
	say(w, http.StatusOK, "ready")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the prober may be gone
}

// Ready asks all parts whether they answer, side by side, so that one that hangs does not
// hide another, and returns what each says that does not.
func Ready(ctx context.Context, parts ...func(context.Context) error) error {
	faults := make([]error, len(parts))
	var asked sync.WaitGroup
	for i, part := range parts {
		asked.Go(func() { faults[i] = part(ctx) })
	}
	asked.Wait()
	return errors.Join(faults...)
}
