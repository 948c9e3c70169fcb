package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	eventsType = "text/event-stream"
	beat       = 15 * time.Second // of silence; also how long a lost message goes unnoticed
	beatMax    = 10 * time.Second // that a client may take to receive an event
)

type eventsInput struct {
	OrderID string `path:"orderId" doc:"Order id, canonical decimal"`
	ReceiptInput
}

// routeEvents registers the stream of an order.
func (a *API) routeEvents(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "followOrder", Method: http.MethodGet, Path: "/api/v1/orders/{orderId}/events",
		Summary: "An order as server-sent events", Security: bearer,
		Middlewares: huma.Middlewares{a.signedIn}, Metadata: waits,
		Responses: eventsAnswer(),
	}, a.followOrder)
}

// eventsAnswer describes a stream of events; each operation adds to a copy of its own.
func eventsAnswer() map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Content: map[string]*huma.MediaType{eventsType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// followOrder answers with the order now and after each change, until it is final or the
// server stops. What is not the caller's order is refused before any stream begins.
func (a *API) followOrder(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	id, err := orderID(in.OrderID)
	if err != nil {
		return nil, err
	}
	s := &stream{api: a, id: id}
	if err := s.look(in.show(ctx)); err != nil {
		s.leave()
		return nil, err
	}
	return &huma.StreamResponse{Body: s.run}, nil
}

// stream tells one client of one order. Between events it holds nothing but its place in
// the hub.
type stream struct {
	api   *API
	id    seckill.OrderID
	place *party    // in the hub; nil once nobody may wait any more
	now   orderView // as it was looked up last
	told  orderView // as the client knows it
}

// look joins before it looks, so that no change falls between this look and the next.
func (s *stream) look(ctx context.Context) error {
	s.leave()
	place, err := s.api.hub.join(s.id)
	if err != nil && !errors.Is(err, errDrained) {
		return err
	}
	s.place = place
	out, err := s.api.lookUp(ctx, s.id)
	if err != nil {
		return err
	}
	s.now = out.Body
	return nil
}

func (s *stream) leave() {
	if s.place != nil {
		s.api.hub.leave(s.id, s.place)
		s.place = nil
	}
}

func (s *stream) run(ctx huma.Context) {
	defer s.leave()
	defer deadline(ctx, beatMax) // for the end of the answer
	ctx.SetHeader("Content-Type", eventsType)
	ctx.SetHeader("X-Accel-Buffering", "no") // nginx passes each event on at once
	ctx.SetStatus(http.StatusOK)
	if ctx.Method() == http.MethodHead {
		return
	}
	s.follow(ctx)
}

// follow tells what changes until nothing more can.
func (s *stream) follow(ctx huma.Context) {
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for s.tell(ctx) && s.place != nil && !s.now.Status.Final() {
		select {
		case <-s.place.woken:
		case <-beats.C:
			if !send(ctx, ":\n\n") {
				return
			}
		case <-ctx.Context().Done():
			return
		}
		_ = s.look(ctx.Context()) // a store that does not answer is no change: the next beat looks again
	}
}

// tell sends the order if it is not what the client knows.
func (s *stream) tell(ctx huma.Context) bool {
	if s.now == s.told {
		return true
	}
	data, err := json.Marshal(s.now)
	if err != nil {
		return false
	}
	s.told = s.now
	return send(ctx, "event: order\ndata: "+string(data)+"\n\n")
}

// send reports whether the client is still there. The time that the server gives to a whole
// answer is given to each event.
func send(ctx huma.Context, text string) bool {
	deadline(ctx, beatMax)
	if _, err := ctx.BodyWriter().Write([]byte(text)); err != nil {
		return false
	}
	return http.NewResponseController(humagin.Unwrap(ctx).Writer).Flush() == nil
}
