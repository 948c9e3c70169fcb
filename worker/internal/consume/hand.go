package consume

import (
	"sync"

	"github.com/openseckill/seckill/pkg/seckill"
)

// hand is the set of entries that this process holds: it must not claim from itself what it
// is still busy with.
type hand struct {
	mu  sync.Mutex
	set map[string]struct{}
}

// add takes the deliveries that are not held yet, and returns them.
func (h *hand) add(ds []seckill.Delivery) []seckill.Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.set == nil {
		h.set = make(map[string]struct{})
	}
	fresh := ds[:0:0]
	for _, d := range ds {
		if _, held := h.set[d.Entry]; held {
			continue
		}
		h.set[d.Entry] = struct{}{}
		fresh = append(fresh, d)
	}
	return fresh
}

func (h *hand) drop(ds []seckill.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range ds {
		delete(h.set, d.Entry)
	}
}
