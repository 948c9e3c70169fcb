package httpapi

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// How long an answer may take, whatever happens behind it. The server gives up writing after
// 30 s; these end sooner, so that whoever waits is told.
const (
	answerMax = 5 * time.Second
	workMax   = 20 * time.Second // where a whole sale may have to be read or written
)

// An operation that has no metadata of these is given answerMax.
const limitKey = "answerMax"

var (
	lengthy = map[string]any{limitKey: workMax}
	// waits is for what waits on purpose: lookUp bounds each look that it takes.
	waits = map[string]any{limitKey: time.Duration(0)}
)

// bounded ends the context of an operation when its answer is due.
func bounded(ctx huma.Context, next func(huma.Context)) {
	limit := answerMax
	if own, ok := ctx.Operation().Metadata[limitKey].(time.Duration); ok {
		limit = own
	}
	if limit == 0 {
		next(ctx)
		return
	}
	limited, cancel := context.WithTimeout(ctx.Context(), limit)
	defer cancel()
	next(huma.WithContext(ctx, limited))
}
