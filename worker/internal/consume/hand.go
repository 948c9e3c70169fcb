package consume

import (
	"slices"
	"sync"

	"github.com/openseckill/seckill/pkg/seckill"
)

// hand is the set of entries that this process holds: it must not claim from itself what it
// is still busy with.
type hand struct {
	mu  sync.Mutex
	set map[string]struct{}
}

// add takes the deliveries that are not held yet, and returns them, in the space of ds.
func (h *hand) add(ds []seckill.Delivery) []seckill.Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.set == nil {
		h.set = make(map[string]struct{})
	}
	return slices.DeleteFunc(ds, func(d seckill.Delivery) bool {
		_, held := h.set[d.Entry]
		h.set[d.Entry] = struct{}{}
		return held
	})
}

func (h *hand) drop(ds []seckill.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range ds {
		delete(h.set, d.Entry)
	}
}
