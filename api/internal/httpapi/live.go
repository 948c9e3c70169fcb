package httpapi

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// watchMax is how long one stream of samples lasts. Who watches on asks again, and shows a
// token that is still good.
const watchMax = 15 * time.Minute

// console samples the whole sale while somebody watches; see package live.
type console interface {
	Watch(ctx context.Context) iter.Seq[[]byte]
}

// routeLive registers the stream of samples.
func (a *API) routeLive(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "watchSale", Method: http.MethodGet, Path: "/api/v1/admin/live",
		Summary: "The whole sale as server-sent events, a sample a second", Security: bearer,
		Middlewares: huma.Middlewares{a.adminOnly}, Metadata: waits,
		Responses: eventsAnswer(),
	}, a.watchSale)
}

// watchSale answers with samples until the server stops or the stream has lasted long enough.
func (a *API) watchSale(context.Context, *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer deadline(ctx, beatMax) // for the end of the answer
		ctx.SetHeader("Content-Type", eventsType)
		ctx.SetHeader("X-Accel-Buffering", "no") // nginx passes each event on at once
		ctx.SetStatus(http.StatusOK)
		if ctx.Method() == http.MethodHead {
			return
		}
		limited, cancel := context.WithTimeout(ctx.Context(), watchMax)
		defer cancel()
		for sample := range a.live.Watch(limited) {
			if !send(ctx, "event: sample\ndata: "+string(sample)+"\n\n") {
				return
			}
		}
	}}, nil
}
