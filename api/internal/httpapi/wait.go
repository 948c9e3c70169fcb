package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	waitMax    = 30 * time.Second // that a caller may ask for
	waitersMax = 20_000           // callers who wait at a time, each in memory and on a connection
)

var errDrained = errors.New("nobody may wait any more")

// hub wakes those who wait for the status of an order, when a worker says that it changed.
// Nobody asks the database while they wait.
type hub struct {
	mu      sync.Mutex
	ended   bool
	count   int
	waiting map[seckill.OrderID]*party
}

// party are those who wait for one order.
type party struct {
	woken chan struct{} // closed once
	size  int
}

func newHub() *hub { return &hub{waiting: make(map[seckill.OrderID]*party)} }

// join waits for an order: woken is closed when it may be worth another look. Who joins
// must leave. Overloaded: too many wait already.
func (h *hub) join(id seckill.OrderID) (p *party, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, errDrained
	}
	if h.count >= waitersMax {
		return nil, seckill.Overloaded
	}
	p = h.waiting[id]
	if p == nil {
		p = &party{woken: make(chan struct{})}
		h.waiting[id] = p
	}
	p.size++
	h.count++
	return p, nil
}

// Watching is how many callers wait for the status of an order now, and how many may.
func (a *API) Watching() (now, most int) {
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	return a.hub.count, waitersMax
}

func (h *hub) leave(id seckill.OrderID, p *party) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	p.size--
	if p.size == 0 && h.waiting[id] == p {
		delete(h.waiting, id)
	}
}

// wake wakes those who wait for these orders.
func (h *hub) wake(ids []seckill.OrderID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if p := h.waiting[id]; p != nil {
			close(p.woken)
			delete(h.waiting, id)
		}
	}
}

// wakeAll wakes everybody, because messages may have been missed.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.waiting {
		close(p.woken)
	}
	clear(h.waiting)
}

// end wakes everybody and lets nobody wait any more.
func (h *hub) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.wakeAll()
}

// await looks at an order until its status is no longer queued or the time is up.
func (a *API) await(ctx context.Context, id seckill.OrderID, wait time.Duration) (*orderOutput, error) {
	up := time.NewTimer(wait)
	defer up.Stop()
	for {
		out, again, err := a.watch(ctx, id, up.C)
		if !again {
			return out, err
		}
	}
}

// watch looks at an order once and waits if it is queued; again says that it was woken. It
// joins before it looks, so that no change falls between the look and the waiting.
func (a *API) watch(ctx context.Context, id seckill.OrderID, up <-chan time.Time) (out *orderOutput, again bool, err error) {
	p, err := a.hub.join(id)
	if errors.Is(err, errDrained) {
		out, err = a.lookUp(ctx, id)
		return out, false, err
	}
	if err != nil {
		return nil, false, err
	}
	defer a.hub.leave(id, p)
	out, err = a.lookUp(ctx, id)
	if err != nil || out.Body.Status != seckill.Queued {
		return out, false, err
	}
	select {
	case <-p.woken:
		return nil, true, nil
	case <-up: // one more look costs less than a message that got lost
		out, err = a.lookUp(ctx, id)
		return out, false, err
	case <-ctx.Done():
		return out, false, nil // nobody is there to read it
	}
}

// parseWait reads how long a caller wants to wait, "10s"; "" is not at all.
func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > waitMax {
		return 0, invalid(fmt.Sprintf("wait %.40q is not a duration from 0s to %v, such as 10s.", text, waitMax))
	}
	return d, nil
}

// enduring lets an answer take as long as a caller may wait for it.
func enduring(ctx huma.Context, next func(huma.Context)) {
	if ctx.Query("wait") != "" {
		deadline(ctx, waitMax+answerMax+time.Second)
	}
	next(ctx)
}

// deadline moves the end of the time in which the answer has to be written. Not every
// connection has one; such a one needs no longer one.
func deadline(ctx huma.Context, d time.Duration) {
	_ = http.NewResponseController(humagin.Unwrap(ctx).Writer).SetWriteDeadline(time.Now().Add(d))
}
