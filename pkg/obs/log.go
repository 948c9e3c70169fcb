package obs

import (
	"io"
	"log/slog"
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
