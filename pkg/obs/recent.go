package obs

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	recentMax  = 50  // lines that are kept
	recentText = 300 // bytes of each
)

// Fault is a line of a log that tells of trouble.
type Fault struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"` // WARN or ERROR
	Text  string    `json:"text"`  // msg=... key=value ...
}

// Recent is a handler that keeps the newest 50 warnings and errors in memory, for whoever
// watches. It knows no more than the log does.
type Recent struct {
	slog.Handler // writes text to the ring
	kept         *ring
}

// ring gets each line in one Write, while the handler above it holds mu.
type ring struct {
	mu    sync.Mutex
	now   Fault // of the line that is being written
	lines []Fault
}

// NewRecent returns a Recent that has kept nothing; put it beside another with
// slog.NewMultiHandler.
func NewRecent() *Recent {
	kept := &ring{}
	return &Recent{Handler: slog.NewTextHandler(kept, &slog.HandlerOptions{ReplaceAttr: textOnly}), kept: kept}
}

// textOnly drops what a Fault has in fields of its own.
func textOnly(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled implements slog.Handler: warnings and errors alone are kept.
func (r *Recent) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (r *Recent) Handle(ctx context.Context, line slog.Record) error {
	r.kept.mu.Lock()
	defer r.kept.mu.Unlock()
	r.kept.now = Fault{At: line.Time.UTC(), Level: line.Level.String()}
	return r.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (r *Recent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Recent{r.Handler.WithAttrs(attrs), r.kept}
}

// WithGroup implements slog.Handler.
func (r *Recent) WithGroup(name string) slog.Handler {
	return &Recent{r.Handler.WithGroup(name), r.kept}
}

func (k *ring) Write(line []byte) (int, error) {
	text := bytes.TrimSpace(line)
	k.now.Text = strings.ToValidUTF8(string(text[:min(len(text), recentText)]), "")
	k.lines = append(k.lines, k.now)
	if len(k.lines) > recentMax {
		k.lines = slices.Delete(k.lines, 0, len(k.lines)-recentMax)
	}
	return len(line), nil
}

// Newest tells at most n of the lines that are kept, the newest first.
func (r *Recent) Newest(n int) []Fault {
	r.kept.mu.Lock()
	defer r.kept.mu.Unlock()
	lines := slices.Clone(r.kept.lines[max(0, len(r.kept.lines)-n):])
	slices.Reverse(lines)
	return lines
}
