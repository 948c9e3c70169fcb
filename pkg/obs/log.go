package obs

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// The formats of a log.
const (
	FormatJSON = "json" // one object for each line
	FormatText = "text" // key=value, for people
)

// NewLogger writes what is at or above level to w, in FormatText or else FormatJSON.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if format == FormatText {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// readable writes a duration as people do, 25s; slog's JSON has it in nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Sparing logs what an outage says of every request, as one warning a second. Each tells in
// leftOut how many were left out since the one before.
type Sparing struct {
	log     *slog.Logger
	seldom  rate.Sometimes
	leftOut atomic.Int64
}

// NewSparing returns a Sparing that writes to log.
func NewSparing(log *slog.Logger) *Sparing {
	return &Sparing{log: log, seldom: rate.Sometimes{Interval: time.Second}}
}

// Warn logs msg unless this second has had its line.
func (s *Sparing) Warn(ctx context.Context, msg string, attrs ...any) {
	told := false
	s.seldom.Do(func() {
		told = true
		attrs = append(attrs, "leftOut", s.leftOut.Swap(0))
		s.log.WarnContext(ctx, msg+"; more such lines of this second are left out", attrs...)
	})
	if !told {
		s.leftOut.Add(1)
	}
}
